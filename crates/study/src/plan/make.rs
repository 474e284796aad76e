//! Study, catalogues, registry and options → plan.

use super::scene::Maker;
use super::{Place, Plan, PlanOptions, PlannedExperiment, cells, metrics, same};
use crate::catalogue::Catalogues;
use crate::check;
use crate::factor::EQUAL;
use crate::file::{Experiment, Study};
use crate::rules::MOST_CELLS;
use crate::stages;
use crate::substitute::factors_in;
use crate::words::{counted, list};
use cells::Known;
use crosstalk_core::Fault;
use crosstalk_core::need::{Need, Unmet};
use crosstalk_core::record::Metric;
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a study against itself and the catalogues, before anything is written into it.
pub(crate) fn check(study: &Study, catalogues: &Catalogues) -> Result<(), Fault> {
    check::check(study)?;
    metrics::published(study, catalogues)
}

/// Makes a resolved study concrete: every cell with its scene, checked against the
/// catalogues and the registry. How many questions it asks, who judges them counts.
pub(crate) fn plan(
    resolved: &Study,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
) -> Result<Plan, Fault> {
    // An engine's part of the study stands in the place of the quick one.
    let cut = options.quick || options.engine.is_some();
    let study = if cut { cells::cut_down(resolved) } else { resolved.clone() };
    let mut warnings = Vec::new();
    if cut && study.quick.is_none() {
        warnings.push("the study has no [quick] section: all its cells are run, until its first look".into());
    }
    let mut experiments = Vec::new();
    for name in study.experiment.keys() {
        experiments.push(experiment(resolved, &study, name, catalogues, registry, options, &mut warnings)?);
    }
    one_meaning(&experiments)?;
    metrics::check(&study, &experiments)?;
    lacking(&mut experiments, registry)?;
    warnings.extend(missing(&study, &experiments, registry)?);
    let mut looks = study.looks.clone();
    if cut && study.quick.is_none() && options.looks.is_none() {
        looks.truncate(1);
    }
    Ok(Plan {
        study: study.name.clone(),
        seed: study.seed,
        quick: options.quick,
        cut,
        looks,
        warmup: study.warmup,
        questions: 0,
        to_come: 0,
        experiments,
        warnings,
    })
}

/// One experiment with its cells, or why it must wait for them. `whole` is the
/// study before `--quick` cut it down: earlier results are sought there.
fn experiment(
    whole: &Study,
    study: &Study,
    name: &str,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
    warnings: &mut Vec<String>,
) -> Result<PlannedExperiment, Fault> {
    let experiment = &study.experiment[name];
    let mut pending = None;
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (factor, spec) in &experiment.factors {
        let source = if spec.listed() { study } else { whole };
        let levels = match cells::levels(source, name, factor, options) {
            Known::Levels(levels) => levels,
            Known::Waiting { why, possible } => {
                pending.get_or_insert(why);
                possible.into_iter().take(1).collect()
            }
        };
        all.insert(factor.clone(), levels);
    }
    let maker = Maker { study, name, experiment, catalogues, registry };
    let mut planned = PlannedExperiment {
        name: name.to_string(),
        metrics: Vec::new(),
        hard: cells::hard(experiment),
        blocks: experiment.blocks,
        cells: Vec::new(),
        pending,
        stage: stages::stage(whole, name),
    };
    let many = all.values().fold(1_usize, |n, levels| n.saturating_mul(levels.len()));
    if many > MOST_CELLS {
        return Err(Fault::usage(format!(
            "experiment `{name}` combines its levels to {many} cells: expected at most {}",
            MOST_CELLS
        ))
        .at(study.written.at(&format!("experiment.{name}.factors")))
        .remedy("take fewer levels, or an experiment for each question"));
    }
    let combinations = cells::combine(&all, experiment);
    if combinations.is_empty() && planned.pending.is_none() {
        return Err(Fault::usage(format!("experiment `{name}` excludes all its cells"))
            .at(study.written.at(&format!("experiment.{name}.exclude"))));
    }
    for levels in combinations {
        let (cell, metrics) = maker.cell(&levels)?;
        join(&mut planned.metrics, metrics);
        planned.cells.push(cell);
    }
    compares_something(study, name, experiment)?;
    compares_over_links(study, name, experiment, &planned.cells)?;
    for observer in &experiment.observe {
        let observer = registry
            .observer(observer)
            .map_err(|fault| fault.at(study.written.at(&format!("experiment.{name}.observe"))))?;
        join(&mut planned.metrics, observer.metrics());
    }
    if let Some(why) = &planned.pending {
        // The cells above stood in for the ones to come: they were made for their faults and metrics.
        planned.cells.clear();
        warnings.push(format!("experiment `{name}` has no cells yet: {why}"));
    }
    warnings.extend(remarks(study, name, &planned, registry));
    Ok(planned)
}

