//! The study file: what a person writes, as it is written.
//!
//! `study.toml` holds experiments (what happens, with which factors) and claims
//! (statements that the data can refute), and says what to draw. The JSON
//! Schema published in `docs/schema/study.json` is made from these types.

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
    /// Which comparison the deciding sentence is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// What `--quick` runs instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<Quick>,
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
    /// Conditions: `system`, `boards`, `fabric`, or a registered condition, to a value or `$factor`.
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
}

/// A workload with its parameters; a parameter `"$name"` takes the level of factor `name`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSpec {
    /// Registered name.
    pub kind: String,
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
    /// Taken from an earlier experiment of this study: the level at its metric's peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FromResult>,
    /// Optimised away: each cell counts at its best level, chosen on data apart from that which is compared.
    #[serde(default, skip_serializing_if = "no")]
    pub best: bool,
}

/// The level of `factor` at the peak of `metric` in `experiment`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FromResult {
    /// The earlier experiment.
    pub experiment: String,
    /// Its metric.
    pub metric: String,
    /// Its factor.
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
}

/// Which comparison the deciding sentence is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// The experiment.
    pub experiment: String,
    /// The level of the compared factor that is set against its base.
    pub level: Value,
    /// The other factors' levels.
    #[serde(default)]
    pub at: Levels,
    /// What the workload is called in the sentence ("PageRank on 1 master and 6 slaves").
    #[serde(default)]
    pub subject: String,
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

/// A statement that data can refute. Exactly one of `ratio`, `trend`, `order`, `peak`, `threshold`, `correlation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub statement: String,
    /// The experiment it speaks of.
    pub experiment: String,
    /// The levels it holds at.
    #[serde(default, rename = "where")]
    pub at: Levels,
    /// One group of cells over another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// Along a factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// Levels in a row, by a metric ascending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Where a metric is greatest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// A metric against a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// Two metrics over cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,
    /// Published values: an id of `published/*.csv`, or a number in the claim's own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The predicate on what is found: `"> 1"`, `"< 0"`, `">= 0.5"`. For `order` and `peak` it is what they state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// Margin of the size test, `"5 %"`: published ± margin, as a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<String>,
    /// Its figure set this parameter: no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// Why a stand-in makes it not comparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// Whether it counts among the study's primary claims (Holm's correction).
    #[serde(default = "yes")]
    pub primary: bool,
}

fn yes() -> bool {
    true
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Published {
    /// The number itself.
    Number(f64),
    /// An id of the published data; a percentage there is a change (+25.8 % is the ratio 1.258).
    Id(String),
}

/// `metric` at levels `of` over `metric` at levels `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The metric.
    pub metric: String,
    /// Numerator's levels.
    pub of: Levels,
    /// Denominator's levels.
    pub to: Levels,
}

/// The slope of log `metric` along `along` (per doubling where its levels are numbers, per step where they are words).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The metric.
    pub metric: String,
    /// The factor.
    pub along: String,
}

/// `factor`'s levels in ascending order of `metric`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The metric.
    pub metric: String,
    /// The factor.
    pub factor: String,
    /// Its levels, smallest metric first.
    pub ascending: Vec<Value>,
}

/// The level of `along` at which `metric` is greatest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// The metric.
    pub metric: String,
    /// The factor.
    pub along: String,
    /// Where it is claimed to be: one of these levels.
    pub among: Vec<Value>,
}

/// `metric` against the number in `expect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// The metric.
    pub metric: String,
}

/// Rank correlation of two metrics, or of a metric's gain, over cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// One metric.
    pub x: String,
    /// The other.
    pub y: String,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// For people.
    pub title: String,
    /// What to see in it.
    #[serde(default)]
    pub caption: String,
    /// Place among the figures.
    #[serde(default)]
    pub order: u32,
    /// The experiment.
    pub experiment: String,
    /// `lines`, `bars`, or `split` (computing, serialising, waiting stacked).
    pub kind: DrawAs,
    /// The metric; for `split` the common prefix of its parts (`time`).
    pub metric: String,
    /// The factor across.
    pub x: String,
    /// The factor that makes the series.
    pub series: String,
    /// Levels it is drawn at.
    #[serde(default, rename = "where")]
    pub at: Levels,
    /// Logarithmic axes: any of `x`, `y`.
    #[serde(default)]
    pub log: Vec<String>,
    /// Places across to point out by name: `{ MicroBlade = "2.5 Gbit/s" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, Value>,
    /// Draw each value over that of the cell with these levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Levels>,
    /// Ids of published values, with `{factor}` for levels: `kosmos/graph-analytics/completion-time/{system}/{slaves}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Levels that the ids spell otherwise: `{ kosmos-srio = "kosmos" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_as: BTreeMap<String, String>,
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawAs {
    /// A line a series.
    Lines,
    /// Groups of bars.
    Bars,
    /// Stacked parts of the time.
    Split,
}

/// What to tabulate: a row for each level of one factor, a column for each of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// For people.
    pub title: String,
    /// What stands in it.
    #[serde(default)]
    pub caption: String,
    /// Place among the tables.
    #[serde(default)]
    pub order: u32,
    /// The experiment.
    pub experiment: String,
    /// The metric.
    pub metric: String,
    /// The factor down.
    pub rows: String,
    /// The factor across.
    pub columns: String,
    /// Levels it is made at.
    #[serde(default, rename = "where")]
    pub at: Levels,
    /// Show each value over that of the cell with these levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Levels>,
    /// Ids of published values to set beside, with `{factor}` for levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Levels that the ids spell otherwise: `{ kosmos-srio = "kosmos" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_as: BTreeMap<String, String>,
}
