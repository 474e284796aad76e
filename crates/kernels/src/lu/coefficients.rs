//! Coefficients of the differences (RNR-94-007, section 3).

/// Artificial diffusion of the second order in each direction, the same for all values.
pub(super) const DIFFUSION: [f64; 3] = [0.75, 0.75, 1.0];
/// Dissipation of the fourth order: a quarter of the largest diffusion.
const DISSIPATION: f64 = 0.25;

/// One over the distance of points, and one over its square.
pub(super) fn across(points: usize) -> [f64; 2] {
    let once = (points - 1) as f64;
    [once, once * once]
}

/// The weights of a point and of two on either side along an axis, from low to high: diffusion and dissipation together.
/// `global` is the point's index in the cube. Next to the surface, dissipation leaves out what lies on it and beyond.
pub(super) fn weights(points: usize, global: usize, axis: usize) -> [f64; 5] {
    let dissipation = if global == 1 {
        [0.0, 0.0, 5.0, -4.0, 1.0]
    } else if global == 2 {
        [0.0, -4.0, 6.0, -4.0, 1.0]
    } else if global + 3 == points {
        [1.0, -4.0, 6.0, -4.0, 0.0]
    } else if global + 2 == points {
        [1.0, -4.0, 5.0, 0.0, 0.0]
    } else {
        [1.0, -4.0, 6.0, -4.0, 1.0]
    };
    let [_, twice] = across(points);
    let diffusion = DIFFUSION[axis] * twice;
    std::array::from_fn(|at| [0.0, 1.0, -2.0, 1.0, 0.0][at] * diffusion - DISSIPATION * dissipation[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_weights_vanish_for_a_line_and_see_curvature() {
        let weights = weights(12, 5, 2);
        let apply = |f: fn(f64) -> f64| -> f64 { (0..5).map(|at| weights[at] * f(at as f64 - 2.0)).sum() };
        assert!(apply(|x| 3.0 - 2.0 * x).abs() < 1e-10);
        assert!((apply(|x| x * x) - 2.0 * 121.0).abs() < 1e-10);
        assert!((apply(|x| x.powi(4)) - 2.0 * 121.0 + 0.25 * 24.0).abs() < 1e-10);
    }

    #[test]
    fn weights_are_mirrored_at_the_other_end() {
        for near in 1..4 {
            let mut far = weights(12, 11 - near, 0);
            far.reverse();
            assert_eq!(weights(12, near, 0), far);
        }
    }
}
