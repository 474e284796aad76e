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
    of_plain(logs).and_then(|e| {
        let interval = e.interval.map(|(low, high)| (low.exp(), high.exp()));
        sound(Estimate { value: e.value.exp(), interval, n: e.n })
    })
}

/// The same on the values' own scale.
pub fn of_plain(values: &[f64]) -> Option<Estimate> {
    let found = match paired::estimate(values, ERROR) {
        Some(interval) => shown(interval),
        None => Estimate { value: paired::point(values)?, interval: None, n: values.len() },
    };
    sound(found)
}

/// Nothing that could not be written down: no number that overflowed, and no
/// interval with an open end.
pub fn sound(e: Estimate) -> Option<Estimate> {
    let closed = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
    e.value.is_finite().then_some(Estimate { interval: e.interval.filter(closed), ..e })
}

/// A statistician's interval as a finding.
pub fn shown(interval: Interval) -> Estimate {
    Estimate { value: interval.point, interval: Some((interval.low, interval.high)), n: interval.count }
}

/// A number that somebody printed.
pub fn published(value: f64) -> Estimate {
    Estimate { value, interval: None, n: 1 }
}
