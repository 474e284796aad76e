//! What the ranges of the model's parameters do to the verdict on a claim.

use crosstalk_stats::Interval;
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::{Margin, Side, agrees_in_size};

use super::change::RANGES;
use super::over_ranges::Spread;
use super::question::OpenClaim;
use super::statement::Interpretation;
use crate::findings::{ClaimVerdict, OverRanges, ParameterEffect};
use crate::number::{self, format_percent};
use crate::rules::WITHIN;

/// The number of a claim's question, over the ranges.
pub struct Ranged<'a> {
    spread: Spread<'a>,
    /// What this machine showed.
    measured: Interval,
    /// Both errors together.
    together: Interval,
    interpretation: Interpretation,
}

impl<'a> Ranged<'a> {
    /// `spread` is on the scale of the question, as `measured` is.
    pub fn new(spread: Spread<'a>, measured: Interval, interpretation: Interpretation) -> Self {
        Ranged { together: spread.widened(&measured), spread, measured, interpretation }
    }

    /// The verdict and its reason where the ranges change what the machine alone shows; else `None`. `size`: the published
    /// size with its margin, as compared.
    pub fn changed(
        &self,
        claim: &OpenClaim,
        verdict: ClaimVerdict,
        answer: &Answer,
        size: Option<(f64, f64)>,
    ) -> Option<(ClaimVerdict, String)> {
        let Some(side) = answer.side else {
            let size = size.filter(|size| answer.size == Some(false) && self.size_agrees(*size).is_none())?;
            let on = self.spread.deciding(self.measured.point, |number| (number - size.0).abs() < size.1);
            let margin = format_percent(claim.margin.unwrap_or(WITHIN));
            return Some((
                verdict,
                format!(
                    ": not decided; whether its size is within {margin} of the published one depends on {on}"
                ),
            ));
        };
        match Unsettled::of(&self.spread, &self.measured, side, Margin::from(answer.margin)) {
            Some(Unsettled::ByNoise) => {
                return Some((ClaimVerdict::Inconclusive, format!(": {}", Unsettled::ByNoise.in_words())));
            }
            Some(depends) => return Some((ClaimVerdict::DependsOn, format!(": {}", depends.in_words()))),
            None => {}
        }
        let point = self.measured.point;
        let (value, margin) = size.filter(|_| answer.size.is_some())?;
        if verdict == ClaimVerdict::NotReproduced || self.size_agrees((value, margin)) == answer.size {
            return None;
        }
        let near = |number: f64| (number - value).abs() < margin;
        Some((
            ClaimVerdict::DirectionOnly,
            format!(
                ": on the published side; whether its size is within {} depends on {}",
                format_percent(claim.margin.unwrap_or(WITHIN)),
                self.spread.deciding(point, near)
            ),
        ))
    }

    /// Whether the size agrees with a published one all over the ranges (`Some(true)`), nowhere, or here and there.
    pub fn size_agrees(&self, (value, margin): (f64, f64)) -> Option<bool> {
        agrees_in_size(&self.together, value, margin)
    }

    /// `; 1.05–1.60 over the ranges of the model's parameters`.
    pub fn in_words(&self, unit: &str) -> String {
        let estimate = self.interpretation.estimate(&self.together);
        let ends = number::format_interval(&estimate, unit);
        ends.map(|ends| format!("; {ends} over {RANGES}")).unwrap_or_default()
    }

    /// For the findings.
    pub fn finding(&self) -> OverRanges {
        over_ranges(&self.spread, &self.measured, |number| self.interpretation.point(number, 1).value)
    }
}

/// A side that the machine alone shows, and the ranges do not leave standing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsettled {
    /// Some cluster is on another side: what decides it, in words.
    DependsOn(String),
    /// All clusters are on that side, and noise and ranges together reach beyond it.
    ByNoise,
}

impl Unsettled {
    /// What the ranges do to the `side` of a `measured` number; `None` where it stands.
    pub fn of(spread: &Spread, measured: &Interval, side: Side, margin: Margin) -> Option<Self> {
        if Side::of(&spread.widened(measured), margin) == Some(side) {
            return None;
        }
        let side_of = |number| Side::of(&exactly(number), margin);
        let same = |number| side_of(number) == side_of(measured.point);
        Some(match spread.any_differs(measured.point, same) {
            true => Unsettled::DependsOn(spread.deciding(measured.point, same)),
            false => Unsettled::ByNoise,
        })
    }

    /// `whether it holds depends on system kosmos: speed (…)`.
    pub fn in_words(&self) -> String {
        match self {
            Unsettled::DependsOn(on) => format!("whether it holds depends on {on}"),
            Unsettled::ByNoise => format!("this machine's noise and {RANGES} together leave it undecided"),
        }
    }
}

/// A number over the ranges, for the findings. `shown` turns a compared number into one that is shown.
pub fn over_ranges(spread: &Spread, measured: &Interval, shown: impl Fn(f64) -> f64) -> OverRanges {
    let ends = |(low, high): (f64, f64)| {
        let (a, b) = (shown(low), shown(high));
        (a.min(b), a.max(b))
    };
    let together = spread.widened(measured);
    let parameters = spread.effects().into_iter().map(|effect| {
        let (low, high) = effect.at_ends();
        ParameterEffect {
            name: effect.parameter.name.clone(),
            range: (effect.parameter.value_at(0.0), effect.parameter.value_at(1.0)),
            at_lower: shown(measured.point + low),
            at_upper: shown(measured.point + high),
        }
    });
    OverRanges {
        of_model: ends(spread.around(measured.point)),
        together: ends((together.low, together.high)),
        parameters: parameters.collect(),
    }
}

fn exactly(number: f64) -> Interval {
    Interval { point: number, low: number, high: number, count: 1 }
}
