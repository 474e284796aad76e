//! The findings of a run: everything that a report shows, computed. Renderers only format it. Written as `findings.json`,
//! with numbers in SI base units.

use crosstalk_core::cell::CellId;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::Levels;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use over_ranges::{OverRanges, ParameterEffect};

mod over_ranges;

/// The version of this schema.
pub const FINDINGS_SCHEMA: &str = "crosstalk.findings/2";

/// The findings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// [`FINDINGS_SCHEMA`].
    pub schema: String,
    /// The study's name.
    pub study: String,
    /// The study's title, for people.
    pub title: String,
    /// The deciding sentence.
    pub headline: Headline,
    /// How the run went.
    pub run: RunSummary,
    /// Every claim with its verdict, ordered by verdict, then name.
    pub claims: Vec<ClaimFinding>,
    /// Every comparison: decided ones first, each group in plan order.
    pub comparisons: Vec<Comparison>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The tables.
    pub tables: Vec<Table>,
    /// For each cell: how many attempts counted, failed, or were not faithful.
    pub cells: Vec<CellFinding>,
    /// What limits the findings: contradictions, failed checks and more, with remedies. `run.absences` says what the testbed
    /// does not have.
    pub warnings: Vec<String>,
    /// What the files of fabrics, libraries and systems say is not emulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// The sources of parameters, with calibrations marked.
    pub sources: Vec<SourceNote>,
    /// Facts about each node's machine when the run began.
    pub provenance: BTreeMap<String, Provenance>,
}

/// The deciding sentence of a report, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// "kosmos-srio: 1.26 × faster than microblade (1.22–1.30); 92 % of the difference is waiting for the network".
    pub text: String,
    /// A second sentence, without statistics: how many runs on how many nodes, and the values of both sides. Empty where
    /// nothing was compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The two sides of its comparison, to draw: the base first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<HeadlineBar>,
    /// The unit of the bars.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether a verdict was reached: without one the text says what is missing, or that nothing was measured.
    pub decided: bool,
    /// The command that repeats the run.
    pub command: String,
}

/// One side of the comparison that the deciding sentence is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeadlineBar {
    /// Its level, for people.
    pub label: String,
    /// Its value.
    pub value: Estimate,
}

/// How the run went: blocks, attempts, duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// When it began, in seconds of Unix time.
    pub began: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Crosstalk's version.
    pub version: String,
    /// The seed of the plan's order.
    pub seed: u64,
    /// Whether it was a quick run.
    pub quick: bool,
    /// The number of complete blocks.
    pub blocks: usize,
    /// How it ended: "stopped at interim analysis 2 of 3 (24 blocks)", "the budget of 48 blocks was used up".
    pub ended: String,
    /// The number of attempts by status: `finished`, `failed`, `not faithful` and others.
    pub attempts: BTreeMap<String, usize>,
    /// The noise floor of every metric that was asked about, measured or not.
    pub noise: Vec<NoiseFloor>,
    /// What the testbed does not have that a real cluster would.
    pub absences: Vec<String>,
}

impl RunSummary {
    /// Whether attempts were made and all of them failed: there is no number to show.
    pub fn nothing_was_measured(&self) -> bool {
        let any = |status: &str| self.attempts.contains_key(status);
        any("failed") && !any("finished") && !any("not faithful")
    }
}

/// How far equal cells differed in one metric (A/A), and which effects were detectable, over the blocks of the verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// The metric.
    pub metric: String,
    /// The pairs of equal cells, in words; empty where none have this metric.
    pub cells: Vec<String>,
    /// The number of blocks with both cells of every pair.
    pub blocks: usize,
    /// The 95 % upper bound on the difference of the noisiest pair, as a ratio − 1; `None` where it is not known.
    pub floor: Option<f64>,
    /// The margin beyond which a direction counts, as a ratio − 1: the floor, or the margin stated beforehand.
    pub margin: f64,
    /// The number of comparisons with this margin.
    pub comparisons: usize,
    /// The smallest detectable effects of the most and the least sensitive comparison, as a ratio − 1: they would have been
    /// found with probability 0.8. Never below `margin`.
    pub detectable: Option<(f64, f64)>,
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point.
    pub value: f64,
    /// The interval's ends; `None` where there is no interval.
    pub interval: Option<(f64, f64)>,
    /// The number of blocks, or of sources of a published value, behind it.
    pub n: usize,
}

