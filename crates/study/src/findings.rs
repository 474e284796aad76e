//! What a run found: everything a reader is shown, computed. Renderers format
//! it and do no arithmetic. Written as `findings.json`; numbers in SI base units.

use crosstalk_core::cell::CellId;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::Levels;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of this schema.
pub const FINDINGS_SCHEMA: &str = "crosstalk.findings/2";

/// Everything a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// [`FINDINGS_SCHEMA`].
    pub schema: String,
    /// The study's name.
    pub study: String,
    /// The study's title, for people.
    pub title: String,
    /// The sentence to forward.
    pub headline: Headline,
    /// How the run went.
    pub run: RunSummary,
    /// Every claim with its verdict, by verdict and name.
    pub claims: Vec<ClaimFinding>,
    /// Every comparison: those that were decided first, as they were planned among themselves.
    pub comparisons: Vec<Comparison>,
    /// What to draw.
    pub figures: Vec<Figure>,
    /// What to tabulate.
    pub tables: Vec<Table>,
    /// Per cell: how many attempts counted, failed, were not faithful.
    pub cells: Vec<CellFinding>,
    /// Things a reader must know before believing: contradictions, failed checks (what the testbed is not stands in `run.absences`). Each with its remedy where there is one.
    pub warnings: Vec<String>,
    /// Where parameters come from: name → text, calibrations marked.
    pub sources: Vec<SourceNote>,
    /// What the machine was when the run began, by node.
    pub provenance: BTreeMap<String, Provenance>,
}

/// The deciding sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// "kosmos-srio: 1.26 × faster than microblade (1.22–1.30); 92 % of the difference is waiting for the network".
    pub text: String,
    /// How often was run, on how many nodes, and what either side showed: for who knows no statistics. Empty where
    /// nothing was compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What it compares, to draw: the base first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<HeadlineBar>,
    /// The unit of the bars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// False where nothing could be decided: the text then says what is missing.
    pub decided: bool,
    /// The command that repeats the run.
    pub command: String,
}

/// One side of the comparison that the deciding sentence is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeadlineBar {
    /// Its level, for people.
    pub label: String,
    /// What it showed.
    pub value: Estimate,
}

/// How the run went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Unix time of the first line, seconds.
    pub began: f64,
    /// How long it took in all, seconds.
    pub seconds: f64,
    /// Crosstalk's version.
    pub version: String,
    /// The seed of the plan's order.
    pub seed: u64,
    /// Whether `--quick` cut it down.
    pub quick: bool,
    /// Blocks completed.
    pub blocks: usize,
    /// "stopped at look 2 of 3 (24 blocks)", "the budget ended after 17 blocks" …
    pub ended: String,
    /// Attempts by status: `finished`, `failed`, `not faithful` …
    pub attempts: BTreeMap<String, usize>,
    /// What the run could tell, by metric: every metric that was asked about, measured or not.
    pub noise: Vec<NoiseFloor>,
    /// What the testbed does not have that a real cluster would.
    pub absences: Vec<String>,
}

/// How far equal cells differed in one metric (A/A), and what could be found beyond it:
/// of the blocks that the verdicts rest on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// The metric; nothing is said of another.
    pub metric: String,
    /// The equal cells that were run twice, in words; empty where none have this metric.
    pub cells: Vec<String>,
    /// Blocks in which they were.
    pub blocks: usize,
    /// The 95 % upper bound on the relative difference of the noisiest pair, as a ratio − 1;
    /// `None` where it is not known.
    pub floor: Option<f64>,
    /// Beyond which a direction counts, as a ratio − 1: the floor, or what was stated beforehand.
    pub margin: f64,
    /// For how many comparisons it is the margin.
    pub comparisons: usize,
    /// The smallest effects, as a ratio − 1, that the comparison which could tell most and the one
    /// which could tell least would have found with probability 0.8; never below `margin`.
    pub detectable: Option<(f64, f64)>,
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point.
    pub value: f64,
    /// The interval's ends, where it has one.
    pub interval: Option<(f64, f64)>,
    /// How many blocks, or for published values sources, stand behind it.
    pub n: usize,
}

