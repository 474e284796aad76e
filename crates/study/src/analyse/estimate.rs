//! Values over blocks as one number with its interval, for looking at.
//!
//! These intervals (95 %, one at a time) describe; verdicts come from the
//! study's own, which share the error among everything that is asked.

use crosstalk_stats::{Interval, paired};

use super::data::ByBlock;
use crate::findings::Estimate;

const ERROR: f64 = 0.05;

/// The Hodges–Lehmann point and signed-rank interval: on the log scale where
/// all values are above zero, where ratios are what is symmetric. No interval
/// from fewer blocks than it needs; `None` without values.
pub fn of(values: &ByBlock) -> Option<Estimate> {
    let plain: Vec<f64> = values.values().copied().collect();
    if plain.iter().all(|v| *v > 0.0) {
        of_logs(&plain.iter().map(|v| v.ln()).collect::<Vec<_>>())
    } else {
        of_plain(&plain)
    }
}

/// The same from logs, as a ratio.
pub fn of_logs(logs: &[f64]) -> Option<Estimate> {
    of_plain(logs).map(|e| Estimate {
        value: e.value.exp(),
        interval: e.interval.map(|(low, high)| (low.exp(), high.exp())),
        n: e.n,
    })
}

/// The same on the values' own scale.
pub fn of_plain(values: &[f64]) -> Option<Estimate> {
    let value = paired::point(values)?;
    let interval = paired::estimate(values, ERROR).map(|i| (i.low, i.high));
    Some(Estimate { value, interval, n: values.len() })
}

/// A statistician's interval as a finding.
pub fn shown(interval: Interval) -> Estimate {
    Estimate { value: interval.point, interval: Some((interval.low, interval.high)), n: interval.count }
}

/// A number that somebody printed.
pub fn published(value: f64) -> Estimate {
    Estimate { value, interval: None, n: 1 }
}
