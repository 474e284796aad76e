//! Measured times that can replace those of catalogue components.

use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::name::unknown;
use crosstalk_core::record::{Labels, Metric, Reading};
use std::collections::{BTreeMap, BTreeSet};

use crate::analyse::attempt_value;
use crate::analyse::is_counted;
use crate::query::MetricQuery;
use crate::samples::Run;

/// Readings with their metrics, by attempt.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    /// Their source, for people.
    pub from: String,
    metrics: BTreeMap<String, Metric>,
    /// For each attempt that counts: its cell, in a run, and its readings.
    attempts: Vec<(Option<CellId>, Vec<Reading>)>,
}

/// The least and the greatest measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least, in seconds.
    pub low: f64,
    /// The greatest, in seconds.
    pub high: f64,
    /// The number of values behind it.
    pub attempts: usize,
}

impl Measurements {
    /// The readings of one instrument.
    pub fn from_readings(from: &str, metrics: Vec<Metric>, readings: Vec<Reading>) -> Self {
        Measurements::new(from, metrics, vec![(None, readings)])
    }

    /// The readings of a run's attempts that count.
    pub fn from_run(from: &str, run: &Run) -> Self {
        let counted = run.attempts.iter().filter(|attempt| is_counted(attempt));
        let readings =
            |attempt: &crate::samples::Attempt| (Some(attempt.cell.clone()), attempt.readings.clone());
        Measurements::new(from, run.metrics.clone(), counted.map(readings).collect())
    }

    fn new(from: &str, metrics: Vec<Metric>, attempts: Vec<(Option<CellId>, Vec<Reading>)>) -> Self {
        let metrics = metrics.into_iter().map(|metric| (metric.name.clone(), metric)).collect();
        Measurements { from: from.to_string(), metrics, attempts }
    }

    /// The range of a metric query (`load_time[size=65536]`, `latency p99`): the least and the greatest of the medians over
    /// attempts, one for each cell and set of labels. `None` where it was not measured.
    ///
    /// # Errors
    /// A usage fault where the metric is no time.
    pub fn range(&self, query: &str) -> Result<Option<Range>, Fault> {
        let query = MetricQuery::new(query);
        let Some(metric) = self.metrics.get(query.metric) else { return Ok(None) };
        if metric.unit != "s" {
            let why = format!("`{}` is no time: its unit is `{}`", metric.name, metric.unit);
            return Err(Fault::usage(why).remedy("name a metric in seconds"));
        }
        let mut series: BTreeMap<(&Option<CellId>, &Labels), Vec<f64>> = BTreeMap::new();
        for (cell, readings) in &self.attempts {
            for reading in readings {
                let value = attempt_value(std::slice::from_ref(reading), &query, metric);
                if let Some(value) = value.filter(|value| *value >= 0.0) {
                    series.entry((cell, &reading.labels)).or_default().push(value);
                }
            }
        }
        let attempts = series.values().map(Vec::len).sum();
        let medians = || series.values().filter_map(|values| middle(values));
        let (low, high) = (medians().reduce(f64::min), medians().reduce(f64::max));
        Ok(low.zip(high).map(|(low, high)| Range { low, high, attempts }))
    }

    /// The fault of a query that was not measured. It names the nearest metric, or the labels that there are.
    pub fn missing(&self, query: &str) -> Fault {
        let name = MetricQuery::new(query).metric;
        let all = self.attempts.iter().flat_map(|(_, readings)| readings);
        let labels: BTreeSet<String> = all
            .filter(|reading| reading.metric == name)
            .flat_map(|reading| reading.labels.iter().map(|(label, value)| format!("{label}={value}")))
            .collect();
        if !labels.is_empty() {
            let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
            return Fault::usage(format!("nothing that was measured is `{query}`"))
                .at(&self.from)
                .remedy(format!("the labels of `{name}` there are {labels}"));
        }
        let times = self.metrics.values().filter(|metric| metric.unit == "s");
        unknown("metric", name, times.map(|metric| metric.name.as_str())).at(&self.from)
    }
}

/// The median.
fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    (n > 0).then(|| 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::{Better, Origin, Status};
    use crosstalk_core::value::Levels;

    fn load(size: u64, node: usize, time: f64) -> Reading {
        Reading::value("load_time", time, Origin::Measured).label("size", size).label("node", node)
    }

    fn metrics() -> Vec<Metric> {
        vec![
            Metric::new("load_time", "s", Better::Lower),
            Metric::new("huge_pages", "ratio", Better::Neither),
        ]
    }

    #[test]
    fn a_range_is_from_the_least_to_the_greatest() {
        let readings = vec![load(4096, 0, 1e-9), load(65_536, 0, 90e-9), load(65_536, 1, 140e-9)];
        let measured = Measurements::from_readings("memory.json", metrics(), readings);
        let range = measured.range("load_time[size=65536]").expect("is a time").expect("was measured");
        assert_eq!(range, Range { low: 90e-9, high: 140e-9, attempts: 2 });
        assert_eq!(measured.range("load_time[size=1]"), Ok(None));
        assert_eq!(measured.range("access_time"), Ok(None));
        assert!(measured.range("huge_pages").is_err_and(|fault| fault.to_string().contains("no time")));
        assert!(measured.missing("load_tim").to_string().contains("memory.json"));
        let fault = measured.missing("load_time[core=1]");
        assert_eq!(fault.message, "nothing that was measured is `load_time[core=1]`");
        assert!(fault.remedy.is_some_and(|remedy| remedy.ends_with("node=0, node=1, size=4096, size=65536")));
    }

    #[test]
    fn of_a_run_the_median_over_the_counting_attempts_counts() {
        let attempt = |block, status, time| crate::samples::Attempt {
            id: block as u64,
            cell: CellId::new("memory", Levels::new()),
            block,
            try_number: 1,
            status,
            failure: None,
            fidelity: None,
            at: 0.0,
            readings: vec![load(4096, 0, time)],
        };
        let run = Run {
            metrics: metrics(),
            attempts: vec![
                attempt(0, Status::Finished, 1e-9),
                attempt(1, Status::Finished, 9e-9),
                attempt(2, Status::Finished, 2e-9),
                attempt(3, Status::Failed, 99e-9),
            ],
            ..Run::default()
        };
        let range = Measurements::from_run("runs/x", &run).range("load_time").expect("is a time");
        assert_eq!(range, Some(Range { low: 2e-9, high: 2e-9, attempts: 3 }));
    }
}
