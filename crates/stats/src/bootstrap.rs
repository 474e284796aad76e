//! The moving-block bootstrap (Künsch 1989; Liu & Singh 1992), for quantities of
//! *one run* whose neighbouring values depend on each other.
//!
//! Never for blocks of a study: percentile intervals of a dozen values cover far
//! too rarely. For those there is [`crate::paired`].

use crate::Interval;
use crate::rng::Rng;

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Values a block of neighbours; [`block_length`] proposes one.
    pub block: usize,
    /// Resamples; 1,000 serve for 95 %.
    pub draws: usize,
    /// The same seed gives the same interval.
    pub seed: u64,
    /// Two-sided error.
    pub alpha: f64,
}

/// The fewest blocks of neighbours that a series must hold.
const FEWEST_BLOCKS: usize = 10;

/// The percentile interval of `statistic` over the `series` of one run, in order
/// of time. `None` where the series holds fewer than ten blocks of neighbours,
/// too few draws reach the ends, or a resample's statistic is not finite.
pub fn interval(series: &[f64], plan: &Plan, statistic: impl Fn(&[f64]) -> f64) -> Option<Interval> {
    let n = series.len();
    let ends = (plan.alpha / 2.0 * plan.draws as f64).floor() as usize;
    if plan.block == 0 || n < FEWEST_BLOCKS * plan.block || ends == 0 || 2 * ends >= plan.draws {
        return None;
    }
    let mut rng = Rng::seeded(plan.seed);
    let mut found: Vec<f64> =
        (0..plan.draws).map(|_| statistic(&resample(series, plan.block, &mut rng))).collect();
    found.sort_unstable_by(f64::total_cmp);
    let interval =
        Interval { point: statistic(series), low: found[ends - 1], high: found[plan.draws - ends], count: n };
    found.iter().chain([&interval.point]).all(|v| v.is_finite()).then_some(interval)
}

/// A block length for `series`: that which makes the variance of a mean most
/// accurate (Politis & White 2004, as corrected by Patton, Politis & White 2009),
/// (3 G² / 2 g²)^⅓ · n^⅓ with G = Σ |k| R(k) and g = Σ R(k) over the
/// autocovariances R(k), tapered after the last one that matters. At least 1, at
/// most a tenth of the series.
pub fn block_length(series: &[f64]) -> usize {
    let n = series.len();
    let most = (n / FEWEST_BLOCKS).max(1);
    let covariances = autocovariances(series, (2 * (n as f64).sqrt() as usize).min(n.saturating_sub(1)));
    let Some(variance) = covariances.first().copied().filter(|v| *v > 0.0) else { return 1 };
    let negligible = 2.0 * ((n as f64).log10() / n as f64).sqrt() * variance;
    let last = last_that_matters(&covariances, negligible);
    let (mut weighted, mut sum) = (0.0, variance);
    for (lag, covariance) in covariances.iter().enumerate().skip(1).take(2 * last) {
        let taper = (2.0 * (1.0 - lag as f64 / (2 * last) as f64)).min(1.0);
        weighted += 2.0 * taper * lag as f64 * covariance;
        sum += 2.0 * taper * covariance;
    }
    if sum <= 0.0 {
        return most;
    }
    let length = (1.5 * (weighted / sum).powi(2) * n as f64).cbrt();
    (length.ceil() as usize).clamp(1, most)
}

/// The lag after which five autocovariances in a row are negligible.
fn last_that_matters(covariances: &[f64], negligible: f64) -> usize {
    let lags = covariances.get(1..).unwrap_or(&[]);
    lags.windows(5).position(|run| run.iter().all(|c| c.abs() < negligible)).unwrap_or(lags.len())
}

fn autocovariances(series: &[f64], lags: usize) -> Vec<f64> {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    (0..=lags)
        .map(|lag| series.iter().zip(&series[lag.min(series.len())..]).map(|(a, b)| (a - mean) * (b - mean)))
        .map(|products| products.sum::<f64>() / n)
        .collect()
}

/// As many values as the series has, in whole blocks of neighbours.
fn resample(series: &[f64], block: usize, rng: &mut Rng) -> Vec<f64> {
    let mut values = Vec::with_capacity(series.len() + block);
    while values.len() < series.len() {
        let start = rng.below(series.len() - block + 1);
        values.extend_from_slice(&series[start..start + block]);
    }
    values.truncate(series.len());
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// First-order autoregression with coefficient `phi`.
    fn series(phi: f64, n: usize, rng: &mut Rng) -> Vec<f64> {
        let mut value = rng.normal() / (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                value = phi * value + rng.normal();
                value
            })
            .collect()
    }

    fn plan(block: usize, seed: u64) -> Plan {
        Plan { block, draws: 400, seed, alpha: 0.05 }
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values = series(0.5, 200, &mut Rng::seeded(91));
        let found = interval(&values, &plan(5, 1), mean);
        assert!(found.is_some_and(|i| i.covers(mean(&values))));
        assert_eq!(found, interval(&values, &plan(5, 1), mean));
        assert_ne!(found, interval(&values, &plan(5, 2), mean));
    }

    #[test]
    fn blocks_of_a_study_are_refused() {
        assert_eq!(interval(&[1.0; 12], &plan(2, 1), mean), None);
        assert_eq!(interval(&[], &plan(1, 1), mean), None);
        assert_eq!(interval(&[1.0; 100], &Plan { draws: 10, ..plan(2, 1) }, mean), None);
    }

    #[test]
    fn dependence_asks_for_longer_blocks() {
        let mut rng = Rng::seeded(92);
        let (free, bound) = (series(0.0, 2_000, &mut rng), series(0.8, 2_000, &mut rng));
        assert!(block_length(&free) <= 6, "{}", block_length(&free));
        assert!((15..=80).contains(&block_length(&bound)), "{}", block_length(&bound));
        assert_eq!((block_length(&[]), block_length(&[2.0; 50])), (1, 1));
    }

    #[test]
    fn dependent_values_are_covered_where_single_draws_fail() {
        let mut rng = Rng::seeded(93);
        let (mut blocks, mut singles) = (0, 0);
        for seed in 0..150 {
            let values = series(0.7, 600, &mut rng);
            let covered = |block| interval(&values, &plan(block, seed), mean).is_some_and(|i| i.covers(0.0));
            blocks += u32::from(covered(block_length(&values)));
            singles += u32::from(covered(1));
        }
        assert!(blocks >= 130, "{blocks} of 150 (95 % are 142)");
        assert!(singles <= 110, "{singles} of 150");
    }
}
