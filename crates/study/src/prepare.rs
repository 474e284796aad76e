//! A study prepared for a run: resolved and planned, once.

use crate::analyse::count_questions;
use crate::catalogue::Catalogues;
use crate::emulate::emulation;
use crate::file::Study;
use crate::plan::cells::with_assumed_levels;
use crate::plan::{Plan, PlanOptions, budget, make};
use crate::resolve::resolve;
use crate::uncertain::Uncertainty;
use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;

/// A resolved study and its plan.
#[derive(Debug, Clone)]
pub struct PreparedStudy {
    /// The resolved study, with all of its experiments: `--quick` reduces the plan alone.
    pub study: Study,
    /// Its plan, without the cells of experiments that wait for an earlier result.
    pub plan: Plan,
    /// The plan with those cells too, at an assumed level of each pending factor: places and numbers of nodes do not
    /// depend on the level.
    pub full_plan: Plan,
}

/// Resolves a study and plans it.
///
/// # Errors
/// A usage fault with file and line where the study or a setting names something that does not exist, or asks for
/// something impossible.
pub fn prepare(
    study: &Study,
    catalogues: &Catalogues,
    registry: &Registry,
    options: &PlanOptions,
) -> Result<PreparedStudy, Fault> {
    make::check(study, catalogues)?;
    let study = resolve(study, registry, options)?;
    let mut plan = make::plan(&study, catalogues, registry, options)?;
    let clusters = plan.cells().filter_map(|cell| emulation(catalogues, &cell.scene.place).transpose());
    // Before anything runs: what a parameter follows is needed when the run has ended.
    Uncertainty::of(catalogues, &clusters.collect::<Result<Vec<_>, _>>()?)?;
    let now = count_questions(&study, catalogues, &plan);
    let pending = plan.experiments.iter().any(|experiment| experiment.pending.is_some());
    let mut full_plan = match pending {
        true => make::plan(&study, catalogues, registry, &with_assumed_levels(&study, options))?,
        false => plan.clone(),
    };
    full_plan.questions = if pending { count_questions(&study, catalogues, &full_plan) } else { now };
    plan.questions = full_plan.questions;
    plan.pending_questions = plan.questions.saturating_sub(now);
    plan.warnings.extend(budget::warning(&plan));
    Ok(PreparedStudy { study, plan, full_plan })
}

/// The plan of a study alone.
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
