//! A study as an engine runs it: its workloads ask for the engine, and what the
//! study has for that engine stands in the place of what `--quick` would run.

use crate::file::{Experiment, OnEngine, Quick, Study};
use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;

/// The parameter by which a workload takes an engine.
const PARAMETER: &str = "engine";

/// Makes `study` run on the engine `name`.
///
/// # Errors
/// A usage fault where nothing in the study takes an engine.
pub(crate) fn apply(study: &mut Study, registry: &Registry, name: &str, quick: bool) -> Result<(), Fault> {
    let able = |experiment: &Experiment| {
        experiment.work.values().all(|spec| {
            registry.workload(&spec.kind).is_ok_and(|workload| workload.parameters().contains(PARAMETER))
        })
    };
    let able: Vec<String> =
        study.experiment.iter().filter(|(_, e)| able(e)).map(|(name, _)| name.clone()).collect();
    if able.is_empty() {
        return Err(Fault::usage("no experiment of this study can run on another engine")
            .at("--engine")
            .remedy("leave it out; crosstalk show WORKLOAD tells which take the parameter `engine`"));
    }
    let section = std::mem::take(&mut study.engine).remove(name);
    for (experiment, spec) in study.experiment.iter_mut().filter(|(name, _)| able.contains(name)) {
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
        (Some(section), _) => say(study, section, quick),
        (None, Some(own)) if quick => only(own, &able),
        (None, _) => everything(&able),
    });
    Ok(())
}

/// Writes what the study has for the engine into it; returns what is run.
fn say(study: &mut Study, section: OnEngine, quick: bool) -> Quick {
    for claim in study.claim.values_mut().filter(|_| section.directions_only) {
        claim.margin = None;
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

/// Of the study's own quick part what the engine can run.
fn only(mut quick: Quick, able: &[String]) -> Quick {
    quick.experiment.retain(|name, _| able.contains(name));
    quick.work.retain(|name, _| able.contains(name));
    quick
}

/// Every experiment that can, with all its levels.
fn everything(able: &[String]) -> Quick {
    let experiment = able.iter().map(|name| (name.clone(), Default::default())).collect();
    Quick { experiment, ..Quick::default() }
}
