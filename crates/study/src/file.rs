//! The study file: what a person writes, as it is written.
//!
//! `study.toml` holds experiments (what happens, with which factors) and claims
//! (statements that the data can refute), and says what to draw. The JSON
//! Schema published in `docs/schema/study.json` is made from these types.

mod claim;
mod draw;

pub use claim::{Claim, Correlation, Order, Peak, Published, Ratio, Sides, Threshold, Trend};
pub use draw::{ColumnSpec, DrawAs, FigureSpec, Names, TableSpec};

use crate::written::Written;
use crosstalk_core::value::{Levels, Params, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the study format.
pub const STUDY_SCHEMA: &str = "crosstalk.study/1";

/// A study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// `crosstalk.study/1`.
    pub schema: String,
    /// Its name; the file's name without `.toml` where not given.
    #[serde(default)]
    pub name: String,
    /// For people.
    pub title: String,
    /// What it asks, in a few sentences.
    #[serde(default)]
    pub about: String,
    /// The publication it reproduces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cite: String,
    /// Blocks at which to look whether the data suffice, ascending; the last is the budget.
    #[serde(default = "default_looks")]
    pub looks: Vec<usize>,
    /// Seed of the order and of generated inputs.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Attempts at each cell that are run before the first block, and do not count.
    #[serde(default, skip_serializing_if = "none")]
    pub warmup: usize,
    /// Which comparison the deciding sentence is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// What `--quick` runs instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
    /// What `--engine NAME` runs instead, by the engine's name.
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
    /// What a reader must be told, such as a contradiction in the publication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
    /// Where its keys stand, for faults; no part of what it says.
    #[serde(skip)]
    pub written: Written,
}

fn no(flag: &bool) -> bool {
    !*flag
}

fn none(count: &usize) -> bool {
    *count == 0
}

fn default_looks() -> Vec<usize> {
    vec![12, 24, 48]
}

fn default_seed() -> u64 {
    1
}

/// What happens, with which factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// For people.
    #[serde(default)]
    pub title: String,
    /// Workloads by the part they play: `{ kind = "pagerank", slaves = "$slaves" }`.
    pub work: BTreeMap<String, WorkSpec>,
    /// Conditions: `system`, `boards`, `rate`, `latency`, `memory`, `fabric`, `scale`, or a registered condition, to a value or `$factor`.
    #[serde(default)]
    pub conditions: BTreeMap<String, Value>,
    /// Registered observers.
    #[serde(default)]
    pub observe: Vec<String>,
    /// What is varied. Cells that differ in a factor named `aa` alone are equal: the experiment then
    /// measures the noise floor, and asks nothing.
    pub factors: BTreeMap<String, Factor>,
    /// Combinations that are not run: every cell that has all the levels of one entry.
    #[serde(default)]
    pub exclude: Vec<Levels>,
    /// The factor whose levels are compared, pair by pair with `base`, at every combination of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// The most blocks it runs in: for curves, which need less than what is decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// What a reader of its figures must be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
}

/// A workload with its parameters; a parameter `"$name"` takes the level of factor `name`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSpec {
    /// Registered name.
    pub kind: String,
    /// `"steady before NAME"`, of work that lasts: it begins first, work NAME once it is steady,
    /// and it ends when that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Its parameters.
    #[serde(flatten)]
    pub params: Params,
}

/// What is varied.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Factor {
    /// Its levels.
    Listed(Vec<Value>),
    /// Its levels and how they are come by.
    Detailed(FactorSpec),
}

/// A factor whose levels are listed with properties, discovered, taken from a result, or optimised away.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorSpec {
    /// Listed levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Value>,
    /// Levels that claims may name but that are not run; `--set` puts the ones it replaces here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Value>,
    /// Costly to change: randomised between blocks, analysed as a split plot.
    #[serde(default, skip_serializing_if = "no")]
    pub hard: bool,
    /// Found on the host: `cores`, `devices` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discover: Option<String>,
    /// Taken from an earlier experiment of this study, which is run to its end before: the level at its metric's peak,
    /// `tasks = { from = { experiment = "load", metric = "jobs_per_minute", factor = "tasks" } }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FromResult>,
    /// Optimised away: each cell counts at its best level, chosen on data apart from that which is compared.
    #[serde(default, skip_serializing_if = "no")]
    pub best: bool,
}

/// The level of `factor` at which `metric` is greatest in `experiment`, whatever its other factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromResult {
    /// The earlier experiment. It must not wait for this one.
    pub experiment: String,
    /// A metric that it reports.
    pub metric: String,
    /// A factor of its, whose levels this one's is one of.
    pub factor: String,
}

/// Which comparisons an experiment decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// The factor whose levels are compared.
    pub factor: String,
    /// The level the others are compared with.
    pub base: Value,
    /// The metric; the workload's first where not given. Of a distribution its median, or the quantile that is named: `latency p99`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Differences within this do not matter: `2 %`. What lies inside is *equivalent*, and ends the run [default: 1 %].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<String>,
}

/// Which comparison the deciding sentence is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// The experiment.
    pub experiment: String,
    /// The level of the compared factor that is set against its base.
    pub level: Value,
    /// What the base is called in the sentence ("without protection"); its level where not given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// The other factors' levels.
    #[serde(default)]
    pub at: Levels,
    /// What the workload is called in the sentence ("PageRank on 1 master and 6 slaves").
    #[serde(default)]
    pub subject: String,
}

/// What an engine runs of a study. Without such a section `--engine` runs every
/// experiment whose workloads the engine has.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnEngine {
    /// What every link's rate is divided by, where the engine runs in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// What it asks on this engine, in the place of the study's own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What a reader must be told of this engine, in the place of the study's remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<String>,
    /// Published sizes do not apply: claims are tested for their direction alone, and say so.
    #[serde(default, skip_serializing_if = "no")]
    pub directions_only: bool,
    /// Claims that it cannot speak of, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_comparable: BTreeMap<String, String>,
    /// What it runs.
    pub whole: Quick,
    /// What it runs with `--quick`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
}

/// What `--quick` runs instead: fewer cells, fewer claims, the same rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Planned looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Vec<usize>>,
    /// Experiment → factor → the levels that remain. Experiments not named are left out.
    #[serde(default)]
    pub experiment: BTreeMap<String, BTreeMap<String, Vec<Value>>>,
    /// Experiment → part → parameter → value, for smaller inputs.
    #[serde(default)]
    pub work: BTreeMap<String, BTreeMap<String, Params>>,
}
