//! Tests of `cholesky`.

use super::*;
use proptest::prelude::*;

#[test]
fn a_system_solved_by_hand() {
    // 4x + 2y = 10, 2x + 3y = 9: x = 1.5, y = 2; the other lanes idle.
    let mut systems = LaneSystems::new(2, 2);
    (1..LANES).for_each(|lane| systems.fill_with_solvable(lane));
    systems.triangle[triangle_index(0, 0)][0] = 4.0;
    systems.triangle[triangle_index(1, 0)][0] = 2.0;
    systems.triangle[triangle_index(1, 1)][0] = 3.0;
    (systems.right[0][0], systems.right[1][0]) = (10.0, 9.0);
    assert_eq!(systems.solve(), [false; LANES]);
    assert!((systems.right[0][0] - 1.5).abs() < 1e-15 && (systems.right[1][0] - 2.0).abs() < 1e-15);
    assert_eq!(systems.right[0][1], 0.0);
}

#[test]
fn only_the_singular_system_is_named() {
    // In lane 3 every element is 1: the second row repeats the first.
    let mut systems = LaneSystems::new(2, 2);
    (0..LANES).for_each(|lane| systems.fill_with_solvable(lane));
    systems.triangle[triangle_index(1, 0)][3] = 1.0;
    let singular = systems.solve();
    assert_eq!(singular, std::array::from_fn(|lane| lane == 3));
}

proptest! {
    #[test]
    fn solutions_solve(order in 1_usize..20, numbers in proptest::collection::vec(-1.0..1.0_f64, 500)) {
        // B·Bᵀ + I is positive definite.
        let b = |i: usize, k: usize| numbers[(i * 23 + k * 7) % 500];
        let mut systems = LaneSystems::new(order, order);
        for i in 0..order {
            for j in 0..=i {
                let product: f64 = (0..order).map(|k| b(i, k) * b(j, k)).sum();
                systems.triangle[triangle_index(i, j)] = [product + if i == j { 1.0 } else { 0.0 }; LANES];
            }
            systems.right[i] = std::array::from_fn(|lane| numbers[i + lane]);
        }
        let (matrix, right) = (systems.triangle.clone(), systems.right.clone());
        prop_assert_eq!(systems.solve(), [false; LANES]);
        for i in 0..order {
            for lane in 0..LANES {
                let product: f64 = (0..order)
                    .map(|j| matrix[triangle_index(i.max(j), i.min(j))][lane] * systems.right[j][lane])
                    .sum();
                prop_assert!((product - right[i][lane]).abs() < 1e-9);
            }
        }
    }
}
