//! A straight line through points, by no assumption on how they scatter: Theil and Sen's.
//!
//! The slope is the median of the slopes between all pairs of points, the intercept the median of what each point leaves
//! of it. The interval inverts Kendall's test: with the true slope taken away, each order of the residuals is equally
//! likely (Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", JASA 63, 1968). It holds for points that
//! scatter independently about the line; what moves them all together it does not hold.

/// A straight line, `y = intercept + slope · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StraightLine {
    /// The median of the slopes between points.
    pub slope: f64,
    /// The interval of the slope; without ends where there are too few points.
    pub slope_interval: (f64, f64),
    /// Where it meets x = 0.
    pub intercept: f64,
}

impl StraightLine {
    /// The line's value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The line through `points`, (x, y) each, with an interval that misses the slope with probability `error` at most. `None`
/// with fewer than three points, with a number that is not finite, or with all at one x. Where points share an x the
/// interval is approximate.
pub fn fit(points: &[(f64, f64)], error: f64) -> Option<StraightLine> {
    if points.len() < 3 || !points.iter().all(|(x, y)| x.is_finite() && y.is_finite()) {
        return None;
    }
    let mut slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(i, a)| points[..i].iter().map(move |b| (a, b)))
        .filter(|(a, b)| a.0 != b.0)
        .map(|(a, b)| (a.1 - b.1) / (a.0 - b.0))
        .collect();
    slopes.sort_by(f64::total_cmp);
    let slope = median(&slopes)?;
    let mut left: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    left.sort_by(f64::total_cmp);
    let slope_interval = outermost(points.len(), error / 2.0)
        .and_then(|k| Some((*slopes.get(k)?, *slopes.get(slopes.len().checked_sub(k + 1)?)?)))
        .unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    Some(StraightLine { slope, slope_interval, intercept: median(&left)? })
}

/// How many slopes at each end the interval leaves out, less one: the largest k with P(inversions of n numbers in random
/// order ≤ k) ≤ `tail`. `None` if there is none.
fn outermost(n: usize, tail: f64) -> Option<usize> {
    // The share of orders with each number of inversions; each further number adds 0 to i of them.
    let mut shares = vec![1.0];
    for i in 1..n {
        let mut longer = vec![0.0; shares.len() + i];
        for (inversions, share) in shares.iter().enumerate() {
            (0..=i).for_each(|more| longer[inversions + more] += share / (i + 1) as f64);
        }
        shares = longer;
    }
    let below = shares.iter().scan(0.0, |sum, share| {
        *sum += share;
        Some(*sum)
    });
    below.take_while(|sum| *sum <= tail).count().checked_sub(1)
}

fn median(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    (n > 0).then(|| (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn points_on_a_line_give_that_line() {
        let points: Vec<(f64, f64)> = (0..6).map(|i| (f64::from(i), 2.0 - 0.5 * f64::from(i))).collect();
        let line = fit(&points, 0.05).expect("fits");
        assert!((line.slope + 0.5).abs() < 1e-12 && (line.intercept - 2.0).abs() < 1e-12, "{line:?}");
        assert!((line.slope_interval.0 + 0.5).abs() < 1e-12 && (line.slope_interval.1 + 0.5).abs() < 1e-12);
        assert!((line.at(4.0)).abs() < 1e-12);
    }

    #[test]
    fn one_point_of_eight_moves_the_line_little() {
        let mut points: Vec<(f64, f64)> = (0..8).map(|i| (f64::from(i), f64::from(i))).collect();
        points[7].1 = 100.0;
        let line = fit(&points, 0.05).expect("fits");
        assert!((line.slope - 1.0).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn what_has_no_line_gives_none() {
        assert_eq!(fit(&[(0.0, 1.0), (1.0, 2.0)], 0.05), None);
        assert_eq!(fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.05), None);
        assert_eq!(fit(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)], 0.05), None);
    }

    #[test]
    fn inversions_are_counted_as_kendall_did() {
        // Kendall's table, n = 8: S of 16 has a tail of 0.031, S of 18 one of 0.016; S = 28 − 2 · inversions.
        assert_eq!(outermost(8, 0.0312), Some(6));
        assert_eq!(outermost(8, 0.025), Some(5));
        // Of three numbers the rarest order has a share of 1/6.
        assert_eq!(outermost(3, 0.025), None);
    }

    #[test]
    fn four_points_have_no_interval() {
        let line = fit(&[(0.0, 0.0), (1.0, 1.0), (2.0, 1.5), (3.0, 4.0)], 0.05).expect("fits");
        assert_eq!(line.slope_interval, (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn intervals_miss_the_slope_as_seldom_as_they_say_whatever_the_scatter() {
        let mut rng = Rng::seeded(7);
        let runs = 2000;
        let missed = (0..runs).filter(|_| {
            // Far more above the line than below.
            let points: Vec<(f64, f64)> = (0..8)
                .map(|i| (f64::from(i * i), 3.0 + 0.2 * f64::from(i * i) + rng.uniform().powi(-1).min(50.0)))
                .collect();
            let (low, high) = fit(&points, 0.05).expect("fits").slope_interval;
            !(low <= 0.2 && 0.2 <= high)
        });
        // 0.031 by Kendall's distribution: 62 of 2,000, with a standard error of 8.
        let missed = missed.count();
        assert!((30..100).contains(&missed), "{missed} of {runs}");
    }
}
