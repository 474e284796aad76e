//! Values over blocks as one number with its interval, for looking at.
//!
//! These intervals (95 %, one at a time) describe; verdicts come from the
//! study's own, which share the error among everything that is asked.

use crosstalk_core::histogram::Histogram;
use crosstalk_stats::{Interval, paired};

use crate::findings::Estimate;

const ERROR: f64 = 0.05;
/// Histograms of seconds count whole nanoseconds.
const NANOSECOND: f64 = 1e-9;

/// The Hodges–Lehmann point and signed-rank interval: on the log scale where
/// all values are above zero, where ratios are what is symmetric. No interval
/// from fewer blocks than it needs; `None` without values.
pub fn of<'a>(values: impl IntoIterator<Item = &'a f64>) -> Option<Estimate> {
    let plain: Vec<f64> = values.into_iter().copied().collect();
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

/// An estimate of what histograms counted: its interval, where it has one, holds the bucket that its value is in,
/// since nearer than that no number of blocks tells.
pub fn as_counted(found: Estimate, unit: &str) -> Estimate {
    let scale = if unit == "s" { NANOSECOND } else { 1.0 };
    let counted = found.value / scale;
    if !(0.0..u64::MAX as f64).contains(&counted) {
        return found;
    }
    let (least, most) = Histogram::bucket_bounds(counted as u64);
    let wider = |(low, high): (f64, f64)| (low.min(least * scale), high.max(most * scale));
    Estimate { interval: found.interval.map(wider), ..found }
}

/// A statistician's interval as a finding.
pub fn shown(interval: Interval) -> Estimate {
    Estimate { value: interval.point, interval: Some((interval.low, interval.high)), n: interval.count }
}

/// A number that somebody printed.
pub fn published(value: f64) -> Estimate {
    Estimate { value, interval: None, n: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_histograms_counted_is_known_to_a_bucket() {
        let same = of(&[1e-3; 8]).expect("has values");
        assert_eq!(same.interval, Some((1e-3_f64.ln().exp(), 1e-3_f64.ln().exp())), "of no width");
        let (low, high) = as_counted(same, "s").interval.expect("has one");
        assert!(low <= 1e-3 && high > 1e-3 && (high - low) / 1e-3 > 0.003, "{low} to {high}");
        let wide = Estimate { interval: Some((5e-4, 2e-3)), ..same };
        assert_eq!(as_counted(wide, "s"), wide, "wider than a bucket");
        let lone = Estimate { interval: None, ..same };
        assert_eq!(as_counted(lone, "s"), lone);
    }
}
