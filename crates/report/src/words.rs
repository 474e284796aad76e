//! The words for verdicts and origins, with what each means: the same in the
//! browser, in Markdown and in the terminal.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{ClaimFinding, ClaimVerdict, ComparisonVerdict};

/// How a verdict feels, for colour; the word always stands beside it.
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
    /// Says nothing either way.
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

/// A verdict for people.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Its name.
    pub word: &'static str,
    /// One character that tells it from the others without colour.
    pub mark: char,
    /// What it means.
    pub meaning: &'static str,
    /// How it feels.
    pub tone: Tone,
}

/// Every verdict on claims, from the strongest to none.
pub const CLAIM_VERDICTS: [ClaimVerdict; 7] = [
    ClaimVerdict::Reproduced,
    ClaimVerdict::DirectionOnly,
    ClaimVerdict::NotReproduced,
    ClaimVerdict::Inconclusive,
    ClaimVerdict::NotComparable,
    ClaimVerdict::Calibration,
    ClaimVerdict::NotRun,
];

/// The words for a claim's verdict. Only what was published can be reproduced: a claim without a published figure
/// holds, or does not.
pub fn claim(claim: &ClaimFinding) -> Verdict {
    of(claim.verdict, claim.published.is_some())
}

/// The verdicts that occur among claims, in their order, each in the words that were used, and on how many.
pub fn occurring<'a>(claims: impl IntoIterator<Item = &'a ClaimFinding>) -> Vec<(Verdict, usize)> {
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

/// What is said of a claim whose cells were not run.
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
            "the interval lies on the published side; its size differs, is not decided, or was made by a model \
             whose parameters carry no ranges yet",
        ),
        ClaimVerdict::NotReproduced => (
            "not reproduced",
            '✗',
            Tone::Bad,
            "the whole interval lies outside what was published, or any effect is too small to matter",
        ),
        ClaimVerdict::Inconclusive => ("inconclusive", '?', Tone::Open, "the data do not decide"),
        ClaimVerdict::NotComparable => (
            "not comparable",
            '≠',
            Tone::Aside,
            "a stand-in removes what caused the published result; no verdict is possible here",
        ),
        ClaimVerdict::Calibration => {
            ("calibration", '=', Tone::Aside, "its figure set a parameter, so agreement is no evidence")
        }
        ClaimVerdict::NotRun => ("not run", '·', Tone::Aside, "its cells were not run"),
    };
    Verdict { word, mark, meaning, tone }
}

/// The words for a comparison's verdict.
pub fn comparison(verdict: ComparisonVerdict) -> Verdict {
    let (word, mark, tone, meaning) = match verdict {
        ComparisonVerdict::Better => {
            ("better", '✓', Tone::Good, "the whole interval lies on the good side, beyond the margin")
        }
        ComparisonVerdict::Worse => {
            ("worse", '✗', Tone::Bad, "the whole interval lies on the bad side, beyond the margin")
        }
        ComparisonVerdict::Equivalent => {
            ("equivalent", '≈', Tone::Fair, "within the margin, by two one-sided tests")
        }
        ComparisonVerdict::Inconclusive => ("inconclusive", '?', Tone::Open, "the data do not decide"),
    };
    Verdict { word, mark, meaning, tone }
}

/// What an origin means; `stands_in` where nodes were no machines of their own.
pub fn origin_meaning(origin: Origin, stands_in: bool) -> &'static str {
    match origin {
        Origin::Measured if stands_in => {
            "real programs and real packets in real time, but on nodes and links that one machine stands in for"
        }
        Origin::Measured => "taken on the real thing",
        Origin::Emulated => {
            "taken on a virtual cluster: real work and messages, time kept by a model of the network"
        }
        Origin::Simulated => "made by a simulator",
        Origin::Predicted => "made by a model fitted to measurements",
        Origin::Computed => "follows from other numbers",
        Origin::Published => "printed by somebody else",
    }
}
