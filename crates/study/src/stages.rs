//! Which experiments are run before which: one whose factor takes a level `from` another's result waits for it.
//!
//! All experiments of a stage are run, block by block, until their data suffice; then the levels for the next
//! stage are known.

use crate::file::{FromResult, Study};

/// The factors of an experiment that wait for a result, each with what it is taken from.
pub(crate) fn waiting<'a>(
    study: &'a Study,
    experiment: &str,
) -> impl Iterator<Item = (&'a str, &'a FromResult)> {
    let factors = study.experiment.get(experiment).into_iter().flat_map(|found| &found.factors);
    factors.filter_map(|(name, factor)| Some((name.as_str(), factor.detail()?.from.as_ref()?)))
}

/// How many stages are run before an experiment's: none where it waits for nothing. In a study that was checked
/// nothing waits for itself.
pub(crate) fn stage(study: &Study, experiment: &str) -> usize {
    let before = waiting(study, experiment).map(|(_, from)| stage(study, &from.experiment) + 1);
    before.max().unwrap_or(0)
}

/// The name of a factor among all of a study: `grouped.tasks`.
pub(crate) fn key(experiment: &str, factor: &str) -> String {
    format!("{experiment}.{factor}")
}
