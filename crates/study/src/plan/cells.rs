//! The levels of factors, and their combinations that are run.

use super::PlanOptions;
use crate::file::{Experiment, Factor, Study};
use crate::stages;
use crosstalk_core::value::{Levels, Value};
use std::collections::BTreeMap;

/// The levels of one factor.
pub(super) enum FactorLevels {
    /// They are known.
    Known(Vec<Value>),
    /// They are not known yet, and why; some possible levels.
    Pending { why: String, possible: Vec<Value> },
}

/// The levels of the factor `name`, from the study file, the host or earlier results.
pub(super) fn levels(study: &Study, experiment: &str, name: &str, options: &PlanOptions) -> FactorLevels {
    let factor = &study.experiment[experiment].factors[name];
    let Some(spec) = factor.spec() else { return FactorLevels::Known(factor.levels().to_vec()) };
    if let Some(what) = &spec.discover {
        return match options.discovered.get(what) {
            Some(found) if !found.is_empty() => FactorLevels::Known(found.clone()),
            _ => FactorLevels::Pending {
                why: format!("factor `{name}` asks for the host's {what}, and none was found"),
                possible: Vec::new(),
            },
        };
    }
    if let Some(from) = &spec.from {
        if let Some(level) = options.from_results.get(&stages::factor_key(experiment, name)) {
            return FactorLevels::Known(vec![level.clone()]);
        }
        let possible = match levels(study, &from.experiment, &from.factor, options) {
            FactorLevels::Known(levels) => levels,
            FactorLevels::Pending { possible, .. } => possible,
        };
        let why = format!(
            "factor `{name}` waits for the {} at which {} peaks in experiment `{}`",
            from.factor, from.metric, from.experiment
        );
        return FactorLevels::Pending { why, possible };
    }
    FactorLevels::Known(spec.levels.clone())
}

/// `options` with a possible level for every pending factor: the number of questions does not depend on the level.
pub(crate) fn with_assumed_levels(study: &Study, options: &PlanOptions) -> PlanOptions {
    let mut all = options.clone();
    for experiment in study.experiment.keys() {
        for (factor, _) in stages::pending_factors(study, experiment) {
            let FactorLevels::Pending { possible, .. } = levels(study, experiment, factor, options) else {
                continue;
            };
            if let Some(level) = possible.into_iter().next() {
                all.from_results.insert(stages::factor_key(experiment, factor), level);
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

/// The part of a study that its `quick` section names.
pub(super) fn reduced(study: &Study) -> Study {
    let mut study_part = study.clone();
    let Some(quick) = &study.quick else { return study_part };
    study_part
        .experiment
        .retain(|name, _| quick.experiment.contains_key(name) || quick.experiment.is_empty());
    for (name, factors) in &quick.experiment {
        let Some(experiment) = study_part.experiment.get_mut(name) else { continue };
        for (factor, remaining) in factors {
            if let Some(found) = experiment.factors.get_mut(factor) {
                *found = found.with_levels(remaining.clone());
            }
        }
    }
    for (name, parts) in &quick.work {
        let Some(experiment) = study_part.experiment.get_mut(name) else { continue };
        for (part, params) in parts {
            if let Some(spec) = experiment.work.get_mut(part) {
                spec.params.0.extend(params.0.clone());
            }
        }
    }
    if let Some(looks) = &quick.looks {
        study_part.looks.clone_from(looks);
    }
    study_part
}

/// Factors that nothing uses: their levels are repetitions of the same scene.
pub(super) fn unused_factors(experiment: &Experiment) -> Vec<&str> {
    let params = experiment.work.values().flat_map(|spec| spec.params.0.values());
    let used: Vec<&str> =
        params.chain(experiment.conditions.values()).flat_map(crate::substitute::factors_in).collect();
    experiment.factors.keys().map(String::as_str).filter(|name| !used.contains(name)).collect()
}

/// The factors whose levels are grouped within a block.
pub(super) fn hard_factors(experiment: &Experiment) -> Vec<String> {
    let hard = |(_, factor): &(&String, &Factor)| factor.is_hard_to_change();
    experiment.factors.iter().filter(hard).map(|(name, _)| name.clone()).collect()
}
