//! What was measured, as times that can stand in components' places.

use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::name::unknown;
use crosstalk_core::record::{Labels, Metric, Reading};
use std::collections::{BTreeMap, BTreeSet};

use crate::analyse::counts;
use crate::analyse::summary;
use crate::query::MetricQuery;
use crate::samples::Run;

/// Readings with what their metrics are, attempt by attempt.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Where they come from, for people.
    pub from: String,
    metrics: BTreeMap<String, Metric>,
    /// Of each attempt that counts its cell, where a run has several, and its readings.
    attempts: Vec<(Option<CellId>, Vec<Reading>)>,
}

/// From the least to the most that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Seconds.
    pub low: f64,
    /// Seconds.
    pub high: f64,
    /// Attempts behind it.
    pub attempts: usize,
}

impl Measured {
    /// What one instrument told, once.
    pub fn once(from: &str, metrics: Vec<Metric>, readings: Vec<Reading>) -> Self {
        Measured::new(from, metrics, vec![(None, readings)])
    }

    /// What a run told, of the attempts that count.
    pub fn run(from: &str, run: &Run) -> Self {
        let counted = run.attempts.iter().filter(|attempt| counts(attempt));
        let readings =
            |attempt: &crate::samples::Attempt| (Some(attempt.cell.clone()), attempt.readings.clone());
        Measured::new(from, run.metrics.clone(), counted.map(readings).collect())
    }

    fn new(from: &str, metrics: Vec<Metric>, attempts: Vec<(Option<CellId>, Vec<Reading>)>) -> Self {
        let metrics = metrics.into_iter().map(|metric| (metric.name.clone(), metric)).collect();
        Measured { from: from.to_string(), metrics, attempts }
    }

    /// What is asked for (`load_time[size=65536]`, `latency p99`): of each thing that its labels
    /// and its cell tell apart the median over its attempts, and of these the least and the most.
    /// `None` where nothing of it was measured.
    ///
    /// # Errors
    /// A usage fault where it is no time.
    pub fn range(&self, asked: &str) -> Result<Option<Range>, Fault> {
        let asked = MetricQuery::new(asked);
        let Some(metric) = self.metrics.get(asked.metric) else { return Ok(None) };
        if metric.unit != "s" {
            let why = format!("`{}` is no time: its unit is `{}`", metric.name, metric.unit);
            return Err(Fault::usage(why).remedy("name a metric in seconds"));
        }
        let mut things: BTreeMap<(&Option<CellId>, &Labels), Vec<f64>> = BTreeMap::new();
        for (cell, readings) in &self.attempts {
            for reading in readings {
                let value = summary(std::slice::from_ref(reading), &asked, metric);
                if let Some(value) = value.filter(|value| *value >= 0.0) {
                    things.entry((cell, &reading.labels)).or_default().push(value);
                }
            }
        }
        let attempts = things.values().map(Vec::len).sum();
        let medians = || things.values().filter_map(|values| middle(values));
        let (low, high) = (medians().reduce(f64::min), medians().reduce(f64::max));
        Ok(low.zip(high).map(|(low, high)| Range { low, high, attempts }))
    }

    /// The fault of what was not measured: the metric, with the nearest that was, or one of its
    /// readings with such labels, with those that there are.
    pub fn lacks(&self, asked: &str) -> Fault {
        let name = MetricQuery::new(asked).metric;
        let all = self.attempts.iter().flat_map(|(_, readings)| readings);
        let labels: BTreeSet<String> = all
            .filter(|reading| reading.metric == name)
            .flat_map(|reading| reading.labels.iter().map(|(label, value)| format!("{label}={value}")))
            .collect();
        if !labels.is_empty() {
            let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
            return Fault::usage(format!("nothing that was measured is `{asked}`"))
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
    fn of_several_things_it_is_from_the_least_to_the_most() {
        let readings = vec![load(4096, 0, 1e-9), load(65_536, 0, 90e-9), load(65_536, 1, 140e-9)];
        let measured = Measured::once("memory.json", metrics(), readings);
        let range = measured.range("load_time[size=65536]").expect("is a time").expect("was measured");
        assert_eq!(range, Range { low: 90e-9, high: 140e-9, attempts: 2 });
        assert_eq!(measured.range("load_time[size=1]"), Ok(None));
        assert_eq!(measured.range("access_time"), Ok(None));
        assert!(measured.range("huge_pages").is_err_and(|fault| fault.to_string().contains("no time")));
        assert!(measured.lacks("load_tim").to_string().contains("memory.json"));
        let fault = measured.lacks("load_time[core=1]");
        assert_eq!(fault.message, "nothing that was measured is `load_time[core=1]`");
        assert!(fault.remedy.is_some_and(|remedy| remedy.ends_with("node=0, node=1, size=4096, size=65536")));
    }

    #[test]
    fn of_a_run_it_is_the_median_over_the_attempts_that_count() {
        let attempt = |block, status, time| crate::samples::Attempt {
            id: block as u64,
            cell: CellId::new("memory", Levels::new()),
            block,
            turn: 1,
            status,
            reason: None,
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
        let range = Measured::run("runs/x", &run).range("load_time").expect("is a time");
        assert_eq!(range, Some(Range { low: 2e-9, high: 2e-9, attempts: 3 }));
    }
}
