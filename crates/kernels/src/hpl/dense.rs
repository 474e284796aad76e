//! Triangular systems on one rank.

pub(super) use crosstalk_host::product::{Columns as Block, subtract_product};

/// The order from which a triangular system is cut in two.
const SMALL: usize = 16;

/// Solves L · X = B in place of B: L is lower triangular of order `order` with ones on its diagonal, B has `columns`.
pub(super) fn solve_lower(order: usize, columns: usize, l: Block, b: &mut [f64], ld: usize) {
    if columns == 0 {
        return;
    }
    if order <= SMALL {
        for column in b.chunks_mut(ld).take(columns) {
            for pivot in 0..order {
                let value = column[pivot];
                let below = &l.data[pivot * l.ld + pivot + 1..pivot * l.ld + order];
                for (target, factor) in column[pivot + 1..order].iter_mut().zip(below) {
                    *target -= factor * value;
                }
            }
        }
        return;
    }
    let half = order / 2;
    solve_lower(half, columns, l, b, ld);
    // Both halves are in the same columns: the upper one is copied, so that it can be read while the lower one changes.
    let upper: Vec<f64> = b.chunks(ld).take(columns).flat_map(|column| &column[..half]).copied().collect();
    let rest = order - half;
    let left = Block { data: &l.data[half..], ld: l.ld };
    subtract_product([rest, half, columns], left, Block { data: &upper, ld: half }, &mut b[half..], ld);
    let right = Block { data: &l.data[half * l.ld + half..], ld: l.ld };
    solve_lower(rest, columns, right, &mut b[half..], ld);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpl::matrix::entry;

    #[test]
    fn a_lower_system_is_solved() {
        for order in [1, 5, 16, 17, 64, 100] {
            let (ld, columns) = (order + 3, 7);
            let lower: Vec<f64> = (0..order * ld).map(|at| entry(at % ld, at / ld)).collect();
            let solution: Vec<f64> = (0..columns * ld).map(|at| entry(at % ld + 500, at / ld)).collect();
            let mut b = vec![0.0; columns * ld];
            for column in 0..columns {
                for row in 0..order {
                    let product = |inner: usize| {
                        let factor = if inner == row { 1.0 } else { lower[inner * ld + row] };
                        factor * solution[column * ld + inner]
                    };
                    b[column * ld + row] = (0..=row).map(product).sum();
                }
            }
            solve_lower(order, columns, Block { data: &lower, ld }, &mut b, ld);
            for column in 0..columns {
                for row in 0..order {
                    let apart = (b[column * ld + row] - solution[column * ld + row]).abs();
                    assert!(apart < 1e-6, "{order}: {apart}");
                }
            }
        }
    }
}
