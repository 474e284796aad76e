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
fn exact_solution(xi: f64, eta: f64, zeta: f64) -> [f64; VALUES] {
    COEFFICIENTS.map(|c| {
        let along =
            |s: f64, axis: usize| s * (c[axis] + s * (c[axis + 3] + s * (c[axis + 6] + s * c[axis + 9])));
        c[0] + along(xi, 1) + along(eta, 2) + along(zeta, 3)
    })
}

/// The exact solution at a point of a cube of `points` along each side: its number in each direction.
pub(crate) fn exact_at(point: [usize; 3], points: usize) -> [f64; VALUES] {
    let [xi, eta, zeta] = point.map(|number| along(number, points));
    exact_solution(xi, eta, zeta)
}

/// The initial state at a point: on the surface the exact solution, within the cube what is interpolated between the faces,
/// along each axis by itself, less what they have in common (RNR-94-007, section 3).
pub(crate) fn initial_at(point: [usize; 3], points: usize) -> [f64; VALUES] {
    if point.iter().any(|number| *number == 0 || *number + 1 == points) {
        return exact_at(point, points);
    }
    let [x, y, z] = [0, 1, 2].map(|axis| {
        let part = along(point[axis], points);
        let face = |number: usize| {
            let mut on_face = point;
            on_face[axis] = number;
            exact_at(on_face, points)
        };
        let (low, high) = (face(0), face(points - 1));
        std::array::from_fn::<f64, VALUES, _>(|m| (1.0 - part) * low[m] + part * high[m])
    });
    std::array::from_fn(|m| x[m] + y[m] + z[m] - x[m] * y[m] - y[m] * z[m] - z[m] * x[m] + x[m] * y[m] * z[m])
}

/// How far along a side of the cube a point is: from 0 to 1.
fn along(number: usize, points: usize) -> f64 {
    number as f64 / (points - 1) as f64
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

    #[test]
    fn the_initial_state_is_exact_on_the_surface_alone() {
        for point in [[0, 3, 4], [2, 8, 4], [5, 5, 0]] {
            assert_eq!(initial_at(point, 9), exact_at(point, 9));
        }
        assert_ne!(initial_at([4, 4, 4], 9), exact_at([4, 4, 4], 9));
    }
}
