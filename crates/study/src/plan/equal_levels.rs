//! Levels that mean the same on this machine: `quarter` and `half` of two processors.

use super::{PlannedExperiment, Scene};
use crosstalk_core::registry::Registry;
use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

/// Factors with more levels are not checked: each level is compared with each other.
const MOST_LEVELS: usize = 300;

/// Groups of two or more levels of a factor between which no cell differs.
pub(super) fn equal_levels<'a>(
    planned: &'a PlannedExperiment,
    factor: &str,
    registry: &Registry,
) -> Vec<Vec<&'a Value>> {
    // By level: the other levels of a cell → its scene.
    let mut of_level: Vec<(&Value, BTreeMap<Levels, &Scene>)> = Vec::new();
    for cell in &planned.cells {
        let Some(level) = cell.id.levels.get(factor) else { continue };
        let mut rest = cell.id.levels.clone();
        rest.remove(factor);
        let index = of_level.iter().position(|(known, _)| *known == level).unwrap_or(of_level.len());
        if index == MOST_LEVELS {
            return Vec::new();
        }
        if index == of_level.len() {
            of_level.push((level, BTreeMap::new()));
        }
        of_level[index].1.insert(rest, &cell.scene);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for level in 0..of_level.len() {
        let alike = |group: &&mut Vec<usize>| equal(&of_level[group[0]].1, &of_level[level].1, registry);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(level),
            None => groups.push(vec![level]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups.into_iter().map(|group| group.into_iter().map(|level| of_level[level].0).collect()).collect()
}

/// Whether there are cells that differ in these two levels alone, and all of them are the same scene.
fn equal(one: &BTreeMap<Levels, &Scene>, other: &BTreeMap<Levels, &Scene>, registry: &Registry) -> bool {
    let mut pairs = one.iter().filter_map(|(rest, scene)| Some((scene, other.get(rest)?))).peekable();
    pairs.peek().is_some() && pairs.all(|(one, other)| same_scene(one, other, registry))
}

fn same_scene(one: &Scene, other: &Scene, registry: &Registry) -> bool {
    let same_work = one.work.len() == other.work.len()
        && one.work.iter().zip(&other.work).all(|((part, a), (twin, b))| {
            let known = registry.workload(&a.kind);
            part == twin && a.kind == b.kind && known.is_ok_and(|kind| kind.same(&a.params, &b.params))
        });
    same_work && one.place == other.place && one.conditions == other.conditions
}
