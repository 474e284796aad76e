//! What follows from a comparison's answer, and why.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::Value;
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::Side;

use super::causes::{self, Shares};
use super::change::{self, Change};
use super::family::Family;
use super::pair::Pair;
use super::scaled::{self, Scaled};
use super::{attribution, detectable, network, shown};
use crate::catalogue::Catalogues;
use crate::findings::{Comparison, ComparisonVerdict, Estimate, Sides};
use crate::words::counted;
use crate::{estimate, level};

/// What an equality of numbers that a model made is evidence of.
const NOISE_ALONE: &str =
    "; that is of this machine's noise alone, since the model's parameters carry no ranges yet";

/// What an answer about log (other / base) means, with the causes of a
/// change. `None` where no block has both cells.
pub fn finding(
    pair: &Pair,
    answer: &Answer,
    family: &Family,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<Comparison> {
    let ratio = ratio(pair, answer, blocks)?;
    let doubted = doubt(pair, ratio.value, blocks, catalogues).is_some();
    // What is doubted is no direction, and no equality either.
    let side = answer.side.filter(|_| !doubted);
    let changed = matches!(side, Some(Side::Above | Side::Below));
    let verdict = verdict(side, pair.metric.better);
    let contrast = pair.contrast();
    let causes = if changed { causes::shares(&pair.view, &contrast, blocks) } else { Shares::default() };
    let network = contrast.cells().is_some_and(|cells| network::alone(cells, catalogues));
    let sides = [&pair.only(&pair.other), &pair.only(&pair.base)];
    let change = Change { metric: &pair.metric, query: &pair.query, ratio };
    let base = level::called(&pair.factor, &pair.base);
    let mut change = match (doubted, answer.interval) {
        (true, _) => scaled::NO_VERDICT.to_string(),
        (false, None) => too_few(ratio.n, family),
        (false, Some(_)) => change.words(verdict, changed, &base),
    };
    if verdict == ComparisonVerdict::Equivalent && pair.datum.modelled {
        change += NOISE_ALONE;
    }
    let largest = change::largest(&ratio);
    // A measured floor above the stated margin took its place.
    let tested = if side == Some(Side::Within) { answer.margin } else { pair.margin().within };
    let ratio = if pair.computed() { once(ratio) } else { ratio };
    Some(Comparison {
        experiment: pair.view.experiment.name().to_string(),
        metric: pair.query.clone(),
        better: pair.metric.better,
        factor: pair.factor.clone(),
        base: pair.base.to_string(),
        other: pair.other.to_string(),
        at: pair.at.clone(),
        ratio,
        gain: change::gain(ratio, pair.metric.better),
        verdict,
        change,
        margin: tested.exp_m1(),
        largest,
        values: values(pair),
        detectable: detectable::of(pair, family, blocks),
        attribution: attribution::of(&causes, ratio.value, sides, network),
        causes: causes.of,
        origin: pair.datum.origins.last().copied().unwrap_or(Origin::Measured),
    })
}

/// Why there is no verdict on a ratio whatever the data say: links were scaled down, and latency was not.
pub fn doubt(pair: &Pair, ratio: f64, blocks: &[usize], catalogues: &Catalogues) -> Option<String> {
    scaled(pair, ratio, blocks, catalogues)?.doubt()
}

/// What the missing latency means for it, where links were scaled down.
pub fn scaled(pair: &Pair, ratio: f64, blocks: &[usize], catalogues: &Catalogues) -> Option<Scaled> {
    scaled::of(&pair.view, &pair.contrast(), ratio, blocks, catalogues)
}

fn ratio(pair: &Pair, answer: &Answer, blocks: &[usize]) -> Option<Estimate> {
    match answer.interval {
        Some(interval) => estimate::sound(estimate::shown(interval.exp())),
        None => Some(Estimate { interval: None, ..estimate::of_logs(&pair.datum.over(blocks))? }),
    }
}

/// What either side showed by itself.
fn values(pair: &Pair) -> Sides {
    let value = |level: &Value| {
        let at = level::with(&pair.at, &pair.only(level));
        shown::value(&pair.view, &pair.query, &at, None).map(|(estimate, _)| estimate)
    };
    Sides { base: value(&pair.base), other: value(&pair.other), unit: pair.metric.unit.clone() }
}

/// Why nothing is said of a difference that was seen in `blocks`.
fn too_few(blocks: usize, family: &Family) -> String {
    match family.blocks_needed(family.questions) {
        needed if blocks < needed => format!("too few runs ({blocks}; {needed} or more decide)"),
        _ => format!("not analysed yet, after {}", counted(blocks, "run")),
    }
}

/// What a formula gives: no repetitions, no interval.
fn once(ratio: Estimate) -> Estimate {
    Estimate { interval: None, n: 1, ..ratio }
}

/// A part that explains (better neither way) is only ever equal or different:
/// its direction is shown by the ratio, and its verdict stays open.
fn verdict(side: Option<Side>, better: Better) -> ComparisonVerdict {
    match (side, better) {
        (Some(Side::Within), _) => ComparisonVerdict::Equivalent,
        (Some(Side::Above), Better::Higher) | (Some(Side::Below), Better::Lower) => ComparisonVerdict::Better,
        (Some(Side::Above), Better::Lower) | (Some(Side::Below), Better::Higher) => ComparisonVerdict::Worse,
        (None, _) | (_, Better::Neither) => ComparisonVerdict::Inconclusive,
    }
}