/// The verdict on a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// The interval lies on the better side, beyond the margin.
    Better,
    /// The interval lies on the worse side, beyond the margin.
    Worse,
    /// Within the margin, by two one-sided tests.
    Equivalent,
    /// The data decide, but the verdict changes within the range of a parameter of the model.
    DependsOn,
    /// The data do not decide.
    Inconclusive,
}

/// A comparison of two cells over their common blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The experiment.
    pub experiment: String,
    /// The metric, as the study writes it.
    pub metric: String,
    /// Which direction is better.
    pub better: Better,
    /// The factor that differs.
    pub factor: String,
    /// Its level in the base cell.
    pub base: String,
    /// Its level in the other cell.
    pub other: String,
    /// The levels that both share.
    pub at: Levels,
    /// Other over base.
    pub ratio: Estimate,
    /// The same, but above 1 where the other level is better: base over other where lower is better.
    pub gain: Estimate,
    /// The verdict.
    pub verdict: ComparisonVerdict,
    /// The difference in words: "1.26 × faster than microblade (1.22–1.30)", or "no difference larger than 3.1 % (…)" without
    /// a direction. A wide interval that decides nothing is "between 7 % faster and 41.6 % slower".
    /// Without an interval it is "too few runs (5; 6 or more decide)". A withheld verdict is "no verdict:
    /// latency is not scaled". An equivalence that a model made says that it is of this machine's noise alone.
    pub change: String,
    /// The margin of equivalence, as a ratio − 1: the stated one, or a larger difference of equal cells where an equivalence
    /// was found within that.
    pub margin: f64,
    /// The largest difference that the interval leaves, as a ratio − 1; `None` without an interval.
    pub largest: Option<f64>,
    /// The gain with the error of the model's parameters; `None` where no model made it, or where it was not replayed over
    /// their ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ranges: Option<OverRanges>,
    /// The values of both sides, each by itself.
    pub values: Sides,
    /// The smallest effect that it would have found with probability 0.8, as a ratio − 1; `None` where that is not known.
    pub detectable: Option<f64>,
    /// The share of each part of the time in the change: `compute`, `wait`, `serialise` and others. A share may exceed 1 or
    /// be negative. Empty where they are not known.
    pub causes: BTreeMap<String, f64>,
    /// The same in percentage points; `None` where the difference or the parts are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The origin of its numbers.
    pub origin: Origin,
}

/// The values of the two sides of a comparison, each by itself, with intervals of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sides {
    /// The base's value.
    pub base: Option<Estimate>,
    /// The other's value.
    pub other: Option<Estimate>,
    /// Their SI base unit.
    pub unit: String,
}

/// Where the extra time of the slower of two goes, in percentage points of the faster one's time, at the busiest node.
///
/// Numbers are rounded as they are shown: whole, or with one digit where `extra` is below ten. They are rounded together:
/// the percentage points add up to `extra`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// The side that takes longer.
    pub slower: String,
    /// The other side.
    pub faster: String,
    /// How much longer, in percent.
    pub extra: f64,
    /// `compute`, `wait`, `serialise`, `spill`, `other` (not accounted for) → percentage points; below zero for a part that took
    /// less.
    pub points: BTreeMap<String, f64>,
    /// Part → percent of the difference, of the significant parts: those whose own change is not zero with 95 % confidence.
    #[serde(default)]
    pub percents: BTreeMap<String, f64>,
    /// These in words, "92 % of the difference is waiting for the network, 8 % computing"; empty where none took longer.
    /// With the other parts they add up to 100 %: "; the rest is within noise".
    #[serde(default)]
    pub shares: String,
    /// The same after the slower side: "microblade takes longer: 92 % of the difference is waiting for the network, 8 %
    /// computing".
    pub text: String,
}

