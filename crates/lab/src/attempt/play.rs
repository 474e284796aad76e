//! The order of an attempt: all get ready; what lasts begins; once it is steady the rest begins; when that
//! has ended, what lasts is cancelled.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Outcome, Part, Step, ToAgent};
use crosstalk_core::units::Seconds;

use super::cast::{Cast, Seen};
use super::cause::failed;
use super::context::Trouble;
use crate::troupe::{Heard, Seat};

/// How long an agent may take to stop once it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// Where each node of each work listens, by the work's place in the scene.
type Endpoints = Vec<Vec<Option<SocketAddr>>>;

impl Cast<'_, '_> {
    /// Has all parts performed.
    pub fn play(
        &mut self,
        lasting: &BTreeSet<Seat>,
        ending: &BTreeSet<Seat>,
        seen: &mut Seen,
    ) -> Result<(), Trouble> {
        // Its conditions hold now: that took none of the time that the work has.
        self.until = Instant::now() + self.given.deadline;
        let result = self.in_order(lasting, ending, seen);
        if result.is_err() {
            // What is paused does not end.
            self.end_anyhow(seen);
            self.call_off(seen);
        }
        result
    }

    fn in_order(
        &mut self,
        lasting: &BTreeSet<Seat>,
        ending: &BTreeSet<Seat>,
        seen: &mut Seen,
    ) -> Result<(), Trouble> {
        self.awaits = "for all to be ready";
        let endpoints = self.prepare(seen)?;
        // What lasts is steady before the rest begins, and ends after it.
        self.go(lasting, &endpoints)?;
        self.awaits = "for work that lasts to be steady";
        self.until_steady(lasting, seen)?;
        self.step(|_| Step::Begin, seen)?;
        self.go(ending, &endpoints)?;
        self.awaits = "for its end";
        self.watch(ending, seen)?;
        self.awaits = "for work that lasts to end";
        for seat in lasting {
            self.troupe.tell(*seat, &ToAgent::Cancel)?;
        }
        // Told before, so that it does no more than while the condition held.
        self.step(|_| Step::End, seen)?;
        self.watch(lasting, seen)
    }

    fn go(&mut self, seats: &BTreeSet<Seat>, endpoints: &Endpoints) -> Result<(), Fault> {
        seats.iter().try_for_each(|seat| {
            self.troupe.tell(*seat, &ToAgent::Go { endpoints: endpoints[seat.0].clone() })
        })
    }

    fn prepare(&mut self, seen: &mut Seen) -> Result<Endpoints, Trouble> {
        let scene = self.scene;
        for (index, work) in scene.work.values().enumerate() {
            let nodes = work.nodes;
            let addresses = self.troupe.addresses(nodes);
            for node in 0..nodes {
                let part = Part {
                    workload: work.kind.clone(),
                    params: work.params.clone(),
                    node,
                    nodes,
                    addresses: addresses.clone(),
                    emulation: self.given.emulation.clone(),
                    deadline: Seconds(self.given.deadline.as_secs_f64()),
                    shared: self.troupe.shared(),
                    scratch: Default::default(),
                    artifacts: None,
                    seed: self.given.seed,
                };
                self.troupe.tell((index, node), &ToAgent::Prepare { part: Box::new(part) })?;
                seen.busy.insert((index, node));
            }
        }
        let mut endpoints: Endpoints = scene.work.values().map(|work| vec![None; work.nodes]).collect();
        let mut waiting = seen.busy.clone();
        while !waiting.is_empty() {
            match self.hear()? {
                (seat, FromAgent::Ready { endpoint }) => {
                    endpoints[seat.0][seat.1] = endpoint;
                    waiting.remove(&seat);
                }
                (seat, FromAgent::Done(outcome)) => {
                    seen.busy.remove(&seat);
                    return Err(failed(scene, seat, outcome).into());
                }
                _ => {}
            }
        }
        Ok(endpoints)
    }

    /// Waits until all of `seats` say that they are steady.
    fn until_steady(&mut self, seats: &BTreeSet<Seat>, seen: &mut Seen) -> Result<(), Trouble> {
        let mut waiting = seats.clone();
        while !waiting.is_empty() {
            match self.hear()? {
                (seat, FromAgent::Steady) => drop(waiting.remove(&seat)),
                (seat, FromAgent::Done(Outcome::Finished { .. })) => {
                    seen.busy.remove(&seat);
                    return Err(Fault::attempt("it ended before it was steady").on(seat.1).into());
                }
                (seat, message) => self.take(seat, message, seen)?,
            }
        }
        Ok(())
    }

    /// Takes in what is reported until all of `seats` have ended.
    fn watch(&mut self, seats: &BTreeSet<Seat>, seen: &mut Seen) -> Result<(), Trouble> {
        while seats.iter().any(|seat| seen.busy.contains(seat)) {
            let (seat, message) = self.hear()?;
            self.take(seat, message, seen)?;
        }
        Ok(())
    }

    /// Tells the busy ones to stop; who does not within the grace is dismissed.
    fn call_off(&mut self, seen: &mut Seen) {
        seen.busy.retain(|seat| self.troupe.tell(*seat, &ToAgent::Cancel).is_ok());
        let until = Instant::now() + GRACE;
        while !seen.busy.is_empty() {
            match self.troupe.hear(until.saturating_duration_since(Instant::now())) {
                Some((seat, Heard::Message(FromAgent::Done(_)) | Heard::Gone(_))) => {
                    seen.busy.remove(&seat);
                }
                Some((seat, Heard::Message(FromAgent::Artifact(piece)))) => {
                    // The attempt has failed for another reason.
                    let _ = seen.inbox.take(seat, piece);
                }
                Some(_) => {}
                None => break,
            }
        }
        for seat in std::mem::take(&mut seen.busy) {
            self.troupe.dismiss(seat);
        }
    }
}
