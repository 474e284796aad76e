//! Looks up what a study file names: experiments, factors and levels.

use crate::file::{Experiment, Study};
use crate::label::{label, split};
use crosstalk_core::name::unknown;
use crosstalk_core::value::{Levels, Value};
use crosstalk_core::{Fault, quoted};

/// The experiment that the key at `path` names.
pub(super) fn find<'a>(study: &'a Study, name: &str, path: &str) -> Result<&'a Experiment, Fault> {
    study.experiment.get(name).ok_or_else(|| {
        unknown("experiment", name, study.experiment.keys().map(String::as_str))
            .at(study.key_lines.location_of(path))
    })
}

/// The factor that the key at `path` names.
pub(super) fn factor(study: &Study, experiment: &Experiment, name: &str, path: &str) -> Result<(), Fault> {
    if experiment.factors.contains_key(name) {
        return Ok(());
    }
    Err(unknown("factor", name, experiment.factors.keys().map(String::as_str))
        .at(study.key_lines.location_of(path)))
}

/// The factor that the key at `path` names, or the label of readings in its place.
pub(super) fn axis(study: &Study, experiment: &Experiment, name: &str, path: &str) -> Result<(), Fault> {
    if label(name).is_some() { Ok(()) } else { factor(study, experiment, name, path) }
}

/// The level that the key at `path` names. Levels from the host or an earlier result are not checked.
pub(super) fn level(
    study: &Study,
    experiment: &Experiment,
    name: &str,
    value: &Value,
    path: &str,
) -> Result<(), Fault> {
    factor(study, experiment, name, path)?;
    let Some(factor) = experiment.factors.get(name).filter(|factor| factor.has_listed_levels()) else {
        return Ok(());
    };
    if factor.nameable_levels().any(|known| known == value) {
        return Ok(());
    }
    let known: Vec<String> = factor.nameable_levels().map(ToString::to_string).collect();
    Err(Fault::usage(format!("factor `{name}` has no level `{}`", quoted(value.to_string())))
        .at(study.key_lines.location_of(path))
        .remedy(format!("one of: {}", known.join(", "))))
}

/// Every level that the table at `path` names, without those of labels, which are known from a run only.
pub(super) fn factor_levels(
    study: &Study,
    experiment: &Experiment,
    at: &Levels,
    path: &str,
) -> Result<(), Fault> {
    levels(study, experiment, &split(at).0, path)
}

/// Every level that the table at `path` names.
pub(super) fn levels(study: &Study, experiment: &Experiment, at: &Levels, path: &str) -> Result<(), Fault> {
    at.iter().try_for_each(|(name, value)| level(study, experiment, name, value, &format!("{path}.{name}")))
}
