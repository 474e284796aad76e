//! Stages: an experiment whose factor takes a level `from` another's result runs in a later stage.
//!
//! All experiments of a stage run block by block until their data suffice. Then the levels for the next stage are known.

use crate::file::{FromResult, Study};

/// The pending factors of an experiment, each with the earlier result that gives its level.
pub(crate) fn pending_factors<'a>(
    study: &'a Study,
    experiment: &str,
) -> impl Iterator<Item = (&'a str, &'a FromResult)> {
    let factors = study.experiment.get(experiment).into_iter().flat_map(|found| &found.factors);
    factors.filter_map(|(name, factor)| Some((name.as_str(), factor.spec()?.from.as_ref()?)))
}

/// An experiment's stage: 0 where it has no pending factor. In a checked study no experiment waits for itself.
pub(crate) fn stage(study: &Study, experiment: &str) -> usize {
    let before = pending_factors(study, experiment).map(|(_, from)| stage(study, &from.experiment) + 1);
    before.max().unwrap_or(0)
}

/// A factor's name within the whole study: `grouped.tasks`.
pub(crate) fn factor_key(experiment: &str, factor: &str) -> String {
    format!("{experiment}.{factor}")
}
