//! Figures and tables, as they are written.

use crosstalk_core::value::{Levels, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// `lines`, `bars`, `split` (computing, serialising, waiting stacked, at the busiest node), or `nodes` (the same at every node).
    pub kind: DrawAs,
    /// The metric; for `split` and `nodes` the common prefix of its parts (`time`).
    pub metric: String,
    /// The factor across.
    pub x: String,
    /// The factor that makes the series; none for `nodes`, where every node has a bar.
    #[serde(default, skip_serializing_if = "String::is_empty")]
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
    /// Stacked parts of the time at the busiest node.
    Split,
    /// Stacked parts of the time, a bar a node.
    Nodes,
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
