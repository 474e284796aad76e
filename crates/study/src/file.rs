//! The study file, as a person writes it.
//!
//! A study file holds experiments (scenes over levels of factors), claims (statements that data can refute), figures and
//! tables. The JSON Schema `docs/schema/study.json` and the reference pages are made from these types.

mod claim;
mod draw;

pub use claim::{Claim, Correlation, Order, Peak, Published, Ratio, Sides, Threshold, Trend};
pub use draw::{ColumnSpec, DrawAs, FigureSpec, Names, TableSpec};

use crate::key_lines::KeyLines;
use crate::predicate::{AsWritten, EquivalenceMargin};
use crosstalk_core::value::{Levels, Params, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the study format.
pub const STUDY_SCHEMA: &str = "crosstalk.study/1";

/// A study as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// `crosstalk.study/1`.
    pub schema: String,
    /// Its name [default: the file's name without `.toml`].
    #[serde(default)]
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// What it asks, in a few sentences.
    #[serde(default)]
    pub about: String,
    /// The publication it reproduces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cite: String,
    /// The interim analyses: numbers of blocks after which to analyse whether the data suffice, ascending. The last is the
    /// budget.
    #[serde(default = "default_looks")]
    pub looks: Vec<usize>,
    /// Seed of the order and of generated inputs.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Attempts at each cell before the first block, which do not count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup: usize,
    /// The comparison that the deciding sentence is about [default: the first one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// The part that `--quick` runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
    /// The part that `--engine NAME` runs, by the engine's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub engine: BTreeMap<String, OnEngine>,
    /// Experiments by name.
    pub experiment: BTreeMap<String, Experiment>,
    /// Claims by name.
    #[serde(default)]
    pub claim: BTreeMap<String, Claim>,
    /// Figures by name, drawn in `order`.
    #[serde(default)]
    pub figure: BTreeMap<String, FigureSpec>,
    /// Tables by name, shown in `order`.
    #[serde(default)]
    pub table: BTreeMap<String, TableSpec>,
    /// Remarks for the reader of the report, such as a contradiction in the publication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
    /// The lines of its keys, for faults; no part of what it says.
    #[serde(skip)]
    pub key_lines: KeyLines,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn default_looks() -> Vec<usize> {
    vec![12, 24, 48]
}

fn default_seed() -> u64 {
    1
}

/// A scene over the levels of its factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its title, for people.
    #[serde(default)]
    pub title: String,
    /// Workloads by a name for each: `{ kind = "pagerank", slaves = "$slaves" }`.
    pub work: BTreeMap<String, WorkSpec>,
    /// Conditions: `system`, `boards`, `uplink`, `rate`, `latency`, `memory`, `disk`, `mpi`, `ranks`, `fabric`, `scale`, or
    /// a registered condition. Each has a value or a `$factor`.
    #[serde(default)]
    pub conditions: BTreeMap<String, Value>,
    /// Registered observers.
    #[serde(default)]
    pub observe: Vec<String>,
    /// What is varied. Cells that differ in a factor named `aa` alone are equal: the experiment then measures the noise
    /// floor, and compares nothing.
    pub factors: BTreeMap<String, Factor>,
    /// Combinations that are not run: every cell with all levels of one entry.
    #[serde(default)]
    pub exclude: Vec<Levels>,
    /// The factor whose levels are compared with its `base`, at every combination of the other factors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// The most blocks that it runs in: curves need fewer than comparisons [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Remarks for the reader of its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
}

/// A workload with its parameters. A parameter `"$name"` takes the level of the factor `name`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSpec {
    /// The workload's registered name.
    pub kind: String,
    /// `"steady before NAME"`, for background work: it begins first, and NAME begins once it is steady. It ends when NAME
    /// has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Its parameters.
    #[serde(flatten)]
    pub params: Params,
}

/// What an experiment varies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Factor {
    /// Its levels.
    Listed(Vec<Value>),
    /// Its levels with their source and properties.
    Detailed(FactorSpec),
}

/// A factor whose levels have properties, are discovered, or come from an earlier result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorSpec {
    /// Listed levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Value>,
    /// Levels that claims may name but that are not run. `--set` puts replaced levels here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Value>,
    /// Costly to change: cells with equal levels stay together within a block (a split plot).
    #[serde(default, skip_serializing_if = "is_false")]
    pub hard: bool,
    /// Discovered on the host: `cores`, `devices` and others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<String>,
    /// The level at which an earlier experiment's metric is greatest. That experiment runs to its end before:
    /// `tasks = { from = { experiment = "load", metric = "jobs_per_minute", factor = "tasks" } }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FromResult>,
    /// Optimised away: each cell counts at its best level, which is chosen on other blocks than those compared.
    #[serde(default, skip_serializing_if = "is_false")]
    pub best: bool,
}

/// The level of `factor` at which `metric` is greatest in `experiment`, over all levels of its other factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromResult {
    /// The earlier experiment. It must not wait for this one.
    pub experiment: String,
    /// A metric that it reports.
    pub metric: String,
    /// The factor of that experiment whose level is taken.
    pub factor: String,
}

/// The comparisons of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The factor whose levels are compared.
    pub factor: String,
    /// The level the others are compared with.
    pub base: Value,
    /// The deciding metric [default: the workload's first]. A distribution counts by its median, or by a quantile:
    /// `latency p99`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Differences within this do not matter: `2 %`. Levels within it are *equivalent*, and end the run [default: 1 %].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub margin: Option<AsWritten<EquivalenceMargin>>,
}

/// The comparison that the deciding sentence is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// The experiment.
    pub experiment: String,
    /// The level of the compared factor that is compared with its base.
    pub level: Value,
    /// The base's name in the sentence, such as "without protection" [default: its level].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The other factors' levels.
    #[serde(default)]
    pub at: Levels,
    /// The workload's name in the sentence, such as "PageRank on 1 master and 6 slaves".
    #[serde(default)]
    pub subject: String,
}

/// The part of a study that an engine runs. Without such a section `--engine` runs every experiment whose workloads the
/// engine has.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnEngine {
    /// The divisor of every link's rate, where the engine runs in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// What it asks on this engine; replaces the study's `about`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Remarks for the reader of the report; replace the study's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
    /// Published sizes do not apply: claims are tested for their direction alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub directions_only: bool,
    /// Claims that are not comparable on this engine, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_comparable: BTreeMap<String, String>,
    /// Claims that are comparable on this engine, though the study says of its own that they are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparable: Vec<String>,
    /// The part that it runs.
    pub whole: Quick,
    /// The part that it runs with `--quick`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
}

/// The reduced form of a study (`--quick`): fewer cells and claims, the same rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Its interim analyses [default: the study's].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Vec<usize>>,
    /// Experiment → factor → the levels that are run. Other experiments are left out.
    #[serde(default)]
    pub experiment: BTreeMap<String, BTreeMap<String, Vec<Value>>>,
    /// Experiment → part → parameter → value, for smaller inputs.
    #[serde(default)]
    pub work: BTreeMap<String, BTreeMap<String, Params>>,
}
