//! Differences along a line of the cube (RNR-94-007, section 3), and what the scheme adds to keep the flow smooth: diffusion
//! of the second order, and dissipation of the fourth. Points are numbered from 0, which is on the surface.

/// Artificial diffusion in each direction, the same for all values.
pub(crate) const DIFFUSION: [f64; 3] = [0.75, 0.75, 1.0];
/// The share of the fourth difference that is subtracted: a quarter of the largest diffusion.
const DISSIPATION: f64 = 0.25;

/// One over the distance of neighbouring points, and one over its square.
pub(crate) fn per_distance(points: usize) -> [f64; 2] {
    let once = (points - 1) as f64;
    [once, once * once]
}

/// The weights of a point's two neighbours before, of itself, and of the two after in what dissipation subtracts. Next to the
/// surface, it leaves out what lies on it and beyond.
pub(crate) fn dissipation(point: usize, points: usize) -> [f64; 5] {
    let fourth = match point {
        1 => [0.0, 0.0, 5.0, -4.0, 1.0],
        2 => [0.0, -4.0, 6.0, -4.0, 1.0],
        _ if point + 3 == points => [1.0, -4.0, 6.0, -4.0, 0.0],
        _ if point + 2 == points => [1.0, -4.0, 5.0, 0.0, 0.0],
        _ => [1.0, -4.0, 6.0, -4.0, 1.0],
    };
    fourth.map(|weight| DISSIPATION * weight)
}

/// The same weights in what diffusion along an axis adds, less what dissipation subtracts.
pub(crate) fn spreading(point: usize, points: usize, axis: usize) -> [f64; 5] {
    let [_, twice] = per_distance(points);
    let diffusion = DIFFUSION[axis] * twice;
    let [a, b, c, d, e] = dissipation(point, points);
    [-a, diffusion - b, -2.0 * diffusion - c, diffusion - d, -e]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_weights_vanish_for_a_line_and_find_curvature() {
        let weights = spreading(5, 12, 2);
        let apply = |f: fn(f64) -> f64| -> f64 { (0..5).map(|at| weights[at] * f(at as f64 - 2.0)).sum() };
        assert!(apply(|x| 3.0 - 2.0 * x).abs() < 1e-10);
        assert!((apply(|x| x * x) - 2.0 * 121.0).abs() < 1e-10);
        assert!((apply(|x| x.powi(4)) - 2.0 * 121.0 + 0.25 * 24.0).abs() < 1e-10);
    }

    #[test]
    fn weights_are_mirrored_at_the_other_end() {
        for near in 1..4 {
            let mut far = spreading(11 - near, 12, 0);
            far.reverse();
            assert_eq!(spreading(near, 12, 0), far);
        }
    }

    #[test]
    fn no_weight_of_dissipation_is_beyond_the_surface_or_on_it_twice_removed() {
        for (point, outside) in [(1, [0, 1]), (2, [0, 0]), (9, [4, 4]), (10, [3, 4])] {
            let weights = dissipation(point, 12);
            assert!(outside.iter().all(|neighbour| weights[*neighbour] == 0.0), "{point}: {weights:?}");
        }
    }
}
