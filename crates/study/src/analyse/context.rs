//! The second sentence, without statistics: how many runs on how many nodes, and the values of both sides.

use crosstalk_core::record::Origin;
use std::collections::BTreeSet;

use super::pair::Pair;
use crate::findings::{Comparison, ComparisonVerdict, HeadlineBar};
use crate::level;
use crate::number::{self, format_upper_bound};
use crate::plan::{Place, Scene};
use crate::words::{count_in_words, readable_name};

/// Detectable effects from this ratio − 1 on are not mentioned: they would be no help.
const USEFUL_EFFECT: f64 = 9.0;

/// A factor that differs by less from the quotient of the two shown times reads as the same.
const SAME_FACTOR: f64 = 0.01;

/// The limits of the finding: `, at 1/50 of the links' rates`, `, emulated on this host's cores`.
pub fn limits_in_words(pair: &Pair, found: &Comparison) -> String {
    let scale = places(pair).fold(1.0, |most: f64, place| match place {
        Place::Real { scale, .. } => most.max(*scale),
        Place::Virtual { .. } | Place::Outside { .. } => most,
    });
    let scaled = if scale > 1.0 { format!(", at 1/{scale} of the links' rates") } else { String::new() };
    let origin = match found.origin {
        Origin::Emulated => ", emulated on this host's cores",
        Origin::Simulated => ", replayed from work that was done once",
        Origin::Predicted => ", predicted by a model",
        Origin::Computed => ", computed from the fabrics' parameters",
        Origin::Measured | Origin::Published => "",
    };
    scaled + origin
}

/// The runs of a comparison in one sentence: `In 12 paired runs on 2 nodes, run time was 1.05 s with ethernet-10g and
/// 1.80 s with ethernet-1g.`
pub fn runs_in_words(pair: &Pair, found: &Comparison) -> String {
    let nodes = nodes(pair);
    let runs = match found.origin {
        Origin::Computed => format!("For {nodes}"),
        _ => format!("In {} on {nodes}", count_in_words(found.ratio.n, "paired run")),
    };
    let (metric, unit) = (readable_name(&found.metric), found.values.unit.as_str());
    let side = |factor: &str, level, value| {
        format!("{} with {}", number::format_number(value, unit), level::level_in_sentence(factor, level))
    };
    let values = match (found.values.other, found.values.base) {
        (Some(other), Some(base)) => format!(
            ", {metric} was {} and {}",
            side(&pair.factor, &pair.other, other.value),
            side(&pair.factor, &pair.base, base.value)
        ),
        _ => format!(", {metric} was compared"),
    };
    let means = match (found.verdict, found.detectable) {
        (ComparisonVerdict::Equivalent, _) => {
            format!(
                "; either may be used: they differ by at most {}",
                format_upper_bound(found.margin.max(found.largest.unwrap_or(0.0)))
            )
        }
        (ComparisonVerdict::Inconclusive, Some(least)) if least < USEFUL_EFFECT => {
            format!("; this many runs detect differences of about {} or more", format_upper_bound(least))
        }
        _ => String::new(),
    };
    format!("{runs}{values}{note}{means}.", note = pairing_note(found))
}

/// A note where the quotient of the two shown times is another factor: those are of each side alone, the factor is of
/// pairs.
fn pairing_note(found: &Comparison) -> &'static str {
    let directed = matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse);
    let (Some(other), Some(base)) = (found.values.other, found.values.base) else { return "" };
    let off = (other.value / base.value / found.ratio.value).ln().abs();
    if directed && off > SAME_FACTOR.ln_1p() {
        ", each by itself; the factor is of the runs pair by pair"
    } else {
        ""
    }
}

/// `one machine`, `2 nodes`, `2 or 3 virtual nodes (1 master and 1 or 2 slaves)`.
fn nodes(pair: &Pair) -> String {
    let each: BTreeSet<usize> = places(pair).map(Place::nodes).collect();
    let of = |each: &BTreeSet<usize>, what: &str| {
        let s = if each.iter().all(|n| *n == 1) { "" } else { "s" };
        let numbers: Vec<String> = each.iter().map(usize::to_string).collect();
        format!("{} {what}{s}", numbers.join(" or "))
    };
    let is_virtual = !pair.view.data.run.absences.is_empty();
    if !is_virtual && each == BTreeSet::from([1]) {
        return "one machine".into();
    }
    let node_word = if is_virtual { "virtual node" } else { "node" };
    // The nodes of an application are its master and its slaves.
    let slaves = |scene: &Scene| {
        let slaves = scene.work.values().find_map(|work| work.params.count("slaves", 0, 1).ok())?;
        let slaves = usize::try_from(slaves).ok()?;
        (slaves > 0 && scene.place.nodes() == slaves + 1).then_some(slaves)
    };
    match scenes(pair).map(slaves).collect::<Option<BTreeSet<usize>>>() {
        Some(slaves) if !slaves.is_empty() => {
            format!("{} (1 master and {})", of(&each, node_word), of(&slaves, "slave"))
        }
        _ => of(&each, node_word),
    }
}

/// A bar for each side, the base first; none where a side has no value.
pub fn headline_bars(pair: &Pair, found: &Comparison) -> Vec<HeadlineBar> {
    let sides = [(&pair.base, found.values.base), (&pair.other, found.values.other)];
    let bar = |(level, value): (&_, Option<_>)| {
        Some(HeadlineBar { label: level::level_in_sentence(&pair.factor, level), value: value? })
    };
    let bars: Option<Vec<HeadlineBar>> = sides.into_iter().map(bar).collect();
    bars.unwrap_or_default()
}

/// The places of its cells.
fn places<'a>(pair: &'a Pair) -> impl Iterator<Item = &'a Place> {
    scenes(pair).map(|scene| &scene.place)
}

fn scenes<'a>(pair: &'a Pair) -> impl Iterator<Item = &'a Scene> {
    let contrast = pair.contrast();
    contrast.of.into_iter().chain(contrast.to).map(|cell| &cell.planned.scene)
}