/// The verdict on a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// The interval lies on the good side, beyond the margin.
    Better,
    /// The interval lies on the bad side.
    Worse,
    /// Within the margin, by two one-sided tests.
    Equivalent,
    /// The data do not decide.
    Inconclusive,
}

/// Two cells compared over their common blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The experiment.
    pub experiment: String,
    /// The metric and its unit.
    pub metric: String,
    /// Which way is better.
    pub better: Better,
    /// The factor that differs.
    pub factor: String,
    /// Its level in the base cell.
    pub base: String,
    /// Its level in the other cell.
    pub other: String,
    /// The levels both share.
    pub at: Levels,
    /// Other over base.
    pub ratio: Estimate,
    /// The same, above 1 where the other level is better: base over other where lower is better.
    pub gain: Estimate,
    /// What follows.
    pub verdict: ComparisonVerdict,
    /// "1.26 × faster than microblade (1.22–1.30)"; where no direction is found "no difference larger than 3.1 % (…)";
    /// where nothing can be "too few runs (5; 6 or more decide)";
    /// where links were scaled down and latency, which was not, could decide, "no verdict: latency is not scaled".
    /// What is equivalent and was made by a model is of this machine's noise alone, and says so.
    pub change: String,
    /// The difference that does not matter, as a ratio − 1: *equivalent* is what lies within it. The stated one, or
    /// what equal cells differed by where an equivalence was found within that, being more.
    pub margin: f64,
    /// The largest difference that the interval does not exclude, as a ratio − 1; `None` without an interval.
    pub largest: Option<f64>,
    /// What either side showed by itself.
    pub values: Sides,
    /// The smallest effect, as a ratio − 1, that it would have found with probability 0.8;
    /// `None` where that is not known.
    pub detectable: Option<f64>,
    /// Which part of the change each cause bears: `compute`, `wait`, `serialise` → share (may exceed 1 or be negative). Empty when unknown.
    pub causes: BTreeMap<String, f64>,
    /// The same in points of the time; `None` where the difference or the parts are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// Whether measured, emulated …
    pub origin: Origin,
}

/// What the two sides of a comparison showed, each by itself: their intervals stand alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides {
    /// At the base's level.
    pub base: Option<Estimate>,
    /// At the other's.
    pub other: Option<Estimate>,
    /// SI base unit.
    pub unit: String,
}

/// Where the extra time of the slower of two goes, in points: hundredths of the
/// faster one's time, taken at the node that has the most to do.
///
/// Numbers are as they are shown: whole, or with one digit where `extra` is below
/// ten, and rounded together, so that the points add up to `extra`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// What takes longer.
    pub slower: String,
    /// What it takes longer than.
    pub faster: String,
    /// How much longer, in percent.
    pub extra: f64,
    /// `compute`, `wait`, `serialise`, `spill`, `other` (not accounted for) → points; below zero is what went the other way.
    pub points: BTreeMap<String, f64>,
    /// What the sentence says, percent of the difference, of the parts that are told apart: those whose own change
    /// is not zero, with 95 % confidence.
    #[serde(default)]
    pub percents: BTreeMap<String, f64>,
    /// "92 % of the difference is waiting for the network": the largest of them; empty where none took longer.
    #[serde(default)]
    pub most: String,
    /// "microblade takes longer: 92 % of the difference is waiting for the network, 8 % computing"; where parts are
    /// not told apart, "…; the rest is not told apart".
    pub text: String,
}

