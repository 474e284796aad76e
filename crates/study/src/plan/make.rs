//! Makes a plan from a study, catalogues, registry and options.

use super::base::missing_base;
use super::scene::CellBuilder;
use super::{Cell, Place, Plan, PlanOptions, PlannedExperiment, Work, cells, equal_levels, metrics, needs};
use crate::catalogue::Catalogues;
use crate::check;
use crate::factor::AA_FACTOR;
use crate::file::{Experiment, Study};
use crate::rules::MOST_CELLS;
use crate::stages;
use crate::substitute::factors_in;
use crate::words::join_in_words;
use cells::FactorLevels;
use crosstalk_core::Fault;
use crosstalk_core::record::Metric;
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a study against itself and the catalogues, before it is resolved.
pub(crate) fn check(study: &Study, catalogues: &Catalogues) -> Result<(), Fault> {
    check::check(study)?;
    metrics::published(study, catalogues)
}

/// Plans a resolved study: every cell with its scene, checked against the catalogues and the registry. The numbers of
/// questions are set afterwards, by [`crate::prepare`].
pub(crate) fn plan(
    resolved: &Study,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
) -> Result<Plan, Fault> {
    // An engine's section replaces the quick one.
    let reduced = options.quick || options.engine.is_some();
    let study = if reduced { cells::reduced(resolved) } else { resolved.clone() };
    let mut warnings = Vec::new();
    if reduced && study.quick.is_none() {
        warnings.push(
            "the study has no [quick] section: all its cells are run, until the first interim analysis"
                .into(),
        );
    }
    let mut experiments = Vec::new();
    for name in study.experiment.keys() {
        experiments.push(experiment(resolved, &study, name, catalogues, registry, options, &mut warnings)?);
    }
    one_meaning(&experiments)?;
    metrics::check(&study, &experiments)?;
    needs::mark_unmet(&mut experiments, registry)?;
    warnings.extend(needs::unmet_around_work(&study, registry)?);
    let mut looks = study.looks.clone();
    if reduced && study.quick.is_none() && options.looks.is_none() {
        looks.truncate(1);
    }
    Ok(Plan {
        study: study.name.clone(),
        seed: study.seed,
        quick: options.quick,
        reduced,
        looks,
        warmup: study.warmup,
        questions: 0,
        pending_questions: 0,
        experiments,
        warnings,
    })
}

/// Plans one experiment: its cells, or why it has none yet. `whole` is the study before it was reduced: earlier results
/// are looked up there.
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
        let source = if spec.has_listed_levels() { study } else { whole };
        let levels = match cells::levels(source, name, factor, options) {
            FactorLevels::Known(levels) => levels,
            FactorLevels::Pending { why, possible } => {
                pending.get_or_insert(why);
                possible.into_iter().take(1).collect()
            }
        };
        all.insert(factor.clone(), levels);
    }
    let builder = CellBuilder { study, name, experiment, catalogues, registry };
    let mut planned = PlannedExperiment {
        name: name.to_string(),
        metrics: Vec::new(),
        hard: cells::hard_factors(experiment),
        blocks: experiment.blocks,
        computed: false,
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
        .at(study.key_lines.location_of(&format!("experiment.{name}.factors")))
        .remedy("take fewer levels, or an experiment for each question"));
    }
    let combinations = cells::combine(&all, experiment);
    if combinations.is_empty() && planned.pending.is_none() {
        return Err(Fault::usage(format!("experiment `{name}` excludes all its cells"))
            .at(study.key_lines.location_of(&format!("experiment.{name}.exclude"))));
    }
    for levels in combinations {
        let (cell, metrics) = builder.cell(&levels)?;
        add_new(&mut planned.metrics, metrics);
        planned.cells.push(cell);
    }
    planned.computed =
        !planned.cells.is_empty() && planned.cells.iter().all(|cell| is_computed(cell, registry));
    if planned.computed {
        measures_noise(study, name, experiment)?;
        planned.blocks = Some(1);
    }
    compares_something(study, name, experiment)?;
    compares_over_links(study, name, experiment, &planned.cells)?;
    for observer in &experiment.observe {
        let observer = registry
            .observer(observer)
            .map_err(|fault| fault.at(study.key_lines.location_of(&format!("experiment.{name}.observe"))))?;
        add_new(&mut planned.metrics, observer.metrics());
    }
    if let Some(why) = &planned.pending {
        // The cells above have assumed levels: they were made for their faults and metrics.
        planned.cells.clear();
        warnings.push(format!("experiment `{name}` comes later: {why}"));
    }
    warnings.extend(remarks(study, name, &planned, registry));
    Ok(planned)
}

fn add_new(metrics: &mut Vec<Metric>, more: Vec<Metric>) {
    for metric in more {
        match metrics.iter_mut().find(|known| known.means_the_same(&metric)) {
            Some(known) => known.above_zero &= metric.above_zero,
            None => metrics.push(metric),
        }
    }
}

