//! Which nodes have which conditions and observers stand during an attempt, and the steps of that.
//! What concerns a whole host is told to the first of the nodes that share it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Observed, Step, Surroundings, ToAgent};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::Scope;
use crosstalk_study::plan::Scene;

use super::Trouble;
use super::cast::{Cast, Seen};
use crate::troupe::{Heard, KEEPER, Seat, Troupe};

/// How long undoing may take: a guard of background work has 5 s to end, and then its group goes.
const UNDONE: Duration = Duration::from_secs(20);

/// What each keeper is told, by node.
#[derive(Default)]
pub struct Kept(BTreeMap<usize, Surroundings>);

/// Who keeps what of a scene.
///
/// # Errors
/// Where it names what is not registered.
pub fn of(scene: &Scene, registry: &Registry, troupe: &Troupe) -> Result<Kept, Fault> {
    let count = |lasting: bool| {
        let works = scene.work.values().filter(|work| work.lasts || !lasting);
        works.map(|work| work.nodes).max().unwrap_or(0)
    };
    let nodes = |scope: Scope| -> Vec<usize> {
        match scope {
            Scope::Node => (0..count(false)).collect(),
            Scope::Background => (0..count(true)).collect(),
            Scope::Host => {
                let mut hosts = BTreeSet::new();
                (0..count(false)).filter(|node| hosts.insert(troupe.host(*node))).collect()
            }
        }
    };
    let mut kept: BTreeMap<usize, Surroundings> = BTreeMap::new();
    for (name, value) in &scene.conditions {
        for node in nodes(registry.condition(name)?.scope()) {
            kept.entry(node).or_default().conditions.push((name.clone(), value.clone()));
        }
    }
    for name in &scene.observe {
        let places = nodes(registry.observer(name)?.scope());
        let several = places.len() > 1;
        for node in places {
            let observed = Observed { observer: name.clone(), node: several.then_some(node) };
            kept.entry(node).or_default().observers.push(observed);
        }
    }
    Ok(Kept(kept))
}

impl Kept {
    /// The keepers' seats.
    pub fn seats(&self) -> impl Iterator<Item = Seat> {
        self.0.keys().map(|node| (KEEPER, *node))
    }

    /// Notes which processes the agents of work that lasts have on each node.
    pub fn name_processes(&mut self, troupe: &Troupe, lasting: &BTreeSet<Seat>) {
        for (node, surroundings) in &mut self.0 {
            let here = lasting.iter().filter(|seat| seat.1 == *node);
            surroundings.lasting = here.map(|seat| troupe.process(*seat)).collect();
        }
    }
}

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
