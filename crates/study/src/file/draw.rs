//! Figures and tables, as they are written.

use crosstalk_core::value::{Levels, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A figure. A name in brackets in the place of a factor, `[stage]`, is a label of readings within one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its title, for people.
    pub title: String,
    /// What it shows.
    #[serde(default)]
    pub caption: String,
    /// Its position among the figures.
    #[serde(default)]
    pub order: u32,
    /// The experiment.
    pub experiment: String,
    /// `lines`, `bars`, `split` (the parts of the busiest node's time, stacked), `nodes` (the same of every node), `waterfall`
    /// (steps, each from the end of the one before), `heat` (a field for each pair of levels), `frontier` (one metric
    /// against another, and the levels that no other dominates) or `fit` (one metric against another, and the straight line
    /// through the points).
    pub kind: DrawAs,
    /// The metric; for `split` and `nodes` the common prefix of its parts (`time`).
    pub metric: String,
    /// Further metrics of the same unit, each a series of its own: `["latency p99"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The factor across; of `waterfall` its steps; of `frontier` and `fit` a metric. With
    /// `relative_to` that of `fit` is read at the cell with those levels: a gain against what the base spends.
    pub x: String,
    /// The factor whose levels make the series; of `heat` the rows, of `frontier` and `fit` the points. Several factors of
    /// these two make a point for each combination. `nodes` has none, and a figure with `also` needs none.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub series: Names,
    /// The levels at which it is drawn.
    #[serde(default, rename = "where")]
    pub at: Levels,
    /// Logarithmic axes: any of `x`, `y`.
    #[serde(default)]
    pub log: Vec<String>,
    /// Named positions across: `{ MicroBlade = "2.5 Gbit/s" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, Value>,
    /// Draws each value as a ratio to that of the cell with these levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Levels>,
    /// A template of published values' ids, with `{factor}` for levels:
    /// `kosmos/graph-analytics/completion-time/{system}/{slaves}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Levels with another spelling in the ids: `{ kosmos-srio = "kosmos" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_as: BTreeMap<String, String>,
}

impl FigureSpec {
    /// All metrics that the figure draws.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.metric).chain(&self.also).map(String::as_str)
    }

    /// The factor that makes the series, the first of several; empty where there is none.
    pub fn series_factor(&self) -> &str {
        self.series.all().first().map_or("", String::as_str)
    }
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawAs {
    /// A line for each series.
    Lines,
    /// Groups of bars.
    Bars,
    /// Stacked parts of the time at the busiest node.
    Split,
    /// Stacked parts of the time, a bar for each node.
    Nodes,
    /// For each series a bar for each step, from the end of the one before, and one for their sum.
    Waterfall,
    /// A field for each level across and each series: darker is more.
    Heat,
    /// A point for each level, one metric against another. Points that no other dominates are joined.
    Frontier,
    /// A point for each level, one metric against another, and the straight line through them.
    Fit,
}

impl DrawAs {
    /// Whether points lie at one metric across and another upward.
    pub fn is_of_two_metrics(self) -> bool {
        matches!(self, DrawAs::Frontier | DrawAs::Fit)
    }

    /// Whether it shows parts of nodes' time.
    pub fn of_parts(self) -> bool {
        matches!(self, DrawAs::Split | DrawAs::Nodes)
    }
}

/// A table: a row for each level of one factor, and a column for each level of another, or listed columns. A name in
/// brackets in the place of a factor, `[stage]`, is a label of readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its title, for people.
    pub title: String,
    /// What it shows.
    #[serde(default)]
    pub caption: String,
    /// Its position among the tables.
    #[serde(default)]
    pub order: u32,
    /// The experiment.
    pub experiment: String,
    /// The metric, where the columns are levels.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The factor whose levels are the rows, or several with a row for each combination; without any there is one row.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub rows: Names,
    /// The factor whose levels are the columns.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub columns: String,
    /// Listed columns, instead of `metric` and `columns`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<ColumnSpec>,
    /// The levels at which it is made.
    #[serde(default, rename = "where")]
    pub at: Levels,
    /// Shows each value as a ratio to that of the cell with these levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Levels>,
    /// A template of published values' ids, with `{factor}` for levels: a further column for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Levels with another spelling in the ids: `{ kosmos-srio = "kosmos" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_as: BTreeMap<String, String>,
}

/// One column of a table: a metric, or published values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its head.
    pub title: String,
    /// The metric that it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Instead: a template of published values' ids, with `{factor}` for levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Shows each value as a ratio to that of the cell with these levels; replaces the table's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<Levels>,
}

/// A name, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Names {
    /// All names.
    pub fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }
}

impl Default for Names {
    fn default() -> Self {
        Names::Several(Vec::new())
    }
}
