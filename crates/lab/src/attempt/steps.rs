//! The keepers' steps: conditions are applied and observers attached before an attempt's work, and undone
//! after it.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Step, Surroundings, ToAgent};

use super::context::AttemptError;
use super::state::{Attempt, Results};
use crate::agent_pool::{AgentEvent, AgentId};

/// How long undoing may take. A guard of background work has 5 s to end before its group is removed.
const UNDO_TIMEOUT: Duration = Duration::from_secs(20);

impl Attempt<'_, '_> {
    /// Applies all conditions and attaches all observers.
    pub fn set_up(&mut self, results: &mut Results) -> Result<(), AttemptError> {
        self.awaits = "for its conditions to hold";
        self.step(|surroundings| Step::Put(surroundings.clone()), results)
    }

    /// Lets every keeper do a step, and waits for all of them. Work continues meanwhile.
    pub fn step(
        &mut self,
        step: impl Fn(&Surroundings) -> Step,
        results: &mut Results,
    ) -> Result<(), AttemptError> {
        self.send_to_keepers(step)?;
        let mut outcome = Ok(());
        while !self.pending.is_empty() {
            match self.next_message()? {
                (agent, FromAgent::Surrounded { fault }) => {
                    outcome = outcome.and(self.note_answer(agent, fault))
                }
                (agent, message) => self.note_message(agent, message, results)?,
            }
        }
        Ok(outcome?)
    }

    /// After a failure, ends what could keep background work from ending.
    pub fn end_conditions(&mut self, results: &mut Results) {
        // The attempt's failure is reported, not this one.
        let sent = self.send_to_keepers(|_| Step::End).map_err(AttemptError::from);
        let _ = sent.and_then(|()| self.await_answers(results));
    }

    /// Detaches the observers and undoes the conditions, however the attempt has ended.
    pub fn tear_down(&mut self, results: &mut Results) -> Result<(), AttemptError> {
        let sent = self.send_to_keepers(|_| Step::Clear).map_err(AttemptError::from);
        let answered = self.await_answers(results);
        sent.and(answered)
    }

    fn send_to_keepers(&mut self, step: impl Fn(&Surroundings) -> Step) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for (node, surroundings) in &self.assignments.0 {
            let agent = AgentId::keeper(*node);
            match self.pool.send(agent, &ToAgent::Surround { step: step(surroundings) }) {
                Ok(()) => *self.pending.entry(agent).or_default() += 1,
                Err(fault) => {
                    // A keeper that is gone does not answer earlier steps either.
                    self.pending.remove(&agent);
                    outcome = outcome.and(Err(fault));
                }
            }
        }
        outcome
    }

    /// Notes a keeper's answer.
    fn note_answer(&mut self, agent: AgentId, fault: Option<Fault>) -> Result<(), Fault> {
        if let Some(answers) = self.pending.get_mut(&agent) {
            *answers -= 1;
            if *answers == 0 {
                self.pending.remove(&agent);
            }
        }
        fault.map_or(Ok(()), |fault| Err(fault.on(agent.node)))
    }

    /// Waits until every keeper has answered all its steps, also after an interruption or the deadline.
    /// A keeper that does not answer is abandoned: its own undo ledger undoes what it did.
    fn await_answers(&mut self, results: &mut Results) -> Result<(), AttemptError> {
        let (until, mut outcome) = (Instant::now() + UNDO_TIMEOUT, Ok(()));
        while !self.pending.is_empty() {
            match self.pool.next_event(until.saturating_duration_since(Instant::now())) {
                Some((agent, AgentEvent::Message(FromAgent::Surrounded { fault }))) => {
                    let answer = self.note_answer(agent, fault).map_err(AttemptError::from);
                    outcome = outcome.and(answer);
                }
                Some((_, AgentEvent::Message(FromAgent::Sample { reading, at, n }))) => {
                    (results.journal)(reading, at, n).map_err(AttemptError::Journal)?;
                }
                Some((agent, AgentEvent::Gone(fault))) => {
                    results.unfinished.remove(&agent);
                    if self.pending.remove(&agent).is_some() {
                        outcome = outcome.and(Err(fault.into()));
                    }
                }
                Some((agent, AgentEvent::Message(FromAgent::Done(_)))) => {
                    results.unfinished.remove(&agent);
                }
                Some(_) => {}
                None => {
                    for (agent, _) in std::mem::take(&mut self.pending) {
                        self.pool.abandon(agent);
                        let late =
                            format!("its conditions were not undone within {} s", UNDO_TIMEOUT.as_secs());
                        outcome = outcome.and(Err(Fault::environment(late).on(agent.node).into()));
                    }
                }
            }
        }
        outcome
    }
}
