//! Claims, as they are written.

use crosstalk_core::value::{Levels, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predicate::{AsWritten, Predicate, SizeMargin};

/// The form of a margin in the schema: text in percent, or a ratio.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema alone is made from it")]
enum Share {
    Ratio(f64),
    Text(String),
}

/// A statement that data can refute. Exactly one of `ratio`, `trend`, `order`, `peak`, `threshold`, `correlation`.
///
/// A metric may be a percentile, `latency p99`; the share of a part in the busiest node's time, `share time_wait`; or readings
/// with certain labels, `stage_time[stage=wake-up, way=there, band=p50]`. A name in brackets in the place of a factor,
/// `[stage]`, is a label of readings within one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub statement: String,
    /// The experiment that it is about.
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
    /// Levels in the order of a metric.
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
    /// The predicate on the number that is found: `"> 1"`, `"< 0"`, `">= 0.5"`. `order` and `peak` need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expect: Option<AsWritten<Predicate>>,
    /// Margin of the size test, `"5 %"` or `0.05`: published ± margin, as a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
    pub margin: Option<AsWritten<SizeMargin>>,
    /// Why only its direction is compared, where a size is published, and no margin is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_not_comparable: Option<String>,
    /// The parameter that its published figure set: the claim is then no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// Why the model's parameters imply it whatever the work does, where that follows from more than one cluster being the
    /// costlier one in every parameter: the claim is then no evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implied: Option<String>,
    /// Why it is not comparable: a stand-in removes the published cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// Whether it is judged together with the study's other questions (Holm's correction).
    #[serde(default = "default_true")]
    pub primary: bool,
}

impl Claim {
    /// Whether its kind states what is expected, so that it needs no predicate.
    pub fn states_itself(&self) -> bool {
        self.order.is_some() || self.peak.is_some()
    }

    /// Whether it may be evidence: neither a calibration, implied nor a stand-in.
    pub fn is_evidence(&self) -> bool {
        [&self.calibration, &self.implied, &self.not_comparable].into_iter().all(Option::is_none)
    }

    /// Whether it is judged together with the study's other questions.
    pub fn is_primary_evidence(&self) -> bool {
        self.primary && self.is_evidence()
    }

    /// The metrics that it is about, as it writes them.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let one = [
            self.ratio.as_ref().map(|ratio| &ratio.metric),
            self.trend.as_ref().map(|trend| &trend.metric),
            self.order.as_ref().map(|order| &order.metric),
            self.peak.as_ref().map(|peak| &peak.metric),
            self.threshold.as_ref().map(|threshold| &threshold.metric),
            self.correlation.as_ref().map(|correlation| &correlation.x),
            self.correlation.as_ref().map(|correlation| &correlation.y),
        ];
        one.into_iter().flatten().map(String::as_str)
    }

    /// The experiments that it is about, each with the key that names it; that of `experiment` first.
    pub fn experiments(&self) -> impl Iterator<Item = (String, &str)> {
        let own = std::iter::once(("experiment".to_string(), self.experiment.as_str()));
        let over = self.ratio.iter().flat_map(|ratio| &ratio.over);
        let with = self.correlation.iter().flat_map(|correlation| &correlation.with).enumerate();
        own.chain(over.map(|name| ("ratio.over".to_string(), name.as_str())))
            .chain(with.map(|(index, name)| (format!("correlation.with.{index}"), name.as_str())))
    }
}

fn default_true() -> bool {
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
    /// The numerator's levels.
    pub of: Levels,
    /// The denominator's levels.
    pub to: Levels,
    /// Another experiment: the number is this ratio over the ratio of the same levels there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The same experiment at other levels: the number is this ratio over the same ratio with these levels put in. Says
    /// whether it depends on them, such as `{ scale = 17 }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Levels>,
}

/// The slope of log `metric` along the factor `along`: per doubling of levels that are numbers, per step of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The metric.
    pub metric: String,
    /// The factor.
    pub along: String,
    /// The metric counts less its value at these levels: for example the seconds that something costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Levels>,
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
    /// The claimed level is one of these.
    pub among: Vec<Value>,
}

/// `metric` against the number in `expect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// The metric.
    pub metric: String,
}

/// Rank correlation of two metrics, or of a metric and another's ratio, over three cells or more. `x` is that of the block
/// before: noise of a block that both share would make equal cells correlate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// One metric.
    pub x: String,
    /// The other.
    pub y: String,
    /// `y` counts as its ratio of levels `of` to levels `to`, and `x` is taken at `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Sides>,
    /// Further experiments whose cells count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

/// The two sides of a ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// The numerator's levels.
    pub of: Levels,
    /// The denominator's levels.
    pub to: Levels,
}
