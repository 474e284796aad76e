//! What a plan needs and this host does not have.

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, UnmetNeed};
use crosstalk_core::registry::Registry;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{Cell, Plan, PlannedExperiment};
use crate::file::Study;
use crate::words::count_in_words;

impl Plan {
    /// All that limits it on this host: its warnings, and what cells need that this host does not have.
    pub fn limits(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(unmet_by(self.cells())).collect()
    }
}

/// Marks the cells whose work needs what this host does not have. Each kind of work with the same parameters is asked
/// once.
pub(super) fn mark_unmet(experiments: &mut [PlannedExperiment], registry: &Registry) -> Result<(), Fault> {
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for cell in experiments.iter_mut().flat_map(|planned| &mut planned.cells) {
        for work in cell.scene.work.values() {
            let unmet = match known.entry(format!("{} {:?}", work.kind, work.params)) {
                Entry::Occupied(entry) => entry.get().clone(),
                Entry::Vacant(entry) => {
                    let needs = registry.workload(&work.kind)?.needs(&work.params);
                    entry.insert(needs.into_iter().find_map(|need| unmet_need(&work.kind, need))).clone()
                }
            };
            cell.unmet_need = cell.unmet_need.take().or(unmet);
        }
    }
    Ok(())
}

/// A sentence for each need that is not met for some of the cells, with their number.
pub(crate) fn unmet_by<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<String> {
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    for unmet in cells.filter_map(|cell| cell.unmet_need.as_deref()) {
        *not_run.entry(unmet).or_default() += 1;
    }
    let sentence = |(unmet, cells)| format!("{unmet}; not run: {}", count_in_words(cells, "cell"));
    not_run.into_iter().map(sentence).collect()
}

/// A sentence for each observer and condition that does not work on this host.
pub(super) fn unmet_around_work(study: &Study, registry: &Registry) -> Result<Vec<String>, Fault> {
    let mut sentences = Vec::new();
    let mut seen = BTreeSet::new();
    for experiment in study.experiment.values() {
        for name in experiment.observe.iter().filter(|name| seen.insert((*name).clone())) {
            sentences.extend(
                registry.observer(name)?.needs().into_iter().filter_map(|need| unmet_need(name, need)),
            );
        }
        for name in experiment.conditions.keys() {
            if let Ok(condition) = registry.condition(name)
                && seen.insert(name.clone())
            {
                sentences.extend(condition.needs().into_iter().filter_map(|need| unmet_need(name, need)));
            }
        }
    }
    Ok(sentences)
}

/// A part's unmet need as a sentence, with the remedy; `None` where the need is met.
fn unmet_need(part: &str, need: Need) -> Option<String> {
    let UnmetNeed { what, consequence, remedy } = need.unmet()?;
    let remedy = remedy.map(|remedy| format!(" (try: {remedy})")).unwrap_or_default();
    Some(format!("`{part}` needs {what}: {consequence}{remedy}"))
}
