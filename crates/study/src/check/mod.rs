//! Checks of a study file against itself: unknown names, levels that no factor has, claims that no data could refute. Every
//! fault has its line.

mod claim;
mod draw;
mod experiment;
mod limits;
mod names;
mod refutable;

use crate::file::{OnEngine, Quick, Study};
use crate::name::file_name;
use crate::scale::parse_scale;
use crate::stages::pending_factors;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use names::{find, level};

pub(crate) use limits::{distinct, looks, warmup};

/// Checks a study against itself.
pub(crate) fn check(study: &Study) -> Result<(), Fault> {
    file_name("study", &study.name).map_err(|fault| fault.at(study.key_lines.location_of("name")))?;
    looks(&study.looks).map_err(|fault| fault.at(study.key_lines.location_of("looks")))?;
    warmup(study.warmup).map_err(|fault| fault.at(study.key_lines.location_of("warmup")))?;
    if study.experiment.is_empty() {
        return Err(Fault::usage("a study needs at least one experiment")
            .at(study.key_lines.location_of("experiment"))
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
    quick.chain(engines).try_for_each(|(path, some)| reduced_part(study, some, &path))?;
    study.engine.iter().try_for_each(|(name, on)| engine(study, name, on))
}

/// Checks what every study that is yet to run has to say. Those that have run may lack it.
pub(crate) fn check_new(study: &Study) -> Result<(), Fault> {
    study.claim.iter().try_for_each(|(name, claim)| refutable::refutable(study, name, claim))
}

/// Checks an engine's section: its scale, and the claims that it names.
fn engine(study: &Study, name: &str, on: &OnEngine) -> Result<(), Fault> {
    let at = |key: &str| study.key_lines.location_of(&format!("engine.{name}.{key}"));
    if let Some(ratio) = on.scale {
        parse_scale(&ratio.into()).map_err(|fault| fault.at(at("scale")))?;
    }
    let named = on.not_comparable.keys().map(|claim| (claim, format!("not_comparable.{claim}")));
    for (claim, key) in named.chain(on.comparable.iter().map(|claim| (claim, "comparable".to_string()))) {
        let Some(found) = study.claim.get(claim) else {
            let fault = unknown("claim", claim, study.claim.keys().map(String::as_str));
            return Err(fault.at(at(&key)));
        };
        if key == "comparable" && on.not_comparable.contains_key(claim) {
            return Err(Fault::usage(format!("claim `{claim}` is in `comparable` and in `not_comparable`"))
                .at(at(&key))
                .remedy("leave it out of one of them"));
        }
        if key == "comparable" && found.not_comparable.is_none() {
            return Err(Fault::usage(format!("claim `{claim}` is comparable on every engine"))
                .at(at(&key))
                .remedy("leave it out"));
        }
    }
    Ok(())
}

/// Refuses a part of the study that keeps an experiment but not the one whose result it takes.
fn earlier_result_kept(study: &Study, quick: &Quick, name: &str) -> Result<(), Fault> {
    let listed = |factor: &str| quick.experiment[name].contains_key(factor);
    let mut pending = pending_factors(study, name).filter(|(factor, _)| !listed(factor));
    match pending.find(|(_, from)| !quick.experiment.contains_key(&from.experiment)) {
        None => Ok(()),
        Some((factor, from)) => Err(Fault::usage(format!(
            "factor `{factor}` waits for the result of experiment `{}`, which is left out here",
            from.experiment
        ))
        .remedy(format!("keep `{}` as well, or list levels: {{ {factor} = [1, 2] }}", from.experiment))),
    }
}

/// Checks the part of a study that `quick` or an engine names, at the key `at`.
fn reduced_part(study: &Study, quick: &Quick, at: &str) -> Result<(), Fault> {
    if let Some(some) = &quick.looks {
        looks(some).map_err(|fault| fault.at(study.key_lines.location_of(&format!("{at}.looks"))))?;
    }
    for (name, factors) in &quick.experiment {
        let path = format!("{at}.experiment.{name}");
        let experiment = find(study, name, &path)?;
        for (factor, remaining) in factors {
            let path = format!("{path}.{factor}");
            distinct(remaining).map_err(|fault| fault.at(study.key_lines.location_of(&path)))?;
            for value in remaining {
                level(study, experiment, factor, value, &path)?;
            }
        }
    }
    for name in quick.experiment.keys() {
        earlier_result_kept(study, quick, name)
            .map_err(|fault| fault.at(study.key_lines.location_of(&format!("{at}.experiment.{name}"))))?;
    }
    for (name, parts) in &quick.work {
        let path = format!("{at}.work.{name}");
        let experiment = find(study, name, &path)?;
        if let Some(part) = parts.keys().find(|part| !experiment.work.contains_key(*part)) {
            let fault = unknown("work", part, experiment.work.keys().map(String::as_str));
            return Err(fault.at(study.key_lines.location_of(&format!("{path}.{part}"))));
        }
    }
    Ok(())
}
