//! One attempt at one cell: the keepers apply its conditions and attach its observers, the agents
//! run its work, and then everything is undone.
//!
//! Background work runs until it is stopped; foreground work ends by itself.

mod artifact_store;
mod cause;
mod context;
mod keepers;
mod sequence;
mod state;
mod steps;

use std::collections::BTreeSet;

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::record::Status;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::Scene;

use crate::agent_pool::{AgentId, AgentPool};
use artifact_store::ArtifactStore;
use context::{AttemptError, ReadingSink};
use state::{Attempt, Results};

pub use context::AttemptContext;

/// How an attempt ended.
pub struct AttemptResult {
    pub status: Status,
    /// Why it failed.
    pub reason: Option<String>,
    /// Whether it failed by a usage fault, which every further attempt would have too.
    pub is_usage_fault: bool,
    pub fidelity: Option<Fidelity>,
}

/// Runs `scene` once, and passes every reading to `journal` as it arrives.
///
/// # Errors
/// Those of `journal` only. Every other fault is part of the result.
pub fn perform(
    pool: &mut AgentPool,
    scene: &Scene,
    context: &AttemptContext,
    journal: &mut ReadingSink,
) -> Result<AttemptResult, Fault> {
    let without_reason =
        |status, fidelity| AttemptResult { status, reason: None, is_usage_fault: false, fidelity };
    match run_scene(pool, scene, context, journal) {
        Ok(fidelity) => Ok(without_reason(Status::Finished, fidelity)),
        Err(AttemptError::Journal(fault)) => Err(fault),
        Err(AttemptError::Attempt(fault)) if fault.kind == FaultKind::Interrupted => {
            Ok(without_reason(Status::Interrupted, None))
        }
        Err(AttemptError::Attempt(fault)) => Ok(AttemptResult {
            status: Status::Failed,
            reason: Some(fault.sentence()),
            is_usage_fault: fault.kind == FaultKind::Usage,
            fidelity: None,
        }),
    }
}

fn run_scene(
    pool: &mut AgentPool,
    scene: &Scene,
    context: &AttemptContext,
    journal: &mut ReadingSink,
) -> Result<Option<Fidelity>, AttemptError> {
    pool.set_links(&scene.place)?;
    let (background, foreground) = (agents(scene, true), agents(scene, false));
    let mut assignments = keepers::assign_to_keepers(scene, context.registry, pool)?;
    let all: Vec<AgentId> =
        background.iter().chain(&foreground).copied().chain(assignments.keepers()).collect();
    pool.ensure_started(&all)?;
    assignments.name_background_processes(pool, &background);
    let mut results = Results {
        unfinished: BTreeSet::new(),
        journal,
        fidelity: None,
        artifacts: ArtifactStore::new(context.artifacts.as_deref()),
    };
    let mut attempt = Attempt::new(pool, scene, context, assignments);
    let outcome = attempt
        .set_up(&mut results)
        .and_then(|()| attempt.run_all_work(&background, &foreground, &mut results));
    let torn_down = attempt.tear_down(&mut results);
    match (outcome, torn_down) {
        (Err(AttemptError::Attempt(_)), Err(AttemptError::Journal(fault))) => {
            Err(AttemptError::Journal(fault))
        }
        (Err(error), _) | (Ok(()), Err(error)) => Err(error),
        (Ok(()), Ok(())) => Ok(results.fidelity),
    }
}

/// The agents of a scene's background or foreground work.
fn agents(scene: &Scene, background: bool) -> BTreeSet<AgentId> {
    let work = scene.work.values().enumerate().filter(|(_, work)| work.lasts == background);
    work.flat_map(|(slot, work)| (0..work.nodes).map(move |node| AgentId::new(slot, node))).collect()
}
