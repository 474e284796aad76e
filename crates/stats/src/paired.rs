//! Compares two cells over their common blocks: one log ratio per block.
//!
//! The estimate is the Hodges–Lehmann point (the median of all Walsh averages).
//! The interval inverts Wilcoxon's signed-rank test (Hodges & Lehmann 1963;
//! Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3.1–3.3).
//! The only assumption: a block's log ratio is symmetric about the truth. The
//! random order of the cells in every block ensures it, for any noise and any
//! drift.
//!
//! Ties and zeros count against a finding, so that levels hold for rounded and for
//! equal values, too. A test at one-sided level `tail` and the interval with `tail`
//! on each side always agree.

use crate::Interval;
use crate::signed_rank::{cdf, critical_value};

/// Point and interval at two-sided error `alpha`, on the scale of the values.
///
/// `None`: fewer than [`blocks_needed`] blocks, or a value that is not finite.
pub fn estimate(log_ratios: &[f64], alpha: f64) -> Option<Interval> {
    estimate_with_tails(log_ratios, alpha / 2.0)
}

/// As [`estimate`], with the error `tail` on each side.
pub fn estimate_with_tails(values: &[f64], tail: f64) -> Option<Interval> {
    if !finite(values) {
        return None;
    }
    let critical = critical_value(values.len(), tail.min(0.5))?;
    let mut walsh: Vec<f64> = walsh_averages(values).collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let last = walsh.len() - 1;
    let (low, high) = (walsh[critical], walsh[last - critical]);
    Some(Interval { point: median(&walsh), low, high, count: values.len() })
}

/// The Hodges–Lehmann point alone. `None`: no values, or one that is not finite.
pub fn point(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !finite(values) {
        return None;
    }
    let mut walsh: Vec<f64> = walsh_averages(values).collect();
    walsh.sort_unstable_by(f64::total_cmp);
    Some(median(&walsh))
}

/// The one-sided p-value of the null hypothesis that the centre is at most `bound`.
/// 1 without values, or if one is not finite.
pub fn p_above(values: &[f64], bound: f64) -> f64 {
    if values.is_empty() || !finite(values) || !bound.is_finite() {
        return 1.0;
    }
    let against = walsh_averages(values).filter(|w| *w <= bound).count();
    cdf(values.len(), against)
}

/// The smallest number of blocks for an interval with `tail` on each side: all n
/// values lie on one side with probability 2⁻ⁿ.
pub fn blocks_needed(tail: f64) -> usize {
    if tail <= 0.0 {
        return usize::MAX;
    }
    (1..).find(|n| 0.5_f64.powi(*n) <= tail).map_or(usize::MAX, |n| n as usize)
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// The means of all pairs, each value with itself included.
fn walsh_averages(values: &[f64]) -> impl Iterator<Item = f64> + '_ {
    values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| 0.5 * (a + b)))
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    0.5 * (sorted[(n - 1) / 2] + sorted[n / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::verdict::Side;
    use proptest::prelude::*;

    /// The p-value of the other side.
    fn p_below(values: &[f64], bound: f64) -> f64 {
        let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
        p_above(&mirrored, -bound)
    }

    /// Changes on Hamilton's depression scale of nine patients: table 3.1 of
    /// Hollander, Wolfe & Chicken.
    const DEPRESSION: [f64; 9] = [-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010];

    #[test]
    fn the_textbook_example_has_the_printed_results() {
        let found = estimate(&DEPRESSION, 0.04).expect("nine values suffice");
        assert!((found.point + 0.46).abs() < 1e-9, "{found:?}");
        assert!((found.low + 0.786).abs() < 1e-9 && (found.high + 0.010).abs() < 1e-9, "{found:?}");
        assert!((p_below(&DEPRESSION, 0.0) - 10.0 / 512.0).abs() < 1e-12);
    }

    #[test]
    fn a_level_that_n_blocks_cannot_reach_gives_no_interval() {
        assert_eq!(estimate(&[0.1; 5], 0.05), None);
        assert_eq!(estimate(&[0.1; 6], 0.05).map(|i| (i.low, i.high)), Some((0.1, 0.1)));
        assert_eq!(blocks_needed(0.025), 6);
        assert_eq!(estimate(&[0.1, 0.2, f64::NAN, 0.1, 0.1, 0.1, 0.1], 0.05), None);
    }

    #[test]
    fn equal_cells_never_differ() {
        assert_eq!(p_above(&[0.0; 30], 0.0), 1.0);
        let ties = [0.01, -0.01, 0.02, -0.02, 0.03, -0.03, 0.01, -0.01];
        assert!(p_above(&ties, 0.0) > 0.5 && p_below(&ties, 0.0) > 0.5);
    }

    #[test]
    fn many_blocks_use_the_approximation_and_still_cover() {
        let mut rng = Rng::seeded(3);
        let covered = (0..200)
            .filter(|_| {
                let values: Vec<f64> = (0..150).map(|_| rng.normal()).collect();
                estimate(&values, 0.05).expect("150 blocks suffice").covers(0.0)
            })
            .count();
        assert!(covered >= 180, "{covered} of 200");
    }

    proptest! {
        #[test]
        fn test_and_interval_agree(
            values in prop::collection::vec(-5_i32..6, 6..20),
            bound in -5_i32..6,
            tail in 0.016_f64..0.2,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let bound = f64::from(bound);
            let interval = estimate_with_tails(&values, tail).expect("reachable");
            prop_assert_eq!(p_above(&values, bound) <= tail, interval.low > bound);
            prop_assert_eq!(p_below(&values, bound) <= tail, interval.high < bound);
        }

        /// Two one-sided tests (Schuirmann 1987) at the full level each, as an
        /// intersection-union test may (Berger 1982).
        #[test]
        fn equivalence_is_two_one_sided_tests(
            values in prop::collection::vec(-0.03_f64..0.03, 8..30),
            margin in 0.001_f64..0.03,
        ) {
            let interval = estimate_with_tails(&values, 0.01).expect("reachable");
            let rejected = p_below(&values, margin).max(p_above(&values, -margin)) <= 0.01;
            prop_assert_eq!(Side::of(&interval, margin) == Some(Side::Within), rejected);
        }

        #[test]
        fn shifting_the_data_shifts_the_interval(values in prop::collection::vec(-1.0_f64..1.0, 8..30)) {
            let plain = estimate(&values, 0.05).expect("reachable");
            let moved: Vec<f64> = values.iter().map(|v| v + 4.0).collect();
            let moved = estimate(&moved, 0.05).expect("reachable");
            prop_assert!((moved.low - plain.low - 4.0).abs() < 1e-9);
            prop_assert!((moved.point - plain.point - 4.0).abs() < 1e-9);
            prop_assert!(plain.covers(plain.point));
        }

        #[test]
        fn a_smaller_error_gives_a_wider_interval(values in prop::collection::vec(-1.0_f64..1.0, 10..40)) {
            let (narrow, wide) = (estimate(&values, 0.1).expect("10"), estimate(&values, 0.01).expect("10"));
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }
}
