//! Claims, as they are written.

use crosstalk_core::value::{Levels, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A share: text in percent, or a ratio.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Share {
    Ratio(f64),
    Text(String),
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Some(match Share::deserialize(from)? {
        Share::Ratio(ratio) => ratio.to_string(),
        Share::Text(text) => text,
    }))
}

/// A statement that data can refute. Exactly one of `ratio`, `trend`, `order`, `peak`, `threshold`, `correlation`.
///
/// Where it names a metric, `latency p99` is a percentile of one, and `share time_wait` the share
/// that this part has in the time of the node that has the most to do; of readings with labels
/// `stage_time[stage=wake-up, way=there, band=p50]` are those that have these. Where it names a
/// factor, `[stage]` is what the readings' label `stage` tells apart within one cell.
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
    /// Margin of the size test, `"5 %"` or `0.05`: published ± margin, as a ratio.
    #[serde(default, deserialize_with = "share", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share>")]
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

impl Claim {
    /// Whether it is evidence that the study stands on: judged together with all others like it.
    pub fn is_primary_evidence(&self) -> bool {
        self.primary && self.calibration.is_none() && self.not_comparable.is_none()
    }

    /// The experiments that it speaks of, its own first, each with the key that names it.
    pub fn experiments(&self) -> impl Iterator<Item = (String, &str)> {
        let own = std::iter::once(("experiment".to_string(), self.experiment.as_str()));
        let over = self.ratio.iter().flat_map(|ratio| &ratio.over);
        let with = self.correlation.iter().flat_map(|correlation| &correlation.with).enumerate();
        own.chain(over.map(|name| ("ratio.over".to_string(), name.as_str())))
            .chain(with.map(|(place, name)| (format!("correlation.with.{place}"), name.as_str())))
    }
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
    /// Another experiment: the number is this ratio over the one of the same levels there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
}

/// The slope of log `metric` along `along` (per doubling where its levels are numbers, per step where they are words).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The metric.
    pub metric: String,
    /// The factor.
    pub along: String,
    /// Where given, of what `metric` has beyond that at these levels: the seconds that something costs, say.
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

/// Rank correlation of two metrics, or of a metric and another's ratio, over three cells or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// One metric.
    pub x: String,
    /// The other.
    pub y: String,
    /// Where given, `y` is its value at levels `of` over that at `to`. `x` is read at `to`, so that
    /// noise which both have speaks against their rising together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Sides>,
    /// Further experiments, whose cells count too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

/// What a ratio is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// Numerator's levels.
    pub of: Levels,
    /// Denominator's levels.
    pub to: Levels,
}
