//! One number for each attempt and metric: what comparisons are made of.
//!
//! A value counts as it is, a series by its median after warm-up. A histogram counts by its median, or by the queried
//! quantile (`latency p99`) where it has enough samples for it.
//!
//! Readings of the whole scene (without labels) go before readings of its parts. Where there are only parts, histograms
//! are merged. Of values the longest time counts (the last to finish decides), the sum of throughputs, and the mean of
//! anything else.

use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Better, Metric, Observation, Reading};
use crosstalk_stats::quantile;
use crosstalk_stats::warmup::{self, Warmup};

use crate::query::{MEDIAN, MetricQuery};

/// Histograms of seconds count whole nanoseconds.
const NANOSECOND: f64 = 1e-9;
/// A quantile needs enough samples for an interval with this error.
const ERROR: f64 = 0.05;

/// The number of an attempt with these readings for `query`. `None` where there is none, where samples are too few, or
/// where it is not finite.
pub fn attempt_value(readings: &[Reading], query: &MetricQuery, metric: &Metric) -> Option<f64> {
    let matching = || readings.iter().filter(|reading| query.matches(reading));
    let whole: Vec<_> = matching().filter(|r| r.labels.is_empty()).collect();
    let parts: Vec<_> = if whole.is_empty() { matching().collect() } else { whole };
    merged_value(&parts, query.quantile, metric).filter(|v| v.is_finite())
}

/// The number of one metric at one node.
pub fn value_at_node(readings: &[Reading], name: &str, node: &str, metric: &Metric) -> Option<f64> {
    let of_node: Vec<_> = readings
        .iter()
        .filter(|r| r.metric == name && r.labels.get("node").is_some_and(|n| n == node))
        .collect();
    merged_value(&of_node, MEDIAN, metric).filter(|v| v.is_finite())
}

/// Quantile `q`, where there are enough samples to state it.
fn at_quantile(histogram: &Histogram, q: f64) -> Option<f64> {
    let needed = quantile::samples_needed(q, ERROR)?;
    // A median of few values is still the best single guess of a run's centre.
    (q == MEDIAN || histogram.count() >= needed).then(|| histogram.quantile(q)).flatten()
}

/// The median after warm-up; of the whole series where no warm-up is detected.
fn steady_median(series: &[f64]) -> Option<f64> {
    let from = match warmup::detect(series) {
        Warmup::SteadyFrom(index) => index,
        Warmup::NotReached | Warmup::Unknown => 0,
    };
    let mut steady = series[from..].to_vec();
    steady.sort_unstable_by(f64::total_cmp);
    let n = steady.len();
    (n > 0).then(|| 0.5 * (steady[(n - 1) / 2] + steady[n / 2]))
}

fn merged_value(parts: &[&Reading], quantile: f64, metric: &Metric) -> Option<f64> {
    let unit = if metric.unit == "s" { NANOSECOND } else { 1.0 };
    if let [Reading { observation: Observation::Histogram(only), .. }] = parts {
        return at_quantile(only, quantile).map(|v| v * unit);
    }
    let mut merged: Option<Histogram> = None;
    let mut values = Vec::new();
    for part in parts {
        match &part.observation {
            Observation::Histogram(h) => merged.get_or_insert_with(Histogram::default).merge(h),
            Observation::Value(v) => values.push(*v),
            Observation::Series(series) => values.extend(steady_median(series)),
        }
    }
    if let Some(all) = merged {
        return at_quantile(&all, quantile).map(|v| v * unit);
    }
    if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let sum: f64 = values.iter().sum();
    Some(match (metric.better, metric.unit.as_str()) {
        _ if values.len() == 1 => values[0],
        (_, "s") => values.iter().copied().fold(f64::MIN, f64::max),
        (Better::Higher, _) => sum,
        _ => sum / values.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::Origin;

    #[test]
    fn labels_choose_among_readings() {
        let query = |text| MetricQuery::new(text);
        let wake = query("stage_time[stage=wake-up, way=there]");
        assert_eq!((wake.metric, wake.labels.len()), ("stage_time", 2));
        let late = query("latency[offered=5000] p99");
        assert_eq!((late.metric, late.quantile, late.labels[0]), ("latency", 0.99, ("offered", "5000")));
        assert_eq!(query("stage_time[stage").metric, "stage_time[stage");
        assert_eq!(query("stage_time[stage]").metric, "stage_time[stage]");
        let reading = |stage: &str, time: f64| {
            Reading::value("stage_time", time, Origin::Measured).label("stage", stage).label("way", "there")
        };
        let readings = [reading("wake-up", 3.0), reading("copy", 1.0)];
        let metric = Metric::new("stage_time", "s", Better::Neither);
        assert_eq!(attempt_value(&readings, &wake, &metric), Some(3.0));
        assert_eq!(attempt_value(&readings, &query("stage_time[stage=copy]"), &metric), Some(1.0));
        assert_eq!(attempt_value(&readings, &query("stage_time[stage=none]"), &metric), None);
    }
}
