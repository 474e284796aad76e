//! The agents that take part in one attempt, and what they report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::{FromAgent, Outcome};
use crosstalk_study::plan::Scene;

use super::cause::{explains, failed, too_late};
use super::context::{Given, Keep, Trouble};
use super::inbox::Inbox;
use super::kept::Kept;
use crate::troupe::{GLANCE, Heard, Seat, Troupe};

/// What an attempt has come to.
pub struct Seen<'a> {
    /// Seats that still owe us the end of their part.
    pub busy: BTreeSet<Seat>,
    pub journal: &'a mut Keep<'a>,
    pub fidelity: Option<Fidelity>,
    pub inbox: Inbox<'a>,
}

/// The agents that take part in one attempt.
pub struct Cast<'a, 't> {
    pub troupe: &'a mut Troupe<'t>,
    pub scene: &'a Scene,
    pub given: &'a Given<'a>,
    pub kept: Kept,
    /// Keepers, and how many answers they owe us.
    pub owing: BTreeMap<Seat, usize>,
    /// What is waited for.
    pub awaits: &'static str,
    pub until: Instant,
}

impl<'a, 't> Cast<'a, 't> {
    pub fn new(troupe: &'a mut Troupe<'t>, scene: &'a Scene, given: &'a Given<'a>, kept: Kept) -> Self {
        let until = Instant::now() + given.deadline;
        Cast { troupe, scene, given, kept, owing: BTreeMap::new(), awaits: "to begin", until }
    }

    /// Takes a message in.
    pub fn take(&mut self, seat: Seat, message: FromAgent, seen: &mut Seen) -> Result<(), Trouble> {
        match message {
            FromAgent::Sample { reading, at, n } => {
                (seen.journal)(reading, at, n).map_err(Trouble::Journal)?
            }
            FromAgent::Artifact(piece) => seen.inbox.take(seat, piece).map_err(|fault| fault.on(seat.1))?,
            FromAgent::Done(Outcome::Finished { fidelity }) => {
                seen.busy.remove(&seat);
                if let Some(fidelity) = fidelity {
                    seen.fidelity.get_or_insert_default().merge(fidelity);
                }
            }
            FromAgent::Done(outcome) => {
                seen.busy.remove(&seat);
                return Err(self.first_cause(seat, outcome, &mut seen.busy).into());
            }
            _ => {}
        }
        Ok(())
    }

    /// The next message from one of our seats, within the deadline.
    pub fn hear(&mut self) -> Result<(Seat, FromAgent), Trouble> {
        loop {
            if self.given.interrupted.load(Ordering::SeqCst) {
                return Err(Fault::interrupted().into());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(too_late(self.given.deadline, self.awaits).into());
            }
            match self.troupe.hear(left.min(GLANCE)) {
                Some((seat, Heard::Message(message))) => return Ok((seat, message)),
                Some((_, Heard::Gone(why))) => return Err(why.into()),
                None => {}
            }
        }
    }

    /// When one node fails its peers fail too, often before it is heard itself: listen a
    /// little longer for a node that is gone, or that says why it went, the cause of the rest.
    fn first_cause(&mut self, seat: Seat, outcome: Outcome, busy: &mut BTreeSet<Seat>) -> Fault {
        let first = failed(self.scene, seat, outcome);
        let until = Instant::now() + GLANCE;
        while !busy.is_empty() && Instant::now() < until {
            match self.troupe.hear(until.saturating_duration_since(Instant::now())) {
                Some((gone, Heard::Gone(why))) => {
                    busy.remove(&gone);
                    return why;
                }
                Some((other, Heard::Message(FromAgent::Done(outcome)))) => {
                    busy.remove(&other);
                    let failure = matches!(outcome, Outcome::Failed { .. });
                    let told = failed(self.scene, other, outcome);
                    if failure && explains((&told, other), (&first, seat)) {
                        return told;
                    }
                }
                _ => {}
            }
        }
        first
    }
}
