//! Rows of an export: a metric of one cell, or of one reading of an instrument, with its statistics.
//!
//! Columns that hyperfine has too have its names (`command`, `mean`, `stddev`, `median`, `min`, `max`, `times`).

use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Better, Metric, Observation, Origin, Reading};
use crosstalk_stats::{Interval, quantile, threshold};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::analyse::{Data, Experiment, origins};
use crate::estimate;
use crate::file::Study;
use crate::findings::Estimate;
use crate::plan::Plan;
use crate::query::MetricQuery;
use crate::samples::Run;

/// Histograms of seconds count whole nanoseconds.
const NANOSECOND: f64 = 1e-9;

/// One row of an export: the statistics of one metric of one command. Numbers are in SI base units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The command that ran, or the experiment's title.
    pub command: String,
    /// Factor or label → level.
    pub parameters: BTreeMap<String, String>,
    /// The metric.
    pub metric: String,
    /// Its unit: `s`, `B`, `bit/s` …
    pub unit: String,
    /// How its values were obtained; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation; `None` for a single value and for a distribution.
    pub stddev: Option<f64>,
    /// The median.
    pub median: f64,
    /// The ends of the median's 95 % interval (order statistics); `None` below 6 values.
    pub interval: Option<(f64, f64)>,
    /// The Hodges–Lehmann estimate with its signed-rank interval, as the report has it; `None` of a distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hodges_lehmann: Option<Estimate>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The number of values.
    pub n: u64,
    /// Percentiles of a distribution; empty for single values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles: BTreeMap<String, f64>,
    /// Every value in the order of the attempts; empty for a distribution.
    #[serde(rename = "times", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

impl Row {
    /// A row of single values; `None` without any, or where one is not finite.
    pub fn of_values(command: &str, metric: &str, unit: &str, values: Vec<f64>) -> Option<Self> {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        if !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) };
        Some(Row {
            command: command.into(),
            parameters: BTreeMap::new(),
            metric: metric.into(),
            unit: unit.into(),
            origin: None,
            mean,
            stddev: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            median,
            interval: threshold::median(&values, quantile::INTERVAL_ERROR)
                .map(|found| (found.low, found.high)),
            hodges_lehmann: estimate::estimate(&values),
            min,
            max,
            n: values.len() as u64,
            percentiles: BTreeMap::new(),
            values,
        })
    }

    /// A row of a distribution; `None` of an empty one.
    pub fn of_histogram(command: &str, metric: &str, unit: &str, seen: &Histogram) -> Option<Self> {
        let scale = if unit == "s" { NANOSECOND } else { 1.0 };
        let count = seen.count();
        let interval = percentile(seen, 0.5).map(|found| (found.low * scale, found.high * scale));
        Some(Row {
            command: command.into(),
            parameters: BTreeMap::new(),
            metric: metric.into(),
            unit: unit.into(),
            origin: None,
            mean: seen.mean()? * scale,
            stddev: None,
            median: seen.quantile(0.5)? * scale,
            interval,
            hodges_lehmann: None,
            min: seen.quantile(0.0)? * scale,
            max: seen.quantile(1.0)? * scale,
            n: count,
            percentiles: quantile::reportable_percentiles(count)
                .filter_map(|(q, name)| Some((name.to_string(), seen.quantile(q)? * scale)))
                .collect(),
            values: Vec::new(),
        })
    }

    /// A row of an instrument's reading; its labels are the row's parameters.
    pub fn of_reading(command: &str, reading: &Reading, unit: &str) -> Option<Self> {
        let row = match &reading.observation {
            Observation::Value(value) => Row::of_values(command, &reading.metric, unit, vec![*value]),
            Observation::Series(values) => Row::of_values(command, &reading.metric, unit, values.clone()),
            Observation::Histogram(seen) => Row::of_histogram(command, &reading.metric, unit, seen),
        };
        Some(Row { parameters: reading.labels.clone(), origin: Some(reading.origin), ..row? })
    }
}

/// A percentile with its 95 % interval (order statistics), in the histogram's unit. The interval's ends are the outer ends
/// of their buckets: it is never narrower than the histogram's resolution. `None` from too few samples.
pub fn percentile(seen: &Histogram, q: f64) -> Option<Interval> {
    let count = seen.count();
    let ranks = quantile::ranks(count, q, quantile::INTERVAL_ERROR)?;
    let ends = |rank: u64| seen.quantile_bounds(rank as f64 / count as f64);
    let (low, high) = (ends(ranks.low)?.0, ends(ranks.high)?.1);
    Some(Interval { point: seen.quantile(q)?, low, high, count: count as usize })
}

/// The kind of workload whose exports are hyperfine's: one row for each command.
const COMMAND: &str = "command";

