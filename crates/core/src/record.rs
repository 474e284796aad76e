//! The lines of the journal, and the readings that agents send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::fidelity::Fidelity;
use crate::histogram::Histogram;
use crate::value::Levels;

/// The version of the journal's schema.
pub const JOURNAL_SCHEMA: &str = "crosstalk.journal/3";
/// The versions that are read. Lines of version 1 have no checksum; lines of version 2 have no line number and no
/// run number.
pub const JOURNAL_SCHEMAS: [&str; 3] = ["crosstalk.journal/1", "crosstalk.journal/2", JOURNAL_SCHEMA];

/// How a number was obtained. Numbers of different origins are never mixed without notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Measured on the real system.
    Measured,
    /// Measured on an emulated cluster.
    Emulated,
    /// Computed by a simulator.
    Simulated,
    /// Computed by a model that was fitted to measurements.
    Predicted,
    /// Computed from other numbers.
    Computed,
    /// Published by others.
    Published,
}

impl Origin {
    /// Whether a number is the same in each block: computed, or replayed from work that was done once.
    pub fn is_same_in_each_block(self) -> bool {
        matches!(self, Origin::Computed | Origin::Simulated)
    }

    /// Its word, for people and in files: `measured`, `emulated`, …
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

/// Whether lower or higher values of a metric are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Lower values, as of run times and latencies.
    Lower,
    /// Higher values, as of throughputs.
    Higher,
    /// Neither, as of counts and shares that only explain.
    Neither,
}

/// The declaration of a metric: name, unit, and which values are better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Its name, unique in a study.
    pub name: String,
    /// SI base unit (`s`, `B`, `bit/s`) or a plain word.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// What is measured, for the reference; empty if the name says it. No record has it.
    #[serde(skip)]
    pub meaning: &'static str,
    /// Whether every value is above zero, as a time that work takes. No record has it.
    #[serde(skip)]
    pub above_zero: bool,
}

impl Metric {
    /// A metric of that name, unit and direction.
    pub fn new(name: &str, unit: &str, better: Better) -> Self {
        Metric { name: name.into(), unit: unit.into(), better, meaning: "", above_zero: false }
    }

    /// The same with its meaning.
    pub fn meaning(self, meaning: &'static str) -> Self {
        Metric { meaning, ..self }
    }

    /// Whether both say the same of a metric's values to their reader: name, unit, direction and meaning.
    pub fn means_the_same(&self, other: &Metric) -> bool {
        (&self.name, &self.unit, self.better, self.meaning)
            == (&other.name, &other.unit, other.better, other.meaning)
    }

    /// The same, of which every value is above zero.
    pub fn above_zero(self) -> Self {
        Metric { above_zero: true, ..self }
    }
}

/// An observed value, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Observation {
    /// One number.
    Value(f64),
    /// A distribution. Where the unit is `s`: of whole nanoseconds.
    Histogram(Histogram),
    /// Several numbers, in the order of measurement.
    Series(Vec<f64>),
}

/// Labels of matrices and breakdowns: `node peer role group stage from to size`.
pub type Labels = BTreeMap<String, String>;

/// One observation of a metric, as an agent sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// A declared metric's name.
    pub metric: String,
    /// The observed value.
    #[serde(flatten)]
    pub observation: Observation,
    /// The part of the scene that it is about. Empty: the whole scene.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// How it was obtained.
    pub origin: Origin,
}

impl Reading {
    /// A reading of one number.
    pub fn value(metric: &str, value: f64, origin: Origin) -> Self {
        Reading {
            metric: metric.into(),
            observation: Observation::Value(value),
            labels: Labels::new(),
            origin,
        }
    }

    /// The number, if the reading is one number.
    pub fn number(&self) -> Option<f64> {
        match &self.observation {
            Observation::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// A reading of a distribution.
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

/// The state of an attempt or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It has begun. Without a later line for it, it was cut short.
    Started,
    /// It finished; its samples count.
    Finished,
    /// It failed for the given reason; the study continues.
    Failed,
    /// The user interrupted it. It is repeated on resume.
    Interrupted,
}

/// The number of an attempt within a run.
pub type AttemptId = u64;

/// One line of the journal, `journal.ndjson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "line", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Line {
    /// Opens a run, or its resumption: schema version, study, seed, command line, Unix time in seconds.
    Run { schema: String, study: String, version: String, seed: u64, command: String, quick: bool, at: f64 },
    /// Declares a metric before its first sample.
    Metric(Metric),
    /// One attempt at a cell, written when it starts and when it ends. `at` is the Unix time in seconds.
    Attempt {
        attempt: AttemptId,
        experiment: String,
        /// The index of the cell in its experiment, in plan order.
        cell: usize,
        levels: Levels,
        block: usize,
        /// 1 for the first try of this cell in this block.
        #[serde(rename = "try")]
        try_number: u32,
        status: Status,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fidelity: Option<Fidelity>,
        at: f64,
    },
    /// A reading of an attempt. `at` is in seconds since the attempt began.
    Sample {
        attempt: AttemptId,
        #[serde(flatten)]
        reading: Reading,
        at: f64,
        /// The number of raw observations behind it.
        n: u64,
    },
    /// The stopping rule's decision at a planned interim analysis, number `look` from 0.
    Decision { look: usize, blocks: usize, stop: bool, why: String },
    /// Closes the run. `at` is the Unix time in seconds.
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
    fn a_histogram_is_the_same_after_its_line() {
        let mut histogram = Histogram::default();
        [5, 30_000].into_iter().for_each(|v| histogram.record(v));
        let reading = Reading::histogram("latency", histogram, Origin::Measured);
        let line = Line::Sample { attempt: 3, reading, at: 0.5, n: 2 };
        let text = serde_json::to_string(&line).expect("writes");
        assert_eq!(serde_json::from_str::<Line>(&text).expect("reads"), line);
    }
}