fn join(metrics: &mut Vec<Metric>, more: Vec<Metric>) {
    for metric in more {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
}

/// What is compared differs in more than its name: else a run would measure
/// noise for hours, and call it a comparison.
fn compares_something(study: &Study, name: &str, experiment: &Experiment) -> Result<(), Fault> {
    let idle = cells::idle_factors(experiment);
    let compared = experiment.compare.as_ref().map(|compare| compare.factor.as_str());
    match compared.filter(|factor| *factor != EQUAL && idle.contains(factor)) {
        None => Ok(()),
        Some(factor) => Err(Fault::usage(format!(
            "nothing takes factor `{factor}`, so its levels are the same scene and cannot be compared"
        ))
        .at(study.written.at(&format!("experiment.{name}.factors.{factor}")))
        .remedy(format!(
            "use \"${factor}\" in the experiment's work or conditions; call the factor `{EQUAL}` to measure noise"
        ))),
    }
}

/// What is compared by its links alone has links: one node has none.
fn compares_over_links(
    study: &Study,
    name: &str,
    experiment: &Experiment,
    cells: &[super::Cell],
) -> Result<(), Fault> {
    let Some(factor) = experiment.compare.as_ref().map(|compare| &compare.factor) else { return Ok(()) };
    let reference = Value::from(format!("${factor}"));
    let works = experiment.work.values().flat_map(|work| work.params.0.values());
    let others =
        experiment.conditions.iter().filter(|(name, _)| !["fabric", "scale"].contains(&name.as_str()));
    let is_used =
        works.chain(others.map(|(_, value)| value)).any(|value| factors_in(value).contains(&factor.as_str()));
    let shapes = experiment.conditions.values().any(|value| *value == reference);
    let alone = |cell: &super::Cell| matches!(cell.scene.place, Place::Real { nodes: 1, .. });
    let levels: BTreeSet<String> =
        cells.iter().filter_map(|cell| cell.id.levels.get(factor)).map(ToString::to_string).collect();
    if is_used || !shapes || levels.len() < 2 || !cells.iter().all(alone) {
        return Ok(());
    }
    let place = study.written.at(&format!("experiment.{name}.factors.{factor}"));
    let is_file = place.contains(':');
    Err(Fault::usage(format!("one node has no link, so `{factor}` changes nothing"))
        .at(if is_file { place } else { format!("--vary {factor}") })
        .remedy(if is_file {
            "run the work on 2 nodes or more"
        } else {
            "name two nodes or more: --nodes 2"
        }))
}

/// What a reader of the plan should know about one experiment.
fn remarks(study: &Study, name: &str, planned: &PlannedExperiment, registry: &Registry) -> Vec<String> {
    let experiment = &study.experiment[name];
    let idle = cells::idle_factors(experiment);
    let mut remarks: Vec<String> = idle
        .iter()
        .filter(|factor| **factor != EQUAL)
        .map(|factor| {
            format!(
                "experiment `{name}`: nothing takes factor `{factor}`, so its levels repeat the same scene"
            )
        })
        .collect();
    for factor in experiment.factors.keys().filter(|factor| !idle.contains(&factor.as_str())) {
        remarks.extend(same::levels(planned, factor, registry).into_iter().map(|levels| {
            let levels: Vec<String> = levels.iter().map(|level| format!("`{level}`")).collect();
            format!("experiment `{name}`: {} of `{factor}` are the same on this machine", list(&levels))
        }));
    }
    if let Some(compare) = &experiment.compare {
        let runs = |cell: &super::Cell| cell.id.levels.get(&compare.factor) == Some(&compare.base);
        if planned.pending.is_none() && !planned.cells.iter().any(runs) {
            remarks.push(format!(
                "experiment `{name}`: {} = {} is not run, so nothing is compared with it",
                compare.factor, compare.base
            ));
        }
    }
    remarks
}

/// A metric's name has one meaning in a study.
fn one_meaning(experiments: &[PlannedExperiment]) -> Result<(), Fault> {
    let mut known: BTreeMap<&str, &Metric> = BTreeMap::new();
    for metric in experiments.iter().flat_map(|experiment| &experiment.metrics) {
        let first = *known.entry(&metric.name).or_insert(metric);
        if first != metric {
            return Err(Fault::usage(format!(
                "metric `{}` is reported in two ways ({} and {})",
                metric.name, first.unit, metric.unit
            ))
            .remedy("put the workloads that report it into studies of their own"));
        }
    }
    Ok(())
}

/// Marks the cells whose work needs what this host lacks. Each kind of work with the same
/// parameters is asked once.
fn lacking(experiments: &mut [PlannedExperiment], registry: &Registry) -> Result<(), Fault> {
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for cell in experiments.iter_mut().flat_map(|planned| &mut planned.cells) {
        for work in cell.scene.work.values() {
            let lacks = match known.entry(format!("{} {:?}", work.kind, work.params)) {
                Entry::Occupied(entry) => entry.get().clone(),
                Entry::Vacant(entry) => {
                    let needs = registry.workload(&work.kind)?.needs(&work.params);
                    entry.insert(needs.into_iter().find_map(|need| unmet(&work.kind, need))).clone()
                }
            };
            cell.lacks = cell.lacks.take().or(lacks);
        }
    }
    Ok(())
}

/// What a part needs of this host and does not find, with the remedy.
fn unmet(part: &str, need: Need) -> Option<String> {
    let Unmet { what, consequence, remedy } = need.unmet()?;
    let remedy = remedy.map(|remedy| format!(" (try: {remedy})")).unwrap_or_default();
    Some(format!("`{part}` needs {what}: {consequence}{remedy}"))
}

/// What this host lacks, each with how many cells are therefore not run; and what is not seen
/// or set in those that are.
fn missing(
    study: &Study,
    experiments: &[PlannedExperiment],
    registry: &Registry,
) -> Result<Vec<String>, Fault> {
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    for lacks in
        experiments.iter().flat_map(|planned| &planned.cells).filter_map(|cell| cell.lacks.as_deref())
    {
        *not_run.entry(lacks).or_default() += 1;
    }
    let mut sentences: Vec<String> = not_run
        .into_iter()
        .map(|(lacks, cells)| format!("{lacks}; not run: {}", counted(cells, "cell")))
        .collect();
    let mut seen = BTreeSet::new();
    for experiment in study.experiment.values() {
        for name in experiment.observe.iter().filter(|name| seen.insert((*name).clone())) {
            sentences
                .extend(registry.observer(name)?.needs().into_iter().filter_map(|need| unmet(name, need)));
        }
        for name in experiment.conditions.keys() {
            if let Ok(condition) = registry.condition(name)
                && seen.insert(name.clone())
            {
                sentences.extend(condition.needs().into_iter().filter_map(|need| unmet(name, need)));
            }
        }
    }
    Ok(sentences)
}
