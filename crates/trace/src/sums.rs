//! Sums of the stages of many exchanges, by the whole time of an exchange.
//!
//! Each bin of the histogram of whole times carries the sums of the stages of its exchanges. So
//! the mean stages around any percentile are known in little memory, and they add up to the mean
//! whole time around that percentile.

use std::collections::BTreeMap;

use crosstalk_core::histogram::Histogram;
use crosstalk_core::trace::{Percentile, Scope, StageTimes, TimeAccount};
use crosstalk_stats::quantile::{INTERVAL_ERROR, reportable_percentiles, samples_needed};

use super::split::Split;
use super::stages::{STAGE_COUNT, stages_in_order};

/// The exchanges around a percentile, as shares of all.
const AROUND_P50: (f64, f64) = (0.45, 0.55);
const AROUND_P99: (f64, f64) = (0.985, 0.995);

/// Exchanges with about the same whole time.
#[derive(Debug, Clone, Copy)]
struct Bin {
    count: u64,
    sums: [u64; STAGE_COUNT],
}

/// Sums of the stages' times over the exchanges of one scope.
#[derive(Debug, Default)]
pub struct StageSums {
    bins: BTreeMap<u64, Bin>,
    times: Histogram,
}

impl StageSums {
    /// Adds an exchange.
    pub fn add(&mut self, split: &Split) {
        let bin = self
            .bins
            .entry(Histogram::bucket_floor(split.whole))
            .or_insert(Bin { count: 0, sums: [0; STAGE_COUNT] });
        bin.count += 1;
        for (sum, time) in bin.sums.iter_mut().zip(&split.stages) {
            *sum = sum.saturating_add(*time);
        }
        self.times.record(split.whole);
    }

    /// How many exchanges there are.
    pub fn count(&self) -> u64 {
        self.times.count()
    }

    /// How the exchanges spent their time, stage by stage; `None` where there are no exchanges.
    pub fn account(&self, scope: Scope) -> Option<TimeAccount> {
        let all = self.around((0.0, 1.0))?;
        let p50 = self.around(AROUND_P50)?;
        let p99 = has_enough_values(self.count(), 0.99).then(|| self.around(AROUND_P99)).flatten();
        let mean: f64 = all.iter().sum();
        let stage = |(which, side, name): (usize, _, &str)| StageTimes {
            side,
            name: name.into(),
            mean: all[which],
            share: if mean > 0.0 { all[which] / mean } else { 0.0 },
            around_p50: p50[which],
            around_p99: p99.map(|p99| p99[which]),
        };
        // A stage in which no exchange spent time is left out.
        let stages = stages_in_order().into_iter().map(stage).filter(|stage| stage.mean > 0.0).collect();
        Some(TimeAccount { scope, requests: self.count(), mean, percentiles: self.percentiles(), stages })
    }

    fn percentiles(&self) -> Vec<Percentile> {
        reportable_percentiles(self.count())
            .filter_map(|(quantile, _)| {
                Some(Percentile { quantile, seconds: self.times.quantile(quantile)? * 1e-9 })
            })
            .collect()
    }

    /// Mean stages in seconds of the exchanges between two shares of all. A bin that lies there
    /// in part counts in part.
    fn around(&self, (from, to): (f64, f64)) -> Option<[f64; STAGE_COUNT]> {
        let count = self.count() as f64;
        let (from, to) = (from * count, to * count);
        let (mut below, mut counted, mut sums) = (0.0, 0.0, [0.0; STAGE_COUNT]);
        for bin in self.bins.values() {
            let here = bin.count as f64;
            let inside = (to.min(below + here) - from.max(below)).max(0.0);
            for (sum, of_bin) in sums.iter_mut().zip(&bin.sums) {
                *sum += *of_bin as f64 * inside / here;
            }
            (below, counted) = (below + here, counted + inside);
        }
        (counted > 0.0).then(|| sums.map(|sum| sum / counted * 1e-9))
    }
}

/// Whether there are enough values for a percentile.
pub fn has_enough_values(count: u64, quantile: f64) -> bool {
    samples_needed(quantile, INTERVAL_ERROR).is_some_and(|needed| count >= needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::exchange_fixture;
    use crate::split::split;
    use crosstalk_observe::service::Stamp;
    use proptest::prelude::*;

    /// An exchange whose service takes `service` more nanoseconds than the rest of it.
    fn one(service: u64) -> Split {
        let slow = |stamp, at| if stamp >= Stamp::Answer { at + service } else { at };
        split(&exchange_fixture(slow)).expect("is followed")
    }

    fn stage(account: &TimeAccount, name: &str) -> StageTimes {
        account.stages.iter().find(|stage| stage.name == name).expect("is a stage").clone()
    }

    #[test]
    fn time_around_a_percentile_appears_there_only() {
        let mut sums = StageSums::default();
        (0..980).for_each(|_| sums.add(&one(0)));
        (0..20).for_each(|_| sums.add(&one(1_000_000)));
        let account = sums.account(Scope::Client).expect("there are some");
        assert_eq!(account.requests, 1000);
        let service = stage(&account, "service, on a CPU");
        assert!((service.around_p50 - 6e-9).abs() < 1e-12, "{service:?}");
        assert!(service.around_p99.is_some_and(|p99| (p99 - 1e-3).abs() < 1e-5), "{service:?}");
        assert!((service.mean - (6e-9 + 2e-5)).abs() < 1e-12, "{service:?}");
        let wake_up = stage(&account, "wake-up");
        assert!((wake_up.mean - 1e-8).abs() < 1e-15 && wake_up.around_p99 == Some(wake_up.around_p50));
    }

    #[test]
    fn few_exchanges_have_no_high_percentile() {
        let mut sums = StageSums::default();
        assert!(sums.account(Scope::Server).is_none());
        sums.add(&one(0));
        let account = sums.account(Scope::Client).expect("there is one");
        assert!(account.percentiles.is_empty() && account.stages.iter().all(|s| s.around_p99.is_none()));
    }

    proptest! {
        #[test]
        fn stages_add_up_in_every_column(times in proptest::collection::vec(0u64..10_000_000, 1..600)) {
            let mut sums = StageSums::default();
            times.iter().for_each(|time| sums.add(&one(*time)));
            let account = sums.account(Scope::Client).expect("there are some");
            let mean = times.iter().map(|time| *time as f64 + 190.0).sum::<f64>() / times.len() as f64 * 1e-9;
            prop_assert!((account.mean / mean - 1.0).abs() < 1e-9);
            let sum: f64 = account.stages.iter().map(|stage| stage.mean).sum();
            prop_assert!((sum / account.mean - 1.0).abs() < 1e-9);
            prop_assert!((account.stages.iter().map(|stage| stage.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
