//! The order of an attempt: all agents prepare; background work begins; once it is steady, foreground work
//! begins; when that has ended, background work is stopped.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Outcome, Part, Step, ToAgent};
use crosstalk_core::units::Seconds;

use super::cause::part_fault;
use super::context::AttemptError;
use super::state::{Attempt, Results};
use crate::agent_pool::{AgentEvent, AgentId};

/// How long an agent may take to stop after `Cancel`.
const TERMINATION_GRACE: Duration = Duration::from_secs(5);

/// The address at which each node of each workload listens, by slot and node.
type Endpoints = Vec<Vec<Option<SocketAddr>>>;

impl Attempt<'_, '_> {
    /// Runs all work, and stops it if the attempt fails.
    pub fn run_all_work(
        &mut self,
        background: &BTreeSet<AgentId>,
        foreground: &BTreeSet<AgentId>,
        results: &mut Results,
    ) -> Result<(), AttemptError> {
        // The time to apply conditions does not count.
        self.until = Instant::now() + self.context.deadline;
        let outcome = self.run_in_order(background, foreground, results);
        if outcome.is_err() {
            // Paused work could not end.
            self.end_conditions(results);
            self.cancel(results);
        }
        outcome
    }

    fn run_in_order(
        &mut self,
        background: &BTreeSet<AgentId>,
        foreground: &BTreeSet<AgentId>,
        results: &mut Results,
    ) -> Result<(), AttemptError> {
        self.awaits = "for all nodes to be ready";
        let endpoints = self.prepare(results)?;
        self.go(background, &endpoints)?;
        self.awaits = "for background work to be steady";
        self.await_steady(background, results)?;
        self.step(|_| Step::Begin, results)?;
        self.go(foreground, &endpoints)?;
        self.awaits = "for its end";
        self.await_end(foreground, results)?;
        self.awaits = "for background work to end";
        for agent in background {
            self.pool.send(*agent, &ToAgent::Cancel)?;
        }
        // After `Cancel`, so that background work does nothing without the conditions.
        self.step(|_| Step::End, results)?;
        self.await_end(background, results)
    }

    fn go(&mut self, agents: &BTreeSet<AgentId>, endpoints: &Endpoints) -> Result<(), Fault> {
        agents.iter().try_for_each(|agent| {
            self.pool.send(*agent, &ToAgent::Go { endpoints: endpoints[agent.slot].clone() })
        })
    }

    fn prepare(&mut self, results: &mut Results) -> Result<Endpoints, AttemptError> {
        let scene = self.scene;
        for (slot, work) in scene.work.values().enumerate() {
            let nodes = work.nodes;
            let addresses = self.pool.addresses(nodes);
            for node in 0..nodes {
                let part = Part {
                    workload: work.kind.clone(),
                    params: work.params.clone(),
                    node,
                    nodes,
                    addresses: addresses.clone(),
                    emulation: self.context.emulation.clone(),
                    deadline: Seconds(self.context.deadline.as_secs_f64()),
                    shared: self.pool.shared_folder(),
                    keep_schedule: self.context.keep_schedule,
                    scratch: Default::default(),
                    artifacts: None,
                    seed: self.context.seed,
                };
                let agent = AgentId::new(slot, node);
                self.pool.send(agent, &ToAgent::Prepare { part: Box::new(part) })?;
                results.unfinished.insert(agent);
            }
        }
        let mut endpoints: Endpoints = scene.work.values().map(|work| vec![None; work.nodes]).collect();
        let mut waiting = results.unfinished.clone();
        while !waiting.is_empty() {
            match self.next_message()? {
                (agent, FromAgent::Ready { endpoint }) => {
                    endpoints[agent.slot][agent.node] = endpoint;
                    waiting.remove(&agent);
                }
                (agent, FromAgent::Done(outcome)) => {
                    results.unfinished.remove(&agent);
                    return Err(part_fault(scene, agent, outcome).into());
                }
                _ => {}
            }
        }
        Ok(endpoints)
    }

    /// Waits until all of `agents` have reported that they are steady.
    fn await_steady(
        &mut self,
        agents: &BTreeSet<AgentId>,
        results: &mut Results,
    ) -> Result<(), AttemptError> {
        let mut waiting = agents.clone();
        while !waiting.is_empty() {
            match self.next_message()? {
                (agent, FromAgent::Steady) => drop(waiting.remove(&agent)),
                (agent, FromAgent::Done(Outcome::Finished { .. })) => {
                    results.unfinished.remove(&agent);
                    return Err(Fault::attempt("it ended before it was steady").on(agent.node).into());
                }
                (agent, message) => self.note_message(agent, message, results)?,
            }
        }
        Ok(())
    }

    /// Waits until all of `agents` have ended, and notes what agents report meanwhile.
    fn await_end(&mut self, agents: &BTreeSet<AgentId>, results: &mut Results) -> Result<(), AttemptError> {
        while agents.iter().any(|agent| results.unfinished.contains(agent)) {
            let (agent, message) = self.next_message()?;
            self.note_message(agent, message, results)?;
        }
        Ok(())
    }

    /// Stops all agents that have not ended. One that does not stop within the grace is abandoned.
    fn cancel(&mut self, results: &mut Results) {
        results.unfinished.retain(|agent| self.pool.send(*agent, &ToAgent::Cancel).is_ok());
        let until = Instant::now() + TERMINATION_GRACE;
        while !results.unfinished.is_empty() {
            match self.pool.next_event(until.saturating_duration_since(Instant::now())) {
                Some((agent, AgentEvent::Message(FromAgent::Done(_)) | AgentEvent::Gone(_))) => {
                    results.unfinished.remove(&agent);
                }
                Some((agent, AgentEvent::Message(FromAgent::Artifact(piece)))) => {
                    // The attempt has failed for another reason.
                    let _ = results.artifacts.store_piece(agent, piece);
                }
                Some(_) => {}
                None => break,
            }
        }
        for agent in std::mem::take(&mut results.unfinished) {
            self.pool.abandon(agent);
        }
    }
}
