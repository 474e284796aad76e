//! A study made ready to be run: resolved and planned, once.

use crate::analyse::questions;
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::plan::cells::stand_ins;
use crate::plan::{Plan, PlanOptions, budget, make};
use crate::resolve::resolve;
use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;

/// A study with what was set written into it, and its plan.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The whole study; `--quick` cuts down the plan alone.
    pub study: Study,
    /// What is run of it, as far as it is known.
    pub plan: Plan,
    /// The same with some level of their own for factors that wait for an earlier result: where it is run, and on
    /// how many nodes, does not depend on which.
    pub whole: Plan,
}

/// Resolves a study and makes its plan.
///
/// # Errors
/// A usage fault with file and line where the study, or a setting, names something that is
/// not there, or asks for what cannot be.
pub fn prepare(
    study: &Study,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
) -> Result<Prepared, Fault> {
    make::check(study, catalogues)?;
    let study = resolve(study, registry, options)?;
    let mut plan = make::plan(&study, catalogues, registry, options)?;
    let now = questions(&study, catalogues, &plan);
    let pending = plan.experiments.iter().any(|experiment| experiment.pending.is_some());
    let mut whole = match pending {
        true => make::plan(&study, catalogues, registry, &stand_ins(&study, options))?,
        false => plan.clone(),
    };
    whole.questions = if pending { questions(&study, catalogues, &whole) } else { now };
    plan.questions = whole.questions;
    plan.to_come = plan.questions.saturating_sub(now);
    plan.warnings.extend(budget::warning(&plan));
    Ok(Prepared { study, plan, whole })
}

/// The plan of a study, where only that is asked for.
///
/// # Errors
/// Those of [`prepare`].
pub fn plan(
    study: &Study,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
) -> Result<Plan, Fault> {
    prepare(study, catalogues, registry, options).map(|prepared| prepared.plan)
}
