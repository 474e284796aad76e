//! The journal's lines, and the samples agents send: one record for everything
//! that Crosstalk ever measures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::fidelity::Fidelity;
use crate::histogram::Histogram;
use crate::value::Levels;

/// The version of the journal's schema.
pub const JOURNAL_SCHEMA: &str = "crosstalk.journal/3";
/// The versions that are read. In the first, lines carry no checksums; in the second, neither their number nor
/// whose they are.
pub const JOURNAL_SCHEMAS: [&str; 3] = ["crosstalk.journal/1", "crosstalk.journal/2", JOURNAL_SCHEMA];

/// Where a number comes from. Never mixed silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Taken on the real thing.
    Measured,
    /// Taken on a virtual cluster.
    Emulated,
    /// Made by a simulator.
    Simulated,
    /// Made by a model fitted to measurements.
    Predicted,
    /// Follows from other numbers.
    Computed,
    /// Printed by somebody else.
    Published,
}

impl Origin {
    /// The word for it, for people; the same as in files.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Measured => "measured",
            Origin::Emulated => "emulated",
            Origin::Simulated => "simulated",
            Origin::Predicted => "predicted",
            Origin::Computed => "computed",
            Origin::Published => "published",
        }
    }
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Run times, latencies.
    Lower,
    /// Throughputs.
    Higher,
    /// Counts and parts that explain.
    Neither,
}

/// A metric's declaration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Its name, unique in a study.
    pub name: String,
    /// SI base unit (`s`, `B`, `bit/s`) or a plain word.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
}

impl Metric {
    /// A metric.
    pub fn new(name: &str, unit: &str, better: Better) -> Self {
        Metric { name: name.into(), unit: unit.into(), better }
    }
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// One number, in the metric's unit.
    Value(f64),
    /// A distribution; whole numbers of nanoseconds where the unit is `s`.
    Histogram(Histogram),
    /// Values in the order they were taken.
    Series(Vec<f64>),
}

/// Labels that carry matrices and breakdowns: `node peer role group stage from to size`.
pub type Labels = BTreeMap<String, String>;

/// One observation as an agent sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// A declared metric's name.
    pub metric: String,
    /// What was observed.
    #[serde(flatten)]
    pub observation: Observation,
    /// Which part of the scene it speaks of; empty for the whole.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// Where it comes from.
    pub origin: Origin,
}

impl Reading {
    /// One number.
    pub fn value(metric: &str, value: f64, origin: Origin) -> Self {
        Reading {
            metric: metric.into(),
            observation: Observation::Value(value),
            labels: Labels::new(),
            origin,
        }
    }

    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match &self.observation {
            Observation::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// A distribution.
    pub fn histogram(metric: &str, histogram: Histogram, origin: Origin) -> Self {
        Reading {
            metric: metric.into(),
            observation: Observation::Histogram(histogram),
            labels: Labels::new(),
            origin,
        }
    }

    /// A copy with a label added.
    #[must_use]
    pub fn label(mut self, name: &str, value: impl ToString) -> Self {
        self.labels.insert(name.into(), value.to_string());
        self
    }
}

/// How an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Begun; no later line for it means that it was cut short.
    Started,
    /// Finished, its samples count.
    Finished,
    /// Failed for the reason given; the study goes on.
    Failed,
    /// Cut short by the user; repeated on resume.
    Interrupted,
}

/// An attempt's number within a run.
pub type AttemptId = u64;

/// One line of `journal.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "line", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Line {
    /// Opens a run, or its resumption: schema version, study, seed, command line, unix time.
    Run { schema: String, study: String, version: String, seed: u64, command: String, quick: bool, at: f64 },
    /// Declares a metric before its first sample.
    Metric(Metric),
    /// One try at a cell; written when it starts and again when it ends. `at` is unix time in seconds.
    Attempt {
        attempt: AttemptId,
        experiment: String,
        /// Index into the experiment's cells in plan order.
        cell: usize,
        levels: Levels,
        block: usize,
        /// 1 for the first try of this cell in this block.
        #[serde(rename = "try")]
        turn: u32,
        status: Status,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fidelity: Option<Fidelity>,
        at: f64,
    },
    /// One observed value of an attempt. `at` is seconds since the attempt began.
    Sample {
        attempt: AttemptId,
        #[serde(flatten)]
        reading: Reading,
        at: f64,
        /// How many raw observations stand behind it.
        n: u64,
    },
    /// What the stopping rule said at a planned look.
    Decision { look: usize, blocks: usize, stop: bool, why: String },
    /// Closes the run.
    End { status: Status, why: String, at: f64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_reads_as_it_was_written() {
        let line = Line::Sample {
            attempt: 3,
            reading: Reading::value("run_time", 1.25, Origin::Emulated).label("node", 2),
            at: 0.5,
            n: 1,
        };
        let text = serde_json::to_string(&line).expect("writes");
        assert_eq!(
            text,
            r#"{"line":"sample","attempt":3,"metric":"run_time","value":1.25,"labels":{"node":"2"},"origin":"emulated","at":0.5,"n":1}"#
        );
        assert_eq!(serde_json::from_str::<Line>(&text).expect("reads"), line);
    }

    #[test]
    fn a_histogram_survives_its_line() {
        let mut histogram = Histogram::default();
        [5, 30_000].into_iter().for_each(|v| histogram.record(v));
        let reading = Reading::histogram("latency", histogram, Origin::Measured);
        let line = Line::Sample { attempt: 3, reading, at: 0.5, n: 2 };
        let text = serde_json::to_string(&line).expect("writes");
        assert_eq!(serde_json::from_str::<Line>(&text).expect("reads"), line);
    }
}
