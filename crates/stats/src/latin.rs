//! Points that fill a cube evenly: Latin hypercubes (McKay, Beckman and Conover, "A comparison of three methods for
//! selecting values of input variables", Technometrics 21(2), 1979).

use crate::rng::Rng;

/// `points` points of a cube of this many dimensions, each coordinate from 0 to 1. Along every axis each of `points` equal
/// intervals holds exactly one of them.
pub fn hypercube(dimensions: usize, points: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::with_capacity(dimensions); points];
    for _ in 0..dimensions {
        let mut intervals: Vec<usize> = (0..points).collect();
        rng.shuffle(&mut intervals);
        for (point, interval) in all.iter_mut().zip(intervals) {
            point.push((interval as f64 + rng.uniform()) / points as f64);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_of_each_axis_holds_one_point() {
        let points = hypercube(3, 50, &mut Rng::seeded(1));
        for axis in 0..3 {
            let mut intervals: Vec<usize> =
                points.iter().map(|point| (point[axis] * 50.0) as usize).collect();
            intervals.sort_unstable();
            assert_eq!(intervals, (0..50).collect::<Vec<_>>());
        }
        assert_eq!(hypercube(0, 2, &mut Rng::seeded(1)), [Vec::new(), Vec::new()]);
        assert!(hypercube(2, 0, &mut Rng::seeded(1)).is_empty());
    }

    #[test]
    fn axes_are_independent() {
        let points = hypercube(2, 1000, &mut Rng::seeded(7));
        let sum: f64 = points.iter().map(|point| (point[0] - 0.5) * (point[1] - 0.5)).sum();
        assert!((12.0 * sum / 1000.0).abs() < 0.1, "a correlation of {}", 12.0 * sum / 1000.0);
    }
}
