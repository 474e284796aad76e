//! The names of verdicts and origins, with their meanings, for all renderings.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{ClaimFinding, ClaimVerdict, ComparisonVerdict};

/// How favourable a verdict is, for its colour. Its word is always shown as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Holds.
    Good,
    /// Holds in part.
    Fair,
    /// Does not hold.
    Bad,
    /// Open.
    Open,
    /// No verdict.
    Aside,
}

impl Tone {
    /// The tone's class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Fair => "fair",
            Tone::Bad => "bad",
            Tone::Open => "open",
            Tone::Aside => "aside",
        }
    }
}

/// A verdict as people read it: its words and how favourable it is.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Its name.
    pub word: &'static str,
    /// A character that identifies it without colour.
    pub mark: char,
    /// What it means.
    pub meaning: &'static str,
    /// How favourable it is.
    pub tone: Tone,
}

/// What *inconclusive* means. The reasons differ, and stand beside each verdict.
const NOT_DECIDED: &str = "the data do not decide; a direction is decided only where the interval lies beyond the margin, \
                           and beyond what equal cells differ by";

/// Every verdict on claims, from the strongest to none.
pub const CLAIM_VERDICTS: [ClaimVerdict; 9] = [
    ClaimVerdict::Reproduced,
    ClaimVerdict::DirectionOnly,
    ClaimVerdict::NotReproduced,
    ClaimVerdict::DependsOn,
    ClaimVerdict::Implied,
    ClaimVerdict::Inconclusive,
    ClaimVerdict::NotComparable,
    ClaimVerdict::Calibration,
    ClaimVerdict::NotRun,
];

/// A claim's verdict for people. A claim without a published figure is not reproduced: it holds, or does not.
pub fn claim(claim: &ClaimFinding) -> Verdict {
    of(claim.verdict, claim.published.is_some())
}

/// The verdicts that occur among claims, in their order, with the number of claims.
pub fn occurring_verdicts<'a>(claims: impl IntoIterator<Item = &'a ClaimFinding>) -> Vec<(Verdict, usize)> {
    let claims: Vec<(ClaimVerdict, bool)> =
        claims.into_iter().map(|c| (c.verdict, c.published.is_some())).collect();
    let mut all: Vec<(Verdict, usize)> = Vec::new();
    for (verdict, published) in CLAIM_VERDICTS.into_iter().flat_map(|v| [(v, true), (v, false)]) {
        let n = claims.iter().filter(|known| **known == (verdict, published)).count();
        let words = of(verdict, published);
        match all.iter_mut().find(|(known, _)| known.word == words.word) {
            Some((_, known)) => *known += n,
            None => all.push((words, n)),
        }
    }
    all.retain(|(_, n)| *n > 0);
    all
}

/// The verdict on a claim that needs cells which this run leaves out.
pub fn not_run() -> Verdict {
    of(ClaimVerdict::NotRun, true)
}

fn of(verdict: ClaimVerdict, published: bool) -> Verdict {
    let (word, mark, tone, meaning) = match verdict {
        ClaimVerdict::Reproduced if !published => (
            "holds",
            '✓',
            Tone::Good,
            "the whole interval lies on the side that is claimed; no figure is published",
        ),
        ClaimVerdict::NotReproduced if !published => (
            "does not hold",
            '✗',
            Tone::Bad,
            "the whole interval lies outside what is claimed, or any effect is too small to matter; no figure is published",
        ),
        ClaimVerdict::Reproduced => (
            "reproduced",
            '✓',
            Tone::Good,
            "the whole interval lies on the published side and within the margin of the published value",
        ),
        ClaimVerdict::DirectionOnly => (
            "direction only",
            '↗',
            Tone::Fair,
            "the interval lies on the published side; its size differs, is not decided, or depends on parameters of the \
             model that are not known well enough",
        ),
        ClaimVerdict::NotReproduced => (
            "not reproduced",
            '✗',
            Tone::Bad,
            "the whole interval lies outside what was published, or any effect is too small to matter",
        ),
        ClaimVerdict::DependsOn => (
            "depends on",
            '±',
            Tone::Open,
            "the measurements decide, but the verdict changes within the range of a parameter of the model",
        ),
        ClaimVerdict::Implied => (
            "implied",
            '⇒',
            Tone::Aside,
            "the model's parameters imply this direction, whatever the work does, so agreement is no evidence",
        ),
        ClaimVerdict::Inconclusive => ("inconclusive", '?', Tone::Open, NOT_DECIDED),
        ClaimVerdict::NotComparable => (
            "not comparable",
            '≠',
            Tone::Aside,
            "a stand-in removes what caused the published result; no verdict is possible here",
        ),
        ClaimVerdict::Calibration => (
            "calibration",
            '=',
            Tone::Aside,
            "it follows from parameters that were set before, so agreement is no evidence",
        ),
        ClaimVerdict::NotRun => ("not run", '·', Tone::Aside, "this run leaves out cells that it needs"),
    };
    Verdict { word, mark, meaning, tone }
}

/// A comparison's verdict for people.
pub fn comparison(verdict: ComparisonVerdict) -> Verdict {
    let (word, mark, tone, meaning) = match verdict {
        ComparisonVerdict::Better => (
            "better",
            '✓',
            Tone::Good,
            "the whole interval lies on the better side, beyond the margin, over the ranges too where there are any",
        ),
        ComparisonVerdict::Worse => (
            "worse",
            '✗',
            Tone::Bad,
            "the whole interval lies on the worse side, beyond the margin, over the ranges too where there are any",
        ),
        ComparisonVerdict::Equivalent => {
            ("equivalent", '≈', Tone::Fair, "within the margin, by two one-sided tests")
        }
        ComparisonVerdict::DependsOn => (
            "depends on",
            '±',
            Tone::Open,
            "the interval decides, but not over the ranges of the model's parameters",
        ),
        ComparisonVerdict::Inconclusive => ("inconclusive", '?', Tone::Open, NOT_DECIDED),
    };
    Verdict { word, mark, meaning, tone }
}

/// The meaning of an origin. With `virtual_nodes`, nodes were not machines of their own.
pub fn origin_meaning(origin: Origin, virtual_nodes: bool) -> &'static str {
    match origin {
        Origin::Measured if virtual_nodes => {
            "real programs and real packets in real time, on virtual nodes and links of one machine"
        }
        Origin::Measured => "taken on real machines",
        Origin::Emulated => {
            "taken on a virtual cluster: real work and messages, with time from a model of the network"
        }
        Origin::Simulated => {
            "replayed by a simulator: work that was done once in this run, its computing as it was then, so that no interval \
             holds how it varies; messages computed again"
        }
        Origin::Predicted => "made by a model fitted to measurements",
        Origin::Computed => "computed from other numbers",
        Origin::Published => "taken from the publication",
    }
}
