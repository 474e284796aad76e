//! The keepers' steps around an attempt: conditions are applied and observers attached before it, and
//! all is undone after it.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Step, Surroundings, ToAgent};

use super::cast::{Cast, Seen};
use super::context::Trouble;
use crate::troupe::{Heard, KEEPER, Seat};

/// How long undoing may take: a guard of background work has 5 s to end, and then its group goes.
const UNDONE: Duration = Duration::from_secs(20);

impl Cast<'_, '_> {
    /// Has all conditions and observers stand.
    pub fn put(&mut self, seen: &mut Seen) -> Result<(), Trouble> {
        self.awaits = "for its conditions to hold";
        self.step(|surroundings| Step::Put(surroundings.clone()), seen)
    }

    /// Has every keeper take a step, and waits until all have; meanwhile the rest goes on.
    pub fn step(&mut self, step: impl Fn(&Surroundings) -> Step, seen: &mut Seen) -> Result<(), Trouble> {
        self.tell_keepers(step)?;
        let mut outcome = Ok(());
        while !self.owing.is_empty() {
            match self.hear()? {
                (seat, FromAgent::Surrounded { fault }) => outcome = outcome.and(self.answered(seat, fault)),
                (seat, message) => self.take(seat, message, seen)?,
            }
        }
        Ok(outcome?)
    }

    /// Has what could keep work that lasts from ending end, though the attempt has failed.
    pub fn end_anyhow(&mut self, seen: &mut Seen) {
        // What broke off has its own reason.
        let _ = self.tell_keepers(|_| Step::End).map_err(Trouble::from).and_then(|()| self.settle(seen));
    }

    /// Has observers tell what they saw, and conditions undone, however the attempt has ended.
    pub fn clear(&mut self, seen: &mut Seen) -> Result<(), Trouble> {
        let told = self.tell_keepers(|_| Step::Clear).map_err(Trouble::from);
        let settled = self.settle(seen);
        told.and(settled)
    }

    fn tell_keepers(&mut self, step: impl Fn(&Surroundings) -> Step) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for (node, surroundings) in &self.kept.0 {
            let seat = (KEEPER, *node);
            match self.troupe.tell(seat, &ToAgent::Surround { step: step(surroundings) }) {
                Ok(()) => *self.owing.entry(seat).or_default() += 1,
                Err(fault) => {
                    // Who is gone answers nothing that it was told before either.
                    self.owing.remove(&seat);
                    outcome = outcome.and(Err(fault));
                }
            }
        }
        outcome
    }

    /// Notes that a keeper has answered.
    fn answered(&mut self, seat: Seat, fault: Option<Fault>) -> Result<(), Fault> {
        if let Some(owed) = self.owing.get_mut(&seat) {
            *owed -= 1;
            if *owed == 0 {
                self.owing.remove(&seat);
            }
        }
        fault.map_or(Ok(()), |fault| Err(fault.on(seat.1)))
    }

    /// Waits until every keeper has answered all that it was told, though the user has interrupted or the
    /// deadline has passed. One that does not is let go: its own ledger undoes what it did.
    fn settle(&mut self, seen: &mut Seen) -> Result<(), Trouble> {
        let (until, mut outcome) = (Instant::now() + UNDONE, Ok(()));
        while !self.owing.is_empty() {
            match self.troupe.hear(until.saturating_duration_since(Instant::now())) {
                Some((seat, Heard::Message(FromAgent::Surrounded { fault }))) => {
                    let answered = self.answered(seat, fault).map_err(Trouble::from);
                    outcome = outcome.and(answered);
                }
                Some((_, Heard::Message(FromAgent::Sample { reading, at, n }))) => {
                    (seen.journal)(reading, at, n).map_err(Trouble::Journal)?;
                }
                Some((seat, Heard::Gone(why))) => {
                    seen.busy.remove(&seat);
                    if self.owing.remove(&seat).is_some() {
                        outcome = outcome.and(Err(why.into()));
                    }
                }
                Some((seat, Heard::Message(FromAgent::Done(_)))) => drop(seen.busy.remove(&seat)),
                Some(_) => {}
                None => {
                    for (seat, _) in std::mem::take(&mut self.owing) {
                        self.troupe.dismiss(seat);
                        let late = format!("its conditions were not undone within {} s", UNDONE.as_secs());
                        outcome = outcome.and(Err(Fault::environment(late).on(seat.1).into()));
                    }
                }
            }
        }
        outcome
    }
}