/// A row for every cell that has values: the deciding metric of its experiment, one value an attempt, as in the report.
/// After all of these come rows of the other metrics that are better higher or lower, but not of commands.
pub fn rows(study: &Study, plan: &Plan, run: &Run) -> Vec<Row> {
    let data = Data::new(plan, run);
    let deciding = data.experiments.iter().flat_map(|experiment| {
        let query = deciding_query(study, experiment);
        query.map_or(Vec::new(), |query| rows_of(study, experiment, query))
    });
    let others = data.experiments.iter().flat_map(|experiment| {
        let metrics = other_metrics(study, experiment);
        metrics.flat_map(|metric| rows_of(study, experiment, &metric.name)).collect::<Vec<_>>()
    });
    deciding.chain(others).collect()
}

/// The metric that the experiment compares, else its first one.
fn deciding_query<'a>(study: &'a Study, data: &Experiment<'a>) -> Option<&'a str> {
    let compared = study.experiment.get(data.name()).and_then(|e| e.compare.as_ref()?.metric.as_deref());
    compared.or_else(|| data.planned.metrics.first().map(|metric| metric.name.as_str()))
}

fn other_metrics<'a>(study: &'a Study, data: &Experiment<'a>) -> impl Iterator<Item = &'a Metric> {
    let experiment = study.experiment.get(data.name());
    let of_command = experiment.is_some_and(|e| e.work.values().any(|work| work.kind == COMMAND));
    let deciding = deciding_query(study, data);
    let planned = data.planned.metrics.iter();
    planned.filter(move |metric| {
        !of_command && metric.better != Better::Neither && deciding != Some(metric.name.as_str())
    })
}

fn rows_of(study: &Study, data: &Experiment, query: &str) -> Vec<Row> {
    let planned = data.planned;
    let parsed = MetricQuery::new(query);
    let Some(metric) = planned.metrics.iter().find(|metric| metric.name == parsed.metric) else {
        return Vec::new();
    };
    let experiment = study.experiment.get(&planned.name);
    let title = experiment.map(|e| e.title.as_str()).filter(|title| !title.is_empty());
    let row = |cell| {
        let values = data.values(cell, query).values().copied().collect();
        let row = Row::of_values(title.unwrap_or(&planned.name), query, &metric.unit, values)?;
        let levels = cell.levels().iter().map(|(factor, level)| (factor.clone(), level.to_string()));
        let origin = origins([cell], query).last().copied();
        Some(Row { parameters: levels.collect(), origin, ..row })
    };
    data.cells.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_moments_and_the_median_s_interval() {
        let row = Row::of_values("job", "run_time", "s", vec![2.0, 4.0, 3.0, 1.0]).expect("has values");
        assert_eq!((row.mean, row.median, row.min, row.max, row.n), (2.5, 2.5, 1.0, 4.0, 4));
        assert!((row.stddev.expect("of four") - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(row.interval, None, "a median's interval needs six values");
        assert_eq!(row.values, [2.0, 4.0, 3.0, 1.0], "in their order");
        let six = (1..=6).map(f64::from).collect();
        assert_eq!(Row::of_values("job", "run_time", "s", six).and_then(|r| r.interval), Some((1.0, 6.0)));
        assert_eq!(Row::of_values("job", "run_time", "s", vec![]), None);
        assert_eq!(Row::of_values("job", "run_time", "s", vec![1.0, f64::NAN]), None);
    }

    #[test]
    fn a_distribution_states_the_percentiles_that_its_samples_allow() {
        let mut seen = Histogram::default();
        (1..=100).for_each(|n| seen.record(n));
        let row = Row::of_histogram("probe", "latency", "s", &seen).expect("has samples");
        assert_eq!(row.percentiles.keys().collect::<Vec<_>>(), ["p50", "p90"], "a p99 needs 368");
        assert!((row.median - 50e-9).abs() < 1e-15 && row.n == 100 && row.values.is_empty());
    }

    #[test]
    fn a_percentile_is_no_more_precise_than_the_histogram() {
        let mut seen = Histogram::default();
        (0..10_000).for_each(|_| seen.record(1_000_000));
        let found = percentile(&seen, 0.5).expect("samples enough");
        assert!(found.low <= 1e6 && found.high > 1e6, "{found:?}");
        assert!((found.high - found.low) / 1e6 > 0.003, "a bucket is 0.4 to 0.8 % wide: {found:?}");
        let row = Row::of_histogram("probe", "latency", "s", &seen).expect("has samples");
        assert_eq!(row.interval, Some((found.low * 1e-9, found.high * 1e-9)));
    }

    #[test]
    fn a_row_has_the_report_s_estimate_beside_the_median() {
        let row =
            Row::of_values("job", "run_time", "s", vec![1.0, 2.0, 4.0, 8.0, 16.0, 64.0]).expect("has values");
        let found = row.hodges_lehmann.expect("of values");
        assert!((found.value - row.median).abs() > 0.1, "of skewed values they differ: {found:?}");
        assert_eq!(Some(found), estimate::estimate(&row.values));
    }
}
