//! Values over blocks as one number with its interval, for figures and tables.
//!
//! These 95 % intervals hold one at a time, and describe. Verdicts come from the family's intervals, which share the error
//! among all questions.

use crosstalk_core::histogram::Histogram;
use crosstalk_stats::{Interval, paired};

use crate::findings::Estimate;

const ERROR: f64 = 0.05;
/// Histograms of seconds count whole nanoseconds.
const NANOSECOND: f64 = 1e-9;

/// The Hodges–Lehmann estimate with its signed-rank interval, of logarithms where all values are above zero. There is no
/// interval from too few blocks, and `None` without values.
pub fn estimate<'a>(values: impl IntoIterator<Item = &'a f64>) -> Option<Estimate> {
    let plain: Vec<f64> = values.into_iter().copied().collect();
    if plain.iter().all(|v| *v > 0.0) {
        estimate_of_logs(&plain.iter().map(|v| v.ln()).collect::<Vec<_>>())
    } else {
        estimate_of_values(&plain)
    }
}

/// The Hodges–Lehmann estimate of logarithms, as a ratio.
pub fn estimate_of_logs(logs: &[f64]) -> Option<Estimate> {
    estimate_of_values(logs).and_then(|e| {
        let interval = e.interval.map(|(low, high)| (low.exp(), high.exp()));
        if_finite(Estimate { value: e.value.exp(), interval, n: e.n })
    })
}

/// The Hodges–Lehmann estimate of the values themselves.
pub fn estimate_of_values(values: &[f64]) -> Option<Estimate> {
    let found = match paired::estimate(values, ERROR) {
        Some(interval) => from_interval(interval),
        None => Estimate { value: paired::point(values)?, interval: None, n: values.len() },
    };
    if_finite(found)
}

/// An estimate that can be written: `None` where the value is not finite, and no interval where an end is not.
pub fn if_finite(e: Estimate) -> Option<Estimate> {
    let closed = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
    e.value.is_finite().then_some(Estimate { interval: e.interval.filter(closed), ..e })
}

/// An estimate of what histograms counted: its interval, if any, spans at least the bucket of its value.
pub fn at_bucket_precision(found: Estimate, unit: &str) -> Estimate {
    let scale = if unit == "s" { NANOSECOND } else { 1.0 };
    let counted = found.value / scale;
    if !(0.0..u64::MAX as f64).contains(&counted) {
        return found;
    }
    let (least, most) = Histogram::bucket_bounds(counted as u64);
    let wider = |(low, high): (f64, f64)| (low.min(least * scale), high.max(most * scale));
    Estimate { interval: found.interval.map(wider), ..found }
}

/// The estimate that an interval gives.
pub fn from_interval(interval: Interval) -> Estimate {
    Estimate { value: interval.point, interval: Some((interval.low, interval.high)), n: interval.count }
}

/// A published number as an estimate without an interval.
pub fn published_estimate(value: f64) -> Estimate {
    Estimate { value, interval: None, n: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_histograms_counted_is_known_to_a_bucket() {
        let same = estimate(&[1e-3; 8]).expect("has values");
        assert_eq!(same.interval, Some((1e-3_f64.ln().exp(), 1e-3_f64.ln().exp())), "of no width");
        let (low, high) = at_bucket_precision(same, "s").interval.expect("has one");
        assert!(low <= 1e-3 && high > 1e-3 && (high - low) / 1e-3 > 0.003, "{low} to {high}");
        let wide = Estimate { interval: Some((5e-4, 2e-3)), ..same };
        assert_eq!(at_bucket_precision(wide, "s"), wide, "wider than a bucket");
        let lone = Estimate { interval: None, ..same };
        assert_eq!(at_bucket_precision(lone, "s"), lone);
    }
}
