//! A study on another engine: its workloads get the engine as a parameter, and the engine's section of the study replaces
//! the quick one.

use crate::file::{Experiment, OnEngine, Quick, Study};
use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;

/// The parameter of workloads that sets their engine.
const PARAMETER: &str = "engine";

/// Makes `study` run on the engine `name`.
///
/// # Errors
/// A usage fault where nothing in the study takes an engine.
pub(crate) fn apply(study: &mut Study, registry: &Registry, name: &str, quick: bool) -> Result<(), Fault> {
    let capable = |experiment: &Experiment| {
        experiment.work.values().all(|spec| {
            registry.workload(&spec.kind).is_ok_and(|workload| workload.parameters().contains(PARAMETER))
        })
    };
    let capable: Vec<String> =
        study.experiment.iter().filter(|(_, e)| capable(e)).map(|(name, _)| name.clone()).collect();
    if capable.is_empty() {
        return Err(Fault::usage("no experiment of this study can run on another engine")
            .at("--engine")
            .remedy("leave it out; crosstalk show WORKLOAD says which take the parameter `engine`"));
    }
    let section = std::mem::take(&mut study.engine).remove(name);
    for (experiment, spec) in study.experiment.iter_mut().filter(|(name, _)| capable.contains(name)) {
        for work in spec.work.values_mut() {
            work.params.0.entry(PARAMETER.into()).or_insert_with(|| Value::Text(name.into()));
        }
        if let Some(OnEngine { scale: Some(scale), whole, .. }) = &section
            && whole.experiment.contains_key(experiment)
        {
            spec.conditions.insert("scale".into(), (*scale).into());
        }
    }
    study.quick = Some(match (section, study.quick.take()) {
        (Some(section), _) => apply_section(study, section, quick),
        (None, Some(own)) if quick => restricted(own, &capable),
        (None, _) => all_of(&capable),
    });
    Ok(())
}

/// Applies an engine's section to the study, and returns the part that is run.
fn apply_section(study: &mut Study, section: OnEngine, quick: bool) -> Quick {
    for claim in study.claim.values_mut().filter(|_| section.directions_only) {
        if claim.margin.take().is_none() {
            continue;
        }
        if claim.expect.is_some() || claim.states_itself() {
            claim.size_not_comparable = Some("on this engine only directions are tested".into());
        } else {
            claim.not_comparable.get_or_insert_with(|| {
                "on this engine only directions are tested, and it claims a size".into()
            });
        }
    }
    for claim in section.comparable {
        if let Some(found) = study.claim.get_mut(&claim) {
            found.not_comparable = None;
        }
    }
    for (claim, why) in section.not_comparable {
        if let Some(found) = study.claim.get_mut(&claim) {
            (found.not_comparable, found.primary) = (Some(why), false);
        }
    }
    if !section.about.is_empty() {
        study.about = section.about;
    }
    study.remark = section.remark;
    section.quick.filter(|_| quick).unwrap_or(section.whole)
}

/// The study's quick part, restricted to experiments that the engine can run.
fn restricted(mut quick: Quick, capable: &[String]) -> Quick {
    quick.experiment.retain(|name, _| capable.contains(name));
    quick.work.retain(|name, _| capable.contains(name));
    quick
}

/// All levels of all experiments that the engine can run.
fn all_of(capable: &[String]) -> Quick {
    let experiment = capable.iter().map(|name| (name.clone(), Default::default())).collect();
    Quick { experiment, ..Quick::default() }
}
