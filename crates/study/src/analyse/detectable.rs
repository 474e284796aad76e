//! What the run could tell at all: the noise floor of each metric, with what was
//! measured to know it, and the smallest effect that each comparison would have found.
//!
//! Both speak of the blocks that the verdicts rest on, and of the margin that
//! those verdicts had to clear: no effect is called detectable below its floor.

use crosstalk_stats::family::level;
use crosstalk_stats::noise as floor;

use super::family::Family;
use super::noise::Twins;
use super::pair::Pair;
use super::question::Put;
use crate::findings::{Comparison, NoiseFloor};
use crate::level::describe;
use crate::rules::BEYOND;

/// The power at which the smallest detectable effect is stated.
const POWER: f64 = 0.8;

/// The smallest effect that this comparison would have found, as a ratio − 1:
/// `None` where its floor is not known yet, or its blocks could decide nothing.
pub fn of(pair: &Pair, family: &Family, seen: &[usize]) -> Option<f64> {
    let look = family.looks.taken(seen.len()).last().copied()?;
    let noise = family.noise.by_position(pair.view.experiment.name(), &pair.query, seen);
    let margin = floor::margin(BEYOND.ln_1p(), &noise, seen.len())?;
    let values = pair.datum.over(seen);
    let tail = level(look.error, family.questions, 0);
    let log = floor::detectable(values.len(), floor::spread(&values)?, tail, POWER, margin)?;
    Some(log.exp_m1()).filter(|effect| effect.is_finite())
}

/// The floor of everything that was asked, in the order of the questions, then of
/// what was measured for nothing. `comparisons` are those of `family.pairs`.
pub fn floors(family: &Family, comparisons: &[Option<Comparison>], seen: &[usize]) -> Vec<NoiseFloor> {
    let mut all: Vec<NoiseFloor> = Vec::new();
    let mut note = |experiment: &str, metric: &str, effect: Option<Option<f64>>| {
        let found = floor_of(metric, &family.noise.about(experiment, metric), seen);
        let same = |known: &&mut NoiseFloor| known.metric == found.metric && known.cells == found.cells;
        let place = match all.iter_mut().find(same) {
            Some(known) => known,
            None => {
                all.push(found);
                all.last_mut().expect("was pushed")
            }
        };
        place.comparisons += usize::from(effect.is_some());
        if let Some(Some(effect)) = effect {
            let (least, most) = place.detectable.unwrap_or((effect, effect));
            place.detectable = Some((least.min(effect), most.max(effect)));
        }
    };
    for ((pair, _), found) in family.pairs.iter().zip(comparisons) {
        note(pair.view.experiment.name(), &pair.query, found.as_ref().map(|found| found.detectable));
    }
    for claim in &family.claims {
        match &claim.stated.put {
            Put::One(one) => {
                one.noise.iter().for_each(|beside| note(beside.experiment, &beside.metric, None));
            }
            Put::Steps(steps) => note(steps.noise.experiment, &steps.noise.metric, None),
            Put::Not(_) => {}
        }
    }
    family.noise.measured().for_each(|(experiment, metric)| note(experiment, metric, None));
    all
}

fn floor_of(metric: &str, twins: &[Twins], seen: &[usize]) -> NoiseFloor {
    let noise: Vec<_> = twins.iter().map(|t| t.datum.by_position(seen)).collect();
    let known = floor::margin(0.0, &noise, seen.len()).filter(|_| !twins.is_empty());
    let mut cells: Vec<String> = twins.iter().map(place).collect();
    cells.dedup();
    NoiseFloor {
        metric: metric.to_string(),
        cells,
        floor: known.map(f64::exp_m1).filter(|floor| floor.is_finite()),
        margin: known.map_or(BEYOND, |floor| floor.exp_m1().max(BEYOND)),
        blocks: twins.iter().map(|t| t.datum.over(seen).len()).min().unwrap_or(0),
        comparisons: 0,
        detectable: None,
    }
}

fn place(twins: &Twins) -> String {
    if twins.at.is_empty() {
        twins.title.clone()
    } else {
        format!("{}: {}", twins.title, describe(&twins.at))
    }
}