/// Whether all numbers of a cell follow from the parameters of an emulated cluster.
fn is_computed(cell: &Cell, registry: &Registry) -> bool {
    let computed =
        |work: &Work| registry.workload(&work.kind).is_ok_and(|workload| workload.is_computed(&work.params));
    matches!(cell.scene.place, Place::Virtual { .. }) && cell.scene.work.values().all(computed)
}

/// Refuses to measure the noise of numbers that have none.
fn measures_noise(study: &Study, name: &str, experiment: &Experiment) -> Result<(), Fault> {
    if !experiment.factors.contains_key(AA_FACTOR) {
        return Ok(());
    }
    Err(Fault::usage(format!("experiment `{name}` is computed from a model, so equal cells do not differ"))
        .at(study.key_lines.location_of(&format!("experiment.{name}.factors.{AA_FACTOR}")))
        .remedy("leave the experiment out: numbers without noise have no noise floor"))
}

/// Refuses a comparison of levels that change nothing: it would only measure noise.
fn compares_something(study: &Study, name: &str, experiment: &Experiment) -> Result<(), Fault> {
    let unused = cells::unused_factors(experiment);
    let compared = experiment.compare.as_ref().map(|compare| compare.factor.as_str());
    match compared.filter(|factor| *factor != AA_FACTOR && unused.contains(factor)) {
        None => Ok(()),
        Some(factor) => Err(Fault::usage(format!(
            "nothing uses factor `{factor}`, so its levels are the same scene and cannot be compared"
        ))
        .at(study.key_lines.location_of(&format!("experiment.{name}.factors.{factor}")))
        .remedy(format!(
            "use \"${factor}\" in the experiment's work or conditions; call the factor `{AA_FACTOR}` to measure noise"
        ))),
    }
}

/// Refuses a comparison of links alone on a single node, which has no link.
fn compares_over_links(
    study: &Study,
    name: &str,
    experiment: &Experiment,
    cells: &[Cell],
) -> Result<(), Fault> {
    let Some(factor) = experiment.compare.as_ref().map(|compare| &compare.factor) else { return Ok(()) };
    let reference = Value::from(format!("${factor}"));
    let works = experiment.work.values().flat_map(|work| work.params.0.values());
    let others =
        experiment.conditions.iter().filter(|(name, _)| !["fabric", "scale"].contains(&name.as_str()));
    let is_used =
        works.chain(others.map(|(_, value)| value)).any(|value| factors_in(value).contains(&factor.as_str()));
    let shapes = experiment.conditions.values().any(|value| *value == reference);
    let alone = |cell: &Cell| matches!(cell.scene.place, Place::Real { nodes: 1, .. });
    let levels: BTreeSet<String> =
        cells.iter().filter_map(|cell| cell.id.levels.get(factor)).map(ToString::to_string).collect();
    if is_used || !shapes || levels.len() < 2 || !cells.iter().all(alone) {
        return Ok(());
    }
    let place = study.key_lines.location_of(&format!("experiment.{name}.factors.{factor}"));
    let is_file = place.contains(':');
    Err(Fault::usage(format!("one node has no link, so `{factor}` changes nothing"))
        .at(if is_file { place } else { format!("--vary {factor}") })
        .remedy(if is_file {
            "run the work on 2 nodes or more"
        } else {
            "name two nodes or more: --nodes 2"
        }))
}

/// Warnings about one experiment.
fn remarks(study: &Study, name: &str, planned: &PlannedExperiment, registry: &Registry) -> Vec<String> {
    let experiment = &study.experiment[name];
    let unused = cells::unused_factors(experiment);
    let mut remarks: Vec<String> = unused
        .iter()
        .filter(|factor| **factor != AA_FACTOR)
        .map(|factor| {
            format!(
                "experiment `{name}`: nothing uses factor `{factor}`, so its levels repeat the same scene"
            )
        })
        .collect();
    for factor in experiment.factors.keys().filter(|factor| !unused.contains(&factor.as_str())) {
        remarks.extend(equal_levels::equal_levels(planned, factor, registry).into_iter().map(|levels| {
            let levels: Vec<String> = levels.iter().map(|level| format!("`{level}`")).collect();
            format!(
                "experiment `{name}`: {} of `{factor}` are the same on this machine",
                join_in_words(&levels)
            )
        }));
    }
    remarks.extend(missing_base(experiment, planned).map(|text| format!("experiment `{name}`: {text}")));
    remarks
}

/// Refuses metrics with one name and two declarations.
fn one_meaning(experiments: &[PlannedExperiment]) -> Result<(), Fault> {
    let mut known: BTreeMap<&str, &Metric> = BTreeMap::new();
    for metric in experiments.iter().flat_map(|experiment| &experiment.metrics) {
        let first = *known.entry(&metric.name).or_insert(metric);
        if !first.means_the_same(metric) {
            return Err(Fault::usage(format!(
                "metric `{}` is reported in two ways ({} and {})",
                metric.name, first.unit, metric.unit
            ))
            .remedy("put the workloads that report it into studies of their own"));
        }
    }
    Ok(())
}
