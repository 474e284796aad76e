//! What a study file alone can tell is wrong: names that nothing bears, levels
//! that no factor has, predicates that do not read. Every fault has its line.

mod claim;
mod draw;
mod experiment;
mod limits;
mod names;

use crate::file::{OnEngine, Quick, Study};
use crate::name::file_name;
use crate::scale::scale;
use crate::stages::waiting;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use names::{find, level};

pub(crate) use limits::{distinct, looks, warmup};

/// Checks a study against itself.
pub(crate) fn check(study: &Study) -> Result<(), Fault> {
    file_name("study", &study.name).map_err(|fault| fault.at(study.written.at("name")))?;
    looks(&study.looks).map_err(|fault| fault.at(study.written.at("looks")))?;
    warmup(study.warmup).map_err(|fault| fault.at(study.written.at("warmup")))?;
    if study.experiment.is_empty() {
        return Err(Fault::usage("a study needs at least one experiment")
            .at(study.written.at("experiment"))
            .remedy("add a section [experiment.NAME] with work and factors"));
    }
    for (name, experiment) in &study.experiment {
        experiment::check(study, name, experiment)?;
    }
    for (name, claim) in &study.claim {
        claim::check(study, name, claim)?;
    }
    draw::check(study)?;
    let quick = study.quick.iter().map(|quick| ("quick".to_string(), quick));
    let engines = study.engine.iter().flat_map(|(name, on)| {
        let whole = (format!("engine.{name}.whole"), &on.whole);
        let quick = on.quick.iter().map(move |quick| (format!("engine.{name}.quick"), quick));
        std::iter::once(whole).chain(quick)
    });
    quick.chain(engines).try_for_each(|(path, some)| cut(study, some, &path))?;
    study.engine.iter().try_for_each(|(name, on)| engine(study, name, on))
}

/// An engine's links have a rate, and its claims are the study's.
fn engine(study: &Study, name: &str, on: &OnEngine) -> Result<(), Fault> {
    let at = |key: &str| study.written.at(&format!("engine.{name}.{key}"));
    if let Some(ratio) = on.scale {
        scale(&ratio.into()).map_err(|fault| fault.at(at("scale")))?;
    }
    match on.not_comparable.keys().find(|claim| !study.claim.contains_key(*claim)) {
        None => Ok(()),
        Some(claim) => {
            let fault = unknown("claim", claim, study.claim.keys().map(String::as_str));
            Err(fault.at(at(&format!("not_comparable.{claim}"))))
        }
    }
}

/// What an experiment that is kept takes from another's result is kept, too.
fn source(study: &Study, quick: &Quick, name: &str) -> Result<(), Fault> {
    let listed = |factor: &str| quick.experiment[name].contains_key(factor);
    let mut waiting = waiting(study, name).filter(|(factor, _)| !listed(factor));
    match waiting.find(|(_, from)| !quick.experiment.contains_key(&from.experiment)) {
        None => Ok(()),
        Some((factor, from)) => Err(Fault::usage(format!(
            "factor `{factor}` waits for the result of experiment `{}`, which is left out here",
            from.experiment
        ))
        .remedy(format!("keep `{}` as well, or list levels: {{ {factor} = [1, 2] }}", from.experiment))),
    }
}

/// What is kept of a study is there, at `path` in its file.
fn cut(study: &Study, quick: &Quick, at: &str) -> Result<(), Fault> {
    if let Some(some) = &quick.looks {
        looks(some).map_err(|fault| fault.at(study.written.at(&format!("{at}.looks"))))?;
    }
    for (name, factors) in &quick.experiment {
        let path = format!("{at}.experiment.{name}");
        let experiment = find(study, name, &path)?;
        for (factor, remaining) in factors {
            let path = format!("{path}.{factor}");
            distinct(remaining).map_err(|fault| fault.at(study.written.at(&path)))?;
            for value in remaining {
                level(study, experiment, factor, value, &path)?;
            }
        }
    }
    for name in quick.experiment.keys() {
        source(study, quick, name)
            .map_err(|fault| fault.at(study.written.at(&format!("{at}.experiment.{name}"))))?;
    }
    for (name, parts) in &quick.work {
        let path = format!("{at}.work.{name}");
        let experiment = find(study, name, &path)?;
        if let Some(part) = parts.keys().find(|part| !experiment.work.contains_key(*part)) {
            let fault = unknown("work", part, experiment.work.keys().map(String::as_str));
            return Err(fault.at(study.written.at(&format!("{path}.{part}"))));
        }
    }
    Ok(())
}
