//! Percentiles with order-statistic intervals, and none from too few samples.
//!
//! The number of samples below the quantile q is binomial (n, q), for any
//! distribution of samples (Thompson 1936; David & Nagaraja, "Order Statistics",
//! 7.1). The rule: a percentile is reported only if its interval has an end on
//! *both* sides, that is if qⁿ ≤ α/2 and (1 − q)ⁿ ≤ α/2. At 95 % a median needs 6
//! samples, a p99 368, a p99.9 3,688.
//!
//! Samples are assumed to be independent. Successive samples of one run often are
//! not: then the interval is too narrow. Comparisons use blocks, never this
//! interval.

use crate::Interval;
use crate::special::binomial_cdf;

/// The ranks, counted from 1, of the samples that estimate a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// The nearest rank of the quantile itself.
    pub point: u64,
    /// The interval's lower end.
    pub low: u64,
    /// The interval's upper end.
    pub high: u64,
}

/// The ranks of quantile `q` among `count` samples, with an interval at two-sided
/// error `alpha`: for histograms. `None`: fewer than [`samples_needed`].
pub fn ranks(count: u64, q: f64, alpha: f64) -> Option<Ranks> {
    if count < samples_needed(q, alpha)? {
        return None;
    }
    let tail = alpha / 2.0;
    // P(B ≤ k) rises with k: the first k above `tail`, and the first at 1 − `tail`.
    let low = first(count, |k| binomial_cdf(k, count, q) > tail);
    let high = first(count, |k| binomial_cdf(k, count, q) >= 1.0 - tail) + 1;
    let point = ((q * count as f64).ceil() as u64).clamp(1, count);
    Some(Ranks { point, low: low.clamp(1, point), high: high.clamp(point, count) })
}

/// Quantile `q` of `sorted` (ascending) samples with its interval at two-sided
/// error `alpha`. `None`: fewer than [`samples_needed`].
pub fn estimate(sorted: &[f64], q: f64, alpha: f64) -> Option<Interval> {
    let ranks = ranks(sorted.len() as u64, q, alpha)?;
    let at = |rank: u64| sorted[rank as usize - 1];
    Some(Interval { point: at(ranks.point), low: at(ranks.low), high: at(ranks.high), count: sorted.len() })
}

/// The smallest number of samples from which quantile `q` may be reported at
/// two-sided error `alpha`. `None` unless both lie strictly between 0 and 1.
pub fn samples_needed(q: f64, alpha: f64) -> Option<u64> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    let larger_share = q.max(1.0 - q);
    (inside(q) && inside(alpha)).then(|| ((alpha / 2.0).ln() / larger_share.ln()).ceil() as u64)
}

/// The percentiles in reports, with their names.
const REPORTED: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// The two-sided error of the interval of a percentile in a report.
pub const INTERVAL_ERROR: f64 = 0.05;

/// The percentiles that may be reported of `count` samples, with their names: see
/// [`samples_needed`].
pub fn reportable_percentiles(count: u64) -> impl Iterator<Item = (f64, &'static str)> {
    let enough = move |q: f64| samples_needed(q, INTERVAL_ERROR).is_some_and(|needed| count >= needed);
    REPORTED.into_iter().filter(move |(q, _)| enough(*q))
}

/// The smallest of 0 … `count` for which `reached` holds; `count` if there is none.
fn first(count: u64, reached: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn each_percentile_needs_a_number_of_samples() {
        assert_eq!(samples_needed(0.5, 0.05), Some(6));
        assert_eq!(samples_needed(0.99, 0.05), Some(368));
        assert_eq!(samples_needed(0.999, 0.05), Some(3_688));
        assert_eq!(samples_needed(1.0, 0.05), None);
        assert_eq!(ranks(367, 0.99, 0.05), None);
        assert_eq!(ranks(368, 0.99, 0.05).map(|r| r.high), Some(368));
    }

    #[test]
    fn medians_have_the_ranks_of_the_printed_tables() {
        // Conover, table of binomial intervals: n = 20, ranks 6 and 15 at 95 %.
        assert_eq!(ranks(20, 0.5, 0.05), Some(Ranks { point: 10, low: 6, high: 15 }));
        assert_eq!(ranks(6, 0.5, 0.05), Some(Ranks { point: 3, low: 1, high: 6 }));
    }

    #[test]
    fn the_interval_has_its_coverage() {
        let mut rng = Rng::seeded(21);
        for q in [0.5, 0.9] {
            let covered = (0..400)
                .filter(|_| {
                    let mut samples: Vec<f64> = (0..60).map(|_| rng.uniform().powi(3)).collect();
                    samples.sort_unstable_by(f64::total_cmp);
                    estimate(&samples, q, 0.05).expect("60 samples suffice").covers(q.powi(3))
                })
                .count();
            assert!(covered >= 370, "p{q}: {covered} of 400");
        }
    }

    #[test]
    fn ranks_among_a_million_samples_are_right() {
        let ranks = ranks(1_000_000, 0.999, 0.05).expect("plenty");
        assert_eq!(ranks.point, 999_000);
        assert!(ranks.low.abs_diff(998_938) <= 2 && ranks.high.abs_diff(999_063) <= 2, "{ranks:?}");
    }
}