/// The verdict on a claim, in the order they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Direction and size.
    Reproduced,
    /// On the published side; the size differs, is not decided, or was made by a model.
    DirectionOnly,
    /// On the other side, or none.
    NotReproduced,
    /// The data do not decide.
    Inconclusive,
    /// A stand-in removes the published cause.
    NotComparable,
    /// Its figure set a parameter: no evidence.
    Calibration,
    /// Its cells were not run.
    NotRun,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimFinding {
    /// The claim's name in the study file.
    pub name: String,
    /// The claim in words, published value included.
    pub statement: String,
    /// What follows.
    pub verdict: ClaimVerdict,
    /// Why, in a sentence.
    pub why: String,
    /// What was found.
    pub found: Option<Estimate>,
    /// What was published.
    pub published: Option<f64>,
    /// The margin of the size test, as a ratio.
    pub margin: Option<f64>,
    /// Whether the size agrees with what was published, within the margin: told although the direction may be open;
    /// `None` where that is not asked or not decided.
    #[serde(default)]
    pub size_agrees: Option<bool>,
    /// The unit of `found` and `published`.
    pub unit: String,
    /// What `found` is, where neither the unit nor the statement says: "exponent", "least step".
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quantity: String,
    /// Where the extra time goes, of a ratio of two cells' times; `None` where that or the difference is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

/// Attempts of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellFinding {
    /// Which one: its experiment and its levels.
    #[serde(flatten)]
    pub id: CellId,
    /// Attempts that count.
    pub finished: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Attempts beyond the fidelity monitor's bounds; `None` where it watched none.
    pub unfaithful: Option<usize>,
    /// Distinct reasons of failure or doubt.
    pub reasons: Vec<String>,
    /// Counters of the fidelity monitor, merged.
    pub fidelity: Fidelity,
    /// Summaries of its metrics: name → estimate over blocks.
    pub metrics: BTreeMap<String, Estimate>,
}

/// Where a parameter comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceNote {
    /// `fabric srio: G`.
    pub what: String,
    /// Paper, standard or derivation.
    pub text: String,
    /// Fitted to a published result.
    pub calibration: bool,
}

/// How an axis is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Names, evenly spaced.
    Category,
    /// Numbers, linear.
    Linear,
    /// Positive numbers, logarithmic.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// For people.
    pub label: String,
    /// SI base unit, `ratio`, or empty.
    pub unit: String,
    /// How it is scaled.
    pub scale: Scale,
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A line a series.
    Lines,
    /// Groups of bars: x categories, a bar a series.
    Bars,
    /// Bars of parts: x categories, in each a bar a `group`, stacked by `part`.
    Stacked,
    /// Of each series a bar a point, from where the one before ended; the last is all of them, from zero:
    /// means over the middle half of the blocks by that sum, so that they add up.
    Waterfall,
    /// A field for each place across and each series.
    Heat,
    /// One metric against another: points with a label each. Those of the first series, in x order, no other beats in both; they are joined.
    Frontier,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The figure's name in the study file.
    pub name: String,
    /// For people.
    pub title: String,
    /// What to see in it, and how it was made.
    pub caption: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What tells the series apart, for people (`to`), of a frontier the points; empty where their names say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The data.
    pub series: Vec<Series>,
    /// Places across that have a name, ascending; none on an axis of categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A place across with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// For people.
    pub name: String,
    /// Where, in the axis' unit.
    pub x: f64,
}

/// One line, one kind of bar, or one part of stacked bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// For the legend; published series carry the same name as the series they stand beside.
    pub name: String,
    /// In a stacked figure, which bar this part belongs to (`kosmos-srio`); the `name` is then the part (`wait`). Empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Published series are drawn apart from emulated and measured ones.
    pub origin: Origin,
    /// In x order.
    pub points: Vec<Point>,
}

/// One datum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Where across: the number on linear and log axes.
    pub x: Option<f64>,
    /// The 95 % interval across, where that was found and has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_interval: Option<(f64, f64)>,
    /// Where across, for people: the category, or the level as written; of a frontier what the point is called.
    pub label: String,
    /// How high.
    pub y: Estimate,
}

/// What to tabulate: ready cells, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The table's name in the study file.
    pub name: String,
    /// For people.
    pub title: String,
    /// What stands in it.
    pub caption: String,
    /// Head row.
    pub columns: Vec<String>,
    /// Body.
    pub rows: Vec<Vec<TableCell>>,
}

/// One entry of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TableCell {
    /// A number with unit, interval and origin.
    Number {
        /// The number.
        estimate: Estimate,
        /// SI base unit, `ratio`, `%` (a ratio shown in percent).
        unit: String,
        /// Where it comes from.
        origin: Origin,
    },
    /// Words.
    Text(String),
}
