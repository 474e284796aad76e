//! Figures and tables, as they are written.

use crosstalk_core::value::{Levels, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to draw. Where it names a factor, `[stage]` is what the readings' label `stage` tells
/// apart within one cell.
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
    /// `lines`, `bars`, `split` (computing, serialising, waiting stacked, at the busiest node), `nodes` (the same at every node), `waterfall` (steps, each from where the one before ended), `heat` (a field for every two levels) or `frontier` (one metric against another, and the levels that no other beats in both).
    pub kind: DrawAs,
    /// The metric; for `split` and `nodes` the common prefix of its parts (`time`).
    pub metric: String,
    /// Further metrics of the same unit, drawn as series of their own: `["latency p99"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The factor across; of a waterfall its steps; of `frontier` the metric across.
    pub x: String,
    /// The factor that makes the series, of `heat` the rows, of `frontier` the points, which several may make: a point each combination; none for `nodes`, where every node has a bar, and where `also` tells the series apart.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub series: Names,
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

impl FigureSpec {
    /// Everything it draws.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.metric).chain(&self.also).map(String::as_str)
    }

    /// The factor that makes the series, the first where several do; empty where none does.
    pub fn by(&self) -> &str {
        self.series.all().first().map_or("", String::as_str)
    }
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawAs {
    /// A line a series.
    Lines,
    /// Groups of bars.
    Bars,
    /// Stacked parts of the time at the busiest node.
    Split,
    /// Stacked parts of the time, a bar a node.
    Nodes,
    /// For each series a bar a step, from where the one before ended, and one for all.
    Waterfall,
    /// A field for each place across and each series, the darker the more.
    Heat,
    /// A point a level, one metric against another; those that no other beats in both are joined.
    Frontier,
}

impl DrawAs {
    /// Whether it is made of the parts of nodes' time.
    pub fn of_parts(self) -> bool {
        matches!(self, DrawAs::Split | DrawAs::Nodes)
    }
}

/// What to tabulate: a row for each level of one factor, a column for each of another, or those
/// that are listed. Where it names a factor, `[stage]` is a label of the readings.
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
    /// The metric, where the columns are levels.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The factor down, or several, of which each combination is a row; one row where there is none.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub rows: Names,
    /// The factor across.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub columns: String,
    /// Columns of different kinds, in the place of `metric` and `columns`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<ColumnSpec>,
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

/// One column of a table: a metric, or published values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its head.
    pub title: String,
    /// What was found of this metric;
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// or ids of published values, with `{factor}` for levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Show each value over that of the cell with these levels, whatever the table does.
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
    /// All of them.
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
