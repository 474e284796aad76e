//! Levels that are other words for the same on this machine: `quarter` and `half` of two processors.

use super::{Cell, PlannedExperiment, Scene};
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;

/// Levels of a factor between which no cell differs, where there are several.
pub(super) fn levels<'a>(
    planned: &'a PlannedExperiment,
    factor: &str,
    registry: &Registry,
) -> Vec<Vec<&'a Value>> {
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for level in planned.cells.iter().filter_map(|cell| cell.levels.get(factor)) {
        if groups.iter().flatten().any(|known| *known == level) {
            continue;
        }
        let alike = |group: &&mut Vec<&Value>| same(&planned.cells, factor, [group[0], level], registry);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(level),
            None => groups.push(vec![level]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Whether all cells that differ in these two levels alone are the same scene, and there are such cells.
fn same(cells: &[Cell], factor: &str, [one, other]: [&Value; 2], registry: &Registry) -> bool {
    let beside = |cell: &Cell| {
        let mut levels = cell.levels.clone();
        levels.insert(factor.to_string(), other.clone());
        cells.iter().find(|twin| twin.levels == levels)
    };
    let those = cells.iter().filter(|cell| cell.levels.get(factor) == Some(one));
    let mut pairs = those.filter_map(|cell| Some((cell, beside(cell)?))).peekable();
    pairs.peek().is_some() && pairs.all(|(one, other)| same_scene(&one.scene, &other.scene, registry))
}

fn same_scene(one: &Scene, other: &Scene, registry: &Registry) -> bool {
    let same_work = one.work.len() == other.work.len()
        && one.work.iter().zip(&other.work).all(|((part, a), (twin, b))| {
            let known = registry.workload(&a.kind);
            part == twin && a.kind == b.kind && known.is_ok_and(|kind| kind.same(&a.params, &b.params))
        });
    same_work && one.place == other.place && one.conditions == other.conditions
}
