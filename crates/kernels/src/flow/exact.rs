//! The exact solution that the simulated applications are built around (RNR-94-007, section 3): for each value, a
//! polynomial of the fourth degree without mixed terms, on the unit cube.

use super::VALUES;

/// Terms of a polynomial: a constant, and four powers of three coordinates.
const TERMS: usize = 13;

/// The coefficients: a constant; then of ξ, η, ζ; of their squares; of their cubes; of their fourth powers.
const COEFFICIENTS: [[f64; TERMS]; VALUES] = [
    [2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3],
    [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3],
    [5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2],
];

/// The exact solution at a point of the unit cube.
pub(crate) fn exact_solution(xi: f64, eta: f64, zeta: f64) -> [f64; VALUES] {
    COEFFICIENTS.map(|c| {
        let along =
            |s: f64, axis: usize| s * (c[axis] + s * (c[axis + 3] + s * (c[axis + 6] + s * c[axis + 9])));
        c[0] + along(xi, 1) + along(eta, 2) + along(zeta, 3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_the_cube_are_sums_of_coefficients() {
        assert_eq!(exact_solution(0.0, 0.0, 0.0), COEFFICIENTS.map(|c| c[0]));
        let sums = COEFFICIENTS.map(|c| c.iter().sum::<f64>());
        for (found, sum) in exact_solution(1.0, 1.0, 1.0).iter().zip(sums) {
            assert!((found - sum).abs() < 1e-14, "{found} {sum}");
        }
    }

    #[test]
    fn each_coordinate_has_its_own_powers() {
        let powers = |c: &[f64; TERMS], axis: usize| {
            c[axis] / 2.0 + c[axis + 3] / 4.0 + c[axis + 6] / 8.0 + c[axis + 9] / 16.0
        };
        let halfway =
            [exact_solution(0.5, 0.0, 0.0), exact_solution(0.0, 0.5, 0.0), exact_solution(0.0, 0.0, 0.5)];
        for (axis, values) in halfway.iter().enumerate() {
            for (value, c) in values.iter().zip(&COEFFICIENTS) {
                assert!((value - c[0] - powers(c, axis + 1)).abs() < 1e-14);
            }
        }
    }
}
