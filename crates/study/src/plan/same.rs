//! Levels that are other words for the same on this machine: `quarter` and `half` of two processors.

use super::{PlannedExperiment, Scene};
use crosstalk_core::registry::Registry;
use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

/// Of more levels nobody reads which are the same, and each would have to be held against each.
const MOST: usize = 300;

/// Levels of a factor between which no cell differs, where there are several.
pub(super) fn levels<'a>(
    planned: &'a PlannedExperiment,
    factor: &str,
    registry: &Registry,
) -> Vec<Vec<&'a Value>> {
    // What else a cell's levels are → its scene, by level.
    let mut of_level: Vec<(&Value, BTreeMap<Levels, &Scene>)> = Vec::new();
    for cell in &planned.cells {
        let Some(level) = cell.id.levels.get(factor) else { continue };
        let mut rest = cell.id.levels.clone();
        rest.remove(factor);
        let place = of_level.iter().position(|(known, _)| *known == level).unwrap_or(of_level.len());
        if place == MOST {
            return Vec::new();
        }
        if place == of_level.len() {
            of_level.push((level, BTreeMap::new()));
        }
        of_level[place].1.insert(rest, &cell.scene);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for level in 0..of_level.len() {
        let alike = |group: &&mut Vec<usize>| same(&of_level[group[0]].1, &of_level[level].1, registry);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(level),
            None => groups.push(vec![level]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups.into_iter().map(|group| group.into_iter().map(|level| of_level[level].0).collect()).collect()
}

/// Whether all cells that differ in two levels alone are the same scene, and there are such cells.
fn same(one: &BTreeMap<Levels, &Scene>, other: &BTreeMap<Levels, &Scene>, registry: &Registry) -> bool {
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
