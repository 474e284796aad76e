//! The finding of a comparison, from its answer.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::Value;
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::{Margin, Side};

use super::causes::{self, Shares};
use super::change::{self, Change, RANGES};
use super::family::Family;
use super::latency_effect::{self, LatencyEffect};
use super::over_ranges::NumbersByCluster;
use super::pair::Pair;
use super::ranged::Unsettled;
use super::without_ranges::WithoutRanges;
use super::{attribution, cell_value, detectable, network, ranged};
use crate::catalogue::Catalogues;
use crate::findings::{Comparison, ComparisonVerdict, Estimate, Sides};
use crate::words::count_in_words;
use crate::{estimate, level, number};

/// The finding of a comparison whose log (other / base) has this `answer`. `None` where no block has both cells.
pub fn finding(
    pair: &Pair,
    answer: &Answer,
    family: &Family,
    blocks: &[usize],
    catalogues: &Catalogues,
    over_ranges: Option<&NumbersByCluster>,
) -> Option<Comparison> {
    let ratio = ratio(pair, answer, blocks)?;
    let spread = over_ranges.and_then(|over| over.pair(pair));
    let withheld = reason_withheld(pair, ratio.value, blocks, catalogues).is_some();
    // A withheld verdict is no direction, and no equality either.
    let side = answer.side.filter(|_| !withheld);
    let changed = matches!(side, Some(Side::Above | Side::Below));
    let unsettled = spread.as_ref().zip(answer.interval).zip(side).and_then(|((spread, measured), side)| {
        Unsettled::of(spread, &measured, side, Margin::from(answer.margin))
    });
    let verdict = verdict(side, pair.metric.better, unsettled.as_ref());
    let contrast = pair.contrast();
    let causes = if changed { causes::shares(&pair.view, &contrast, blocks) } else { Shares::default() };
    let network = contrast.cells().is_some_and(|cells| network::only_network_differs(cells, catalogues));
    let sides = [&pair.level(&pair.other), &pair.level(&pair.base)];
    let together =
        spread.as_ref().zip(answer.interval).map(|(spread, measured)| spread.widened(&measured).exp());
    let together = together.map(|interval| (interval.low, interval.high));
    let change = Change { metric: &pair.metric, query: &pair.query, ratio, over_ranges: together };
    let base = level::level_in_sentence(&pair.factor, &pair.base);
    let mut change = match (withheld, answer.interval) {
        (true, _) => latency_effect::NO_VERDICT.to_string(),
        (false, None) => too_few(ratio.n, family),
        (false, Some(_)) => change.finding_in_words(verdict, changed, &base),
    };
    if side == Some(Side::Within) && pair.datum.modelled {
        let stayed = over_ranges.is_some_and(|over| over.has_pair_unmoved(pair));
        let without = WithoutRanges::of(stayed, !pair.view.has_no_noise());
        change += &together.map_or(format!("; {}", without.in_words()), |(low, high)| {
            let ends = Estimate { interval: Some((low, high)), ..ratio };
            let ends = number::format_interval(&ends, "ratio").unwrap_or_default();
            format!("; {ends} of {base} over {RANGES}")
        });
    }
    if let Some(unsettled) = &unsettled {
        change += &format!("; {}", unsettled.in_words());
    }
    let largest = change::largest_difference(&ratio);
    // A measured floor above the stated margin replaces it.
    let tested = if side == Some(Side::Within) { answer.margin } else { pair.margin().within };
    let ratio = if pair.is_computed() { without_interval(ratio) } else { ratio };
    Some(Comparison {
        experiment: pair.view.experiment.name().to_string(),
        metric: pair.query.clone(),
        better: pair.metric.better,
        factor: pair.factor.clone(),
        base: pair.base.to_string(),
        other: pair.other.to_string(),
        at: pair.at.clone(),
        ratio,
        gain: change::gain_ratio(ratio, pair.metric.better),
        over_ranges: spread.zip(answer.interval).map(|(spread, measured)| {
            let sign = if pair.metric.better == Better::Lower { -1.0 } else { 1.0 };
            ranged::over_ranges(&spread, &measured, |log| (sign * log).exp())
        }),
        verdict,
        change,
        margin: tested.exp_m1(),
        largest,
        values: values(pair),
        detectable: detectable::detectable_effect(pair, family, blocks),
        attribution: attribution::attribute(&causes, ratio.value, sides, network),
        causes: causes.shares,
        origin: pair.datum.origins.last().copied().unwrap_or(Origin::Measured),
    })
}

/// Why the verdict on a ratio is withheld: links were scaled down, and latency was not. `None` where it is not.
pub fn reason_withheld(pair: &Pair, ratio: f64, blocks: &[usize], catalogues: &Catalogues) -> Option<String> {
    effect_of_missing_latency(pair, ratio, blocks, catalogues)?.reason_withheld()
}

/// The effect of the missing latency on a comparison over scaled links.
pub fn effect_of_missing_latency(
    pair: &Pair,
    ratio: f64,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<LatencyEffect> {
    latency_effect::latency_effect(&pair.view, &pair.contrast(), ratio, blocks, catalogues)
}

fn ratio(pair: &Pair, answer: &Answer, blocks: &[usize]) -> Option<Estimate> {
    match answer.interval {
        Some(interval) => estimate::if_finite(estimate::from_interval(interval.exp())),
        None => {
            Some(Estimate { interval: None, ..estimate::estimate_of_logs(&pair.datum.values_in(blocks))? })
        }
    }
}

/// The values of both sides, each by itself.
fn values(pair: &Pair) -> Sides {
    let value = |level: &Value| {
        let at = level::overlaid(&pair.at, &pair.level(level));
        cell_value::mean_at(&pair.view, &pair.query, &at, None).map(|(estimate, _)| estimate)
    };
    Sides { base: value(&pair.base), other: value(&pair.other), unit: pair.metric.unit.clone() }
}

/// Why a difference over so many `blocks` has no interval.
fn too_few(blocks: usize, family: &Family) -> String {
    match family.blocks_needed(family.questions) {
        needed if blocks < needed => format!("too few runs ({blocks}; {needed} or more decide)"),
        _ => format!("not analysed yet, after {}", count_in_words(blocks, "run")),
    }
}

/// An estimate of a computed number: one value, no interval.
fn without_interval(ratio: Estimate) -> Estimate {
    Estimate { interval: None, n: 1, ..ratio }
}

/// The verdict for a side, and for what the ranges leave `unsettled` of it. A metric with no better direction is at most
/// equivalent: its ratio shows the rest.
fn verdict(side: Option<Side>, better: Better, unsettled: Option<&Unsettled>) -> ComparisonVerdict {
    match (side, better) {
        (Some(_), Better::Lower | Better::Higher) | (Some(Side::Within), Better::Neither)
            if let Some(unsettled) = unsettled =>
        {
            match unsettled {
                Unsettled::DependsOn(_) => ComparisonVerdict::DependsOn,
                Unsettled::ByNoise => ComparisonVerdict::Inconclusive,
            }
        }
        (Some(Side::Within), _) => ComparisonVerdict::Equivalent,
        (Some(Side::Above), Better::Higher) | (Some(Side::Below), Better::Lower) => ComparisonVerdict::Better,
        (Some(Side::Above), Better::Lower) | (Some(Side::Below), Better::Higher) => ComparisonVerdict::Worse,
        (None, _) | (_, Better::Neither) => ComparisonVerdict::Inconclusive,
    }
}
