//! The state of one attempt: its agents, what they have reported, and what is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::{FromAgent, Outcome};
use crosstalk_study::plan::Scene;

use super::artifact_store::ArtifactStore;
use super::cause::{deadline_fault, explains, part_fault};
use super::context::{AttemptContext, AttemptError, ReadingSink};
use super::keepers::Assignments;
use crate::agent_pool::{AgentEvent, AgentId, AgentPool, POLL_INTERVAL};

/// What the agents of an attempt have reported so far.
pub struct Results<'a> {
    /// Agents whose part has not ended yet.
    pub unfinished: BTreeSet<AgentId>,
    pub journal: &'a mut ReadingSink<'a>,
    /// The counters of all nodes' fidelity monitors; `None` in real time.
    pub fidelity: Option<Fidelity>,
    pub artifacts: ArtifactStore<'a>,
}

/// An attempt that is running, as the runner sees it.
pub struct Attempt<'a, 't> {
    pub pool: &'a mut AgentPool<'t>,
    pub scene: &'a Scene,
    pub context: &'a AttemptContext<'a>,
    pub assignments: Assignments,
    /// Keepers that have not answered yet, with the number of their pending answers.
    pub pending: BTreeMap<AgentId, usize>,
    /// What is waited for, for the fault when the deadline passes.
    pub awaits: &'static str,
    /// When the deadline passes.
    pub until: Instant,
}

impl<'a, 't> Attempt<'a, 't> {
    /// An attempt of `scene` that begins now.
    pub fn new(
        pool: &'a mut AgentPool<'t>,
        scene: &'a Scene,
        context: &'a AttemptContext<'a>,
        assignments: Assignments,
    ) -> Self {
        let until = Instant::now() + context.deadline;
        Attempt { pool, scene, context, assignments, pending: BTreeMap::new(), awaits: "to begin", until }
    }

    /// Notes what an agent has reported.
    pub fn note_message(
        &mut self,
        agent: AgentId,
        message: FromAgent,
        results: &mut Results,
    ) -> Result<(), AttemptError> {
        match message {
            FromAgent::Sample { reading, at, n } => {
                (results.journal)(reading, at, n).map_err(AttemptError::Journal)?
            }
            FromAgent::Artifact(piece) => {
                results.artifacts.store_piece(agent, piece).map_err(|fault| fault.on(agent.node))?
            }
            FromAgent::Done(Outcome::Finished { fidelity }) => {
                results.unfinished.remove(&agent);
                if let Some(fidelity) = fidelity {
                    results.fidelity.get_or_insert_default().merge(fidelity);
                }
            }
            FromAgent::Done(outcome) => {
                results.unfinished.remove(&agent);
                return Err(self.first_cause(agent, outcome, &mut results.unfinished).into());
            }
            _ => {}
        }
        Ok(())
    }

    /// The next message of an agent, within the deadline.
    pub fn next_message(&mut self) -> Result<(AgentId, FromAgent), AttemptError> {
        loop {
            if self.context.interrupted.load(Ordering::SeqCst) {
                return Err(Fault::interrupted().into());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(deadline_fault(self.context.deadline, self.awaits).into());
            }
            match self.pool.next_event(left.min(POLL_INTERVAL)) {
                Some((agent, AgentEvent::Message(message))) => return Ok((agent, message)),
                Some((_, AgentEvent::Gone(fault))) => return Err(fault.into()),
                None => {}
            }
        }
    }

    /// The fault to report after `agent` failed. When a node fails its peers fail too, and their reports
    /// may come first. So this waits a little for a node that is gone, or whose fault explains the first.
    fn first_cause(&mut self, agent: AgentId, outcome: Outcome, unfinished: &mut BTreeSet<AgentId>) -> Fault {
        let first = part_fault(self.scene, agent, outcome);
        let until = Instant::now() + POLL_INTERVAL;
        while !unfinished.is_empty() && Instant::now() < until {
            match self.pool.next_event(until.saturating_duration_since(Instant::now())) {
                Some((gone, AgentEvent::Gone(fault))) => {
                    unfinished.remove(&gone);
                    return fault;
                }
                Some((other, AgentEvent::Message(FromAgent::Done(outcome)))) => {
                    unfinished.remove(&other);
                    let has_failed = matches!(outcome, Outcome::Failed { .. });
                    let fault = part_fault(self.scene, other, outcome);
                    if has_failed && explains((&fault, other), (&first, agent)) {
                        return fault;
                    }
                }
                _ => {}
            }
        }
        first
    }
}
