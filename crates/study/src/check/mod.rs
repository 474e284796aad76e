//! What a study file alone can tell is wrong: names that nothing bears, levels
//! that no factor has, predicates that do not read. Every fault has its line.

mod claim;
mod draw;
mod experiment;

use crate::file::{Experiment, OnEngine, Quick, Study};
use crate::label::{label, split};
use crate::plan::{MOST_CELLS, place};
use crosstalk_core::name::unknown;
use crosstalk_core::value::{Levels, Value};
use crosstalk_core::{Fault, quoted};

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

/// Files and directories are called after it: it must not lead elsewhere.
pub(crate) fn file_name(what: &str, name: &str) -> Result<(), Fault> {
    if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        return Err(Fault::usage(format!(
            "expected a {what}'s name without slashes, found `{}`",
            quoted(name)
        )));
    }
    Ok(())
}

/// More blocks than this no run would ever finish: at one attempt a second they take more than a day.
const MOST_BLOCKS: usize = 100_000;
/// More interim analyses than this leave none of them anything to spend.
const MOST_LOOKS: usize = 1_000;

/// Looks ascend from 1, and end.
pub(crate) fn looks(looks: &[usize]) -> Result<(), Fault> {
    if looks.len() > MOST_LOOKS {
        return Err(Fault::usage(format!(
            "expected at most {MOST_LOOKS} interim analyses (--looks), found {}",
            looks.len()
        ))
        .remedy("write for example looks = [12, 24, 48]"));
    }
    if let Some(many) = looks.iter().find(|look| **look > MOST_BLOCKS) {
        return Err(Fault::usage(format!(
            "expected interim analyses (--looks) of at most {MOST_BLOCKS} blocks, found {many}: such a run would not end"
        ))
        .remedy("write for example looks = [12, 24, 48]"));
    }
    let ascending = looks.windows(2).all(|pair| pair[0] < pair[1]);
    if looks.is_empty() || looks[0] < 1 || !ascending {
        return Err(Fault::usage(format!("expected looks that ascend from at least 1, found {looks:?}"))
            .remedy("write for example looks = [12, 24, 48]"));
    }
    Ok(())
}

/// Runs of each cell that do not count end, too.
pub(crate) fn warmup(runs: usize) -> Result<(), Fault> {
    if runs <= MOST_BLOCKS {
        return Ok(());
    }
    Err(Fault::usage(format!("expected at most {MOST_BLOCKS} runs to warm up, found {runs}")))
}

/// Levels are some, no more than a run can have cells, and none comes twice.
pub(crate) fn distinct(levels: &[Value]) -> Result<(), Fault> {
    if levels.is_empty() {
        return Err(Fault::usage("expected at least one level"));
    }
    few(levels)?;
    match levels.iter().enumerate().find(|(i, level)| levels[..*i].contains(level)) {
        Some((_, twice)) => Err(Fault::usage(format!("level `{twice}` is listed twice"))),
        None => Ok(()),
    }
}

/// No more levels than a run can have cells.
fn few(levels: &[Value]) -> Result<(), Fault> {
    if levels.len() <= MOST_CELLS {
        return Ok(());
    }
    Err(Fault::usage(format!("expected at most {MOST_CELLS} levels, found {}", levels.len()))
        .remedy("take fewer levels"))
}

/// An engine's links have a rate, and its claims are the study's.
fn engine(study: &Study, name: &str, on: &OnEngine) -> Result<(), Fault> {
    let at = |key: &str| study.written.at(&format!("engine.{name}.{key}"));
    if let Some(scale) = on.scale {
        place::scale(&scale.into()).map_err(|fault| fault.at(at("scale")))?;
    }
    match on.not_comparable.keys().find(|claim| !study.claim.contains_key(*claim)) {
        None => Ok(()),
        Some(claim) => {
            let fault = unknown("claim", claim, study.claim.keys().map(String::as_str));
            Err(fault.at(at(&format!("not_comparable.{claim}"))))
        }
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

/// The experiment that the key at `path` names.
fn find<'a>(study: &'a Study, name: &str, path: &str) -> Result<&'a Experiment, Fault> {
    study.experiment.get(name).ok_or_else(|| {
        unknown("experiment", name, study.experiment.keys().map(String::as_str)).at(study.written.at(path))
    })
}

/// The factor that the key at `path` names.
fn factor(study: &Study, experiment: &Experiment, name: &str, path: &str) -> Result<(), Fault> {
    if experiment.factors.contains_key(name) {
        return Ok(());
    }
    Err(unknown("factor", name, experiment.factors.keys().map(String::as_str)).at(study.written.at(path)))
}

/// The factor that the key at `path` names, or the label of readings in its place.
fn axis(study: &Study, experiment: &Experiment, name: &str, path: &str) -> Result<(), Fault> {
    if label(name).is_some() { Ok(()) } else { factor(study, experiment, name, path) }
}

/// The level that the key at `path` names. Levels that only the host or an
/// earlier result can tell are not checked.
fn level(study: &Study, experiment: &Experiment, name: &str, value: &Value, path: &str) -> Result<(), Fault> {
    factor(study, experiment, name, path)?;
    let Some(factor) = experiment.factors.get(name).filter(|factor| factor.listed()) else { return Ok(()) };
    if factor.named().any(|known| known == value) {
        return Ok(());
    }
    let known: Vec<String> = factor.named().map(ToString::to_string).collect();
    Err(Fault::usage(format!("factor `{name}` has no level `{}`", quoted(value.to_string())))
        .at(study.written.at(path))
        .remedy(format!("one of: {}", known.join(", "))))
}

/// Every level that the table at `path` names; what a label's are, only a run can tell.
fn places(study: &Study, experiment: &Experiment, at: &Levels, path: &str) -> Result<(), Fault> {
    levels(study, experiment, &split(at).0, path)
}

/// Every level that the table at `path` names.
fn levels(study: &Study, experiment: &Experiment, at: &Levels, path: &str) -> Result<(), Fault> {
    at.iter().try_for_each(|(name, value)| level(study, experiment, name, value, &format!("{path}.{name}")))
}