/// The verdict on a claim, in the order in which claims are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The direction, and the size where one was published.
    Reproduced,
    /// On the published side. The size differs, is not decided, or was made by a model.
    DirectionOnly,
    /// On the other side, or no difference.
    NotReproduced,
    /// The data decide, but the verdict changes within the range of a parameter of the model.
    DependsOn,
    /// On the published side, as the model's parameters imply whatever the work does: no evidence.
    Implied,
    /// The data do not decide.
    Inconclusive,
    /// A stand-in removes the published cause.
    NotComparable,
    /// It follows from parameters that were set before, by its published figure or otherwise: no evidence.
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
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The reason for it, in a sentence.
    pub why: String,
    /// The number that was found.
    pub found: Option<Estimate>,
    /// The number that was published.
    pub published: Option<f64>,
    /// The margin of the size test, as a ratio.
    pub margin: Option<f64>,
    /// Whether the size agrees with the published one within the margin, even where the direction is undecided; `None` where
    /// it was not asked or not decided.
    #[serde(default)]
    pub size_agrees: Option<bool>,
    /// Where the number lies with the error of the model's parameters; `None` where no model made it, or where it was not
    /// replayed over their ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_ranges: Option<OverRanges>,
    /// The origins of its numbers; empty where none were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
    /// The unit of `found` and `published`.
    pub unit: String,
    /// What `found` is, such as "exponent"; empty where the unit or the statement says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quantity: String,
    /// Where the extra time goes, for a ratio of two cells' times; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
}

/// The attempts at one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellFinding {
    /// Its identity: experiment and levels.
    #[serde(flatten)]
    pub id: CellId,
    /// The number of attempts that count.
    pub finished: usize,
    /// The number of attempts that failed.
    pub failed: usize,
    /// The number of attempts beyond the fidelity monitor's bounds; `None` where it watched none.
    pub unfaithful: Option<usize>,
    /// Reasons of failed and unfaithful attempts, each kind once.
    pub reasons: Vec<String>,
    /// The fidelity monitor's counters over all attempts.
    pub fidelity: Fidelity,
    /// Metric → estimate over blocks.
    pub metrics: BTreeMap<String, Estimate>,
}

/// The source of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceNote {
    /// The parameter: `fabric srio: G`.
    pub what: String,
    /// Its source: paper, standard or derivation.
    pub text: String,
    /// Whether it was fitted to a published result.
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

/// An axis of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Its name, for people.
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
    /// A line for each series.
    Lines,
    /// Groups of bars: a group for each category, a bar for each series.
    Bars,
    /// Stacked bars: for each category a bar for each `group`, with the parts stacked.
    Stacked,
    /// For each series a bar for each point, from the end of the one before, and a last one for their sum, from zero. The
    /// numbers are means over the middle half of the blocks by that sum, so that they add up.
    Waterfall,
    /// A field for each category across and each series.
    Heat,
    /// One metric against another: points with labels. No other point dominates those of the first series, which are in x
    /// order and joined.
    Frontier,
    /// One metric against another: points with labels. The first of two series is the straight line through those of the
    /// other, at the same positions.
    Fit,
}

impl FigureKind {
    /// Whether points lie at one metric across and another upward, each with a name.
    pub fn is_of_two_metrics(self) -> bool {
        matches!(self, FigureKind::Frontier | FigureKind::Fit)
    }
}

/// A figure of the report, as data to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The figure's name in the study file.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// What it shows, and how it was made.
    pub caption: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// The axis across.
    pub x: Axis,
    /// The axis upward.
    pub y: Axis,
    /// The factor that makes the series, or the points of two metrics, for people; empty where their names say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The series.
    pub series: Vec<Series>,
    /// Named positions across, ascending; none on an axis of categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A named position on the axis across.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Its name, for people.
    pub name: String,
    /// The position, in the axis' unit.
    pub x: f64,
}

/// The data of one line, one kind of bar, or one part of stacked bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Its name in the legend; published values have the name of the series that they belong to.
    pub name: String,
    /// In a stacked figure the name of the bar (`kosmos-srio`), and `name` is the part (`waiting`). Else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The origin of its numbers: published ones are drawn differently.
    pub origin: Origin,
    /// In x order.
    pub points: Vec<Point>,
}

/// One point of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its position across; `None` on an axis of categories.
    pub x: Option<f64>,
    /// The 95 % interval of the position across, of a frontier; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_interval: Option<(f64, f64)>,
    /// Its position across, for people: the category, or the level as written; of a frontier the point's name.
    pub label: String,
    /// Its value.
    pub y: Estimate,
}

/// A table, row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The table's name in the study file.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// The heads of its columns.
    pub columns: Vec<String>,
    /// Its rows.
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
        /// SI base unit, `ratio`, or `%` (a ratio shown in percent).
        unit: String,
        /// Its origin.
        origin: Origin,
    },
    /// Text.
    Text(String),
}
