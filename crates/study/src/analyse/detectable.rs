//! What the run could detect: the noise floor of each metric, and the smallest effect that each comparison would have
//! found.
//!
//! Both are of the blocks and margins of the verdicts: no effect is called detectable below its floor.

use crosstalk_stats::family::level_per_question;
use crosstalk_stats::noise as floor;

use super::family::Family;
use super::noise::EqualCells;
use super::pair::Pair;
use super::question::ClaimQuestion;
use crate::findings::{Comparison, NoiseFloor};
use crate::level::describe_levels;
use crate::rules::BEYOND;

/// The power at which the smallest detectable effect is stated.
const POWER: f64 = 0.8;

/// The smallest effect that this comparison would have found, as a ratio − 1. `None` where its floor is not known, or
/// where its blocks could decide nothing.
pub fn detectable_effect(pair: &Pair, family: &Family, seen: &[usize]) -> Option<f64> {
    let look = family.looks.taken_after(seen.len()).last().copied()?;
    let noise = family.noise.log_ratios_by_block(pair.view.experiment.name(), &pair.query, seen);
    let margin = floor::margin(BEYOND.ln_1p(), &noise, seen.len())?;
    let values = pair.datum.values_in(seen);
    let tail = level_per_question(look.error, family.questions, 0);
    let log = floor::detectable_effect(values.len(), floor::spread(&values)?, tail, POWER, margin)?;
    Some(log.exp_m1()).filter(|effect| effect.is_finite())
}

/// The floor of every metric that was asked about, in the order of the questions; then of those that were only
/// measured. `comparisons` are those of `family.pairs`.
pub fn noise_floors(family: &Family, comparisons: &[Option<Comparison>], seen: &[usize]) -> Vec<NoiseFloor> {
    let mut all: Vec<NoiseFloor> = Vec::new();
    let mut note = |experiment: &str, metric: &str, effect: Option<Option<f64>>| {
        let found = floor_of(metric, &family.noise.equal_cells_for(experiment, metric), seen);
        let same = |known: &&mut NoiseFloor| known.metric == found.metric && known.cells == found.cells;
        let entry = match all.iter_mut().find(same) {
            Some(known) => known,
            None => {
                all.push(found);
                all.last_mut().expect("was pushed")
            }
        };
        entry.comparisons += usize::from(effect.is_some());
        if let Some(Some(effect)) = effect {
            let (least, most) = entry.detectable.unwrap_or((effect, effect));
            entry.detectable = Some((least.min(effect), most.max(effect)));
        }
    };
    let noisy = |((pair, _), _): &(&(Pair, _), _)| !pair.view.experiment.planned.computed;
    for ((pair, _), found) in family.pairs.iter().zip(comparisons).filter(noisy) {
        note(pair.view.experiment.name(), &pair.query, found.as_ref().map(|found| found.detectable));
    }
    for claim in &family.claims {
        let sources = match &claim.claim.question {
            ClaimQuestion::Number(number) => &number.noise[..],
            ClaimQuestion::Steps(steps) => &steps.noise[..],
            ClaimQuestion::NotAsked(_) => &[],
        };
        sources.iter().for_each(|source| note(source.experiment, &source.metric, None));
    }
    family.noise.measurements().for_each(|(experiment, metric)| note(experiment, metric, None));
    all
}

fn floor_of(metric: &str, equal_cells: &[EqualCells], seen: &[usize]) -> NoiseFloor {
    let noise: Vec<_> = equal_cells.iter().map(|pair| pair.datum.values_or_none_in(seen)).collect();
    let known = floor::margin(0.0, &noise, seen.len()).filter(|_| !equal_cells.is_empty());
    let mut cells: Vec<String> = equal_cells.iter().map(cells_in_words).collect();
    cells.dedup();
    NoiseFloor {
        metric: metric.to_string(),
        cells,
        floor: known.map(f64::exp_m1).filter(|floor| floor.is_finite()),
        margin: known.map_or(BEYOND, |floor| floor.exp_m1().max(BEYOND)),
        blocks: equal_cells.iter().map(|pair| pair.datum.values_in(seen).len()).min().unwrap_or(0),
        comparisons: 0,
        detectable: None,
    }
}

fn cells_in_words(equal_cells: &EqualCells) -> String {
    if equal_cells.at.is_empty() {
        equal_cells.title.clone()
    } else {
        format!("{}: {}", equal_cells.title, describe_levels(&equal_cells.at))
    }
}
