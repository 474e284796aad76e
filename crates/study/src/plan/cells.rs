//! The combinations of levels that are run.

use super::PlanOptions;
use crate::file::{Experiment, Factor, Study};
use crate::stages;
use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

/// Levels of one factor.
pub(super) enum Known {
    /// They are known.
    Levels(Vec<Value>),
    /// Not yet, and why; some levels that are possible.
    Waiting { why: String, possible: Vec<Value> },
}

/// The levels of `factor` as the file, the host and earlier results give them.
pub(super) fn levels(study: &Study, experiment: &str, name: &str, options: &PlanOptions) -> Known {
    let factor = &study.experiment[experiment].factors[name];
    let Some(spec) = factor.detail() else { return Known::Levels(factor.levels().to_vec()) };
    if let Some(what) = &spec.discover {
        return match options.discovered.get(what) {
            Some(found) if !found.is_empty() => Known::Levels(found.clone()),
            _ => Known::Waiting {
                why: format!("factor `{name}` asks for the host's {what}, and none was found"),
                possible: Vec::new(),
            },
        };
    }
    if let Some(from) = &spec.from {
        if let Some(level) = options.from_results.get(&stages::key(experiment, name)) {
            return Known::Levels(vec![level.clone()]);
        }
        let possible = match levels(study, &from.experiment, &from.factor, options) {
            Known::Levels(levels) => levels,
            Known::Waiting { possible, .. } => possible,
        };
        let why = format!(
            "factor `{name}` waits for the {} at which {} peaks in experiment `{}`",
            from.factor, from.metric, from.experiment
        );
        return Known::Waiting { why, possible };
    }
    Known::Levels(spec.levels.clone())
}

/// `options` with a level for every factor that waits for an earlier result: which one it will be makes no
/// difference to how much is asked.
pub(crate) fn stand_ins(study: &Study, options: &PlanOptions) -> PlanOptions {
    let mut all = options.clone();
    for experiment in study.experiment.keys() {
        for (factor, _) in stages::waiting(study, experiment) {
            let Known::Waiting { possible, .. } = levels(study, experiment, factor, options) else {
                continue;
            };
            if let Some(level) = possible.into_iter().next() {
                all.from_results.insert(stages::key(experiment, factor), level);
            }
        }
    }
    all
}

/// Every combination of `levels` that `experiment` does not exclude; the last
/// factor varies fastest.
pub(super) fn combine(levels: &BTreeMap<String, Vec<Value>>, experiment: &Experiment) -> Vec<Levels> {
    let mut cells = vec![Levels::new()];
    for (name, levels) in levels {
        cells = cells
            .iter()
            .flat_map(|cell| {
                levels.iter().map(move |level| {
                    let mut cell = cell.clone();
                    cell.insert(name.clone(), level.clone());
                    cell
                })
            })
            .collect();
    }
    let excluded = |cell: &Levels| {
        experiment
            .exclude
            .iter()
            .any(|entry| !entry.is_empty() && entry.iter().all(|(name, level)| cell.get(name) == Some(level)))
    };
    cells.retain(|cell| !excluded(cell));
    cells
}

/// A study with only what `--quick` keeps. Experiments that it does not name go.
pub(super) fn cut_down(study: &Study) -> Study {
    let mut cut = study.clone();
    let Some(quick) = &study.quick else { return cut };
    cut.experiment.retain(|name, _| quick.experiment.contains_key(name) || quick.experiment.is_empty());
    for (name, factors) in &quick.experiment {
        let Some(experiment) = cut.experiment.get_mut(name) else { continue };
        for (factor, remaining) in factors {
            if let Some(found) = experiment.factors.get_mut(factor) {
                *found = found.with_levels(remaining.clone());
            }
        }
    }
    for (name, parts) in &quick.work {
        let Some(experiment) = cut.experiment.get_mut(name) else { continue };
        for (part, params) in parts {
            if let Some(spec) = experiment.work.get_mut(part) {
                spec.params.0.extend(params.0.clone());
            }
        }
    }
    if let Some(looks) = &quick.looks {
        cut.looks.clone_from(looks);
    }
    cut
}

/// Factors that change nothing: their levels are repetitions of the same.
pub(super) fn idle_factors(experiment: &Experiment) -> Vec<&str> {
    let params = experiment.work.values().flat_map(|spec| spec.params.0.values());
    let used: Vec<&str> =
        params.chain(experiment.conditions.values()).flat_map(crate::substitute::factors_in).collect();
    experiment.factors.keys().map(String::as_str).filter(|name| !used.contains(name)).collect()
}

/// The factors whose levels are grouped within a block.
pub(super) fn hard(experiment: &Experiment) -> Vec<String> {
    let hard = |(_, factor): &(&String, &Factor)| factor.hard();
    experiment.factors.iter().filter(hard).map(|(name, _)| name.clone()).collect()
}
