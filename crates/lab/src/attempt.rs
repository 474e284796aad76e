//! One try at one cell: its conditions and observers put on, its parts
//! performed by the agents, everything taken off again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crosstalk_core::emulation::Emulation;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::{FromAgent, Outcome, Part, ToAgent};
use crosstalk_core::record::{Reading, Status};
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::{Place, Scene};

use crate::troupe::{GLANCE, Heard, Seat, Troupe};

/// How long an agent may take to stop once it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// How an attempt ended.
pub struct Ended {
    pub status: Status,
    pub reason: Option<String>,
    pub fidelity: Option<Fidelity>,
}

/// What an attempt is given besides its scene.
pub struct Given<'a> {
    pub registry: &'a Registry,
    pub emulation: Option<Emulation>,
    pub artifacts: Option<PathBuf>,
    pub seed: u64,
    pub deadline: Duration,
    pub interrupted: &'a AtomicBool,
}

/// Performs `scene`, handing every reading to `journal` as it arrives. A fault
/// of the journal is returned; everything else is the attempt's own ending.
pub fn perform(
    troupe: &mut Troupe,
    scene: &Scene,
    given: &Given,
    journal: &mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
) -> Result<Ended, Fault> {
    match stage(troupe, scene, given, journal) {
        Ok(fidelity) => Ok(Ended { status: Status::Finished, reason: None, fidelity }),
        Err(Trouble::Journal(fault)) => Err(fault),
        Err(Trouble::Attempt(fault)) if fault.kind == FaultKind::Interrupted => {
            Ok(Ended { status: Status::Interrupted, reason: None, fidelity: None })
        }
        Err(Trouble::Attempt(fault)) => {
            Ok(Ended { status: Status::Failed, reason: Some(fault.sentence()), fidelity: None })
        }
    }
}

enum Trouble {
    Journal(Fault),
    Attempt(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble::Attempt(fault)
    }
}

fn stage(
    troupe: &mut Troupe,
    scene: &Scene,
    given: &Given,
    journal: &mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
) -> Result<Option<Fidelity>, Trouble> {
    if scene.work.len() > 1 {
        return Err(Fault::attempt("one node cannot yet hold two workloads at once").into());
    }
    let (nodes, link) = match &scene.place {
        Place::Virtual { nodes, .. } | Place::Outside { nodes } => (*nodes, Link::Unshaped),
        Place::Real { nodes, link, .. } => (*nodes, *link),
    };
    troupe.shape(link)?;
    let conditions = scene
        .conditions
        .iter()
        .map(|(name, value)| given.registry.condition(name)?.apply(value))
        .collect::<Result<Vec<_>, Fault>>()?;
    let watches = scene
        .observe
        .iter()
        .map(|name| given.registry.observer(name)?.attach())
        .collect::<Result<Vec<_>, Fault>>()?;

    let began = Instant::now();
    let seats: Vec<Seat> = (0..scene.work.len()).flat_map(|w| (0..nodes).map(move |n| (w, n))).collect();
    let mut cast = Cast { troupe, given, until: Instant::now() + given.deadline, seats };
    let result = cast.play(scene, nodes, journal);

    let mut seen: Vec<Reading> = Vec::new();
    for watch in watches {
        watch.detach(&mut seen)?;
    }
    drop(conditions);
    for reading in seen {
        journal(reading, began.elapsed().as_secs_f64(), 1).map_err(Trouble::Journal)?;
    }
    result
}

/// The agents that take part in one attempt.
struct Cast<'a, 't> {
    troupe: &'a mut Troupe<'t>,
    given: &'a Given<'a>,
    until: Instant,
    seats: Vec<Seat>,
}

impl Cast<'_, '_> {
    fn play(
        &mut self,
        scene: &Scene,
        nodes: usize,
        journal: &mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
    ) -> Result<Option<Fidelity>, Trouble> {
        self.troupe.seat(&self.seats)?;
        // Seats that still owe us the end of their part.
        let mut busy: BTreeSet<Seat> = BTreeSet::new();
        let result = self.prepare(scene, nodes, &mut busy).and_then(|endpoints| {
            for (work, endpoints) in endpoints.into_iter().enumerate() {
                for node in 0..nodes {
                    self.troupe.tell((work, node), &ToAgent::Go { endpoints: endpoints.clone() })?;
                }
            }
            self.watch(&mut busy, journal)
        });
        if result.is_err() {
            self.call_off(busy);
        }
        result
    }

    fn prepare(
        &mut self,
        scene: &Scene,
        nodes: usize,
        busy: &mut BTreeSet<Seat>,
    ) -> Result<Vec<Vec<Option<SocketAddr>>>, Trouble> {
        let addresses = self.troupe.addresses(nodes);
        for (index, work) in scene.work.values().enumerate() {
            for node in 0..nodes {
                let part = Part {
                    workload: work.kind.clone(),
                    params: work.params.clone(),
                    node,
                    nodes,
                    addresses: addresses.clone(),
                    emulation: self.given.emulation.clone(),
                    deadline: Seconds(self.given.deadline.as_secs_f64()),
                    scratch: self.troupe.scratch(),
                    artifacts: self.given.artifacts.clone(),
                    seed: self.given.seed,
                };
                self.troupe.tell((index, node), &ToAgent::Prepare { part: Box::new(part) })?;
                busy.insert((index, node));
            }
        }
        let mut endpoints = vec![vec![None; nodes]; scene.work.len()];
        let mut waiting = busy.clone();
        while !waiting.is_empty() {
            match self.hear()? {
                (seat, FromAgent::Ready { endpoint }) => {
                    endpoints[seat.0][seat.1] = endpoint;
                    waiting.remove(&seat);
                }
                (seat, FromAgent::Done(outcome)) => {
                    busy.remove(&seat);
                    return Err(failed(seat, outcome).into());
                }
                _ => {}
            }
        }
        Ok(endpoints)
    }

    fn watch(
        &mut self,
        busy: &mut BTreeSet<Seat>,
        journal: &mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
    ) -> Result<Option<Fidelity>, Trouble> {
        let mut fidelity: Option<Fidelity> = None;
        while !busy.is_empty() {
            match self.hear()? {
                (_, FromAgent::Sample { reading, at, n }) => {
                    journal(reading, at, n).map_err(Trouble::Journal)?;
                }
                (seat, FromAgent::Done(Outcome::Finished { fidelity: seen })) => {
                    busy.remove(&seat);
                    if let Some(seen) = seen {
                        fidelity.get_or_insert_default().merge(seen);
                    }
                }
                (seat, FromAgent::Done(outcome)) => {
                    busy.remove(&seat);
                    return Err(self.first_cause(seat, outcome, busy).into());
                }
                _ => {}
            }
        }
        Ok(fidelity)
    }

    /// The next message from one of our seats, within the deadline.
    fn hear(&mut self) -> Result<(Seat, FromAgent), Trouble> {
        loop {
            if self.given.interrupted.load(Ordering::SeqCst) {
                return Err(Fault::interrupted().into());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Fault::attempt(format!(
                    "not finished after {:.0} s",
                    self.given.deadline.as_secs_f64()
                ))
                .remedy("give it more time with --deadline, or look for what hangs")
                .into());
            }
            match self.troupe.hear(left.min(GLANCE)) {
                Some((seat, Heard::Message(message))) => return Ok((seat, message)),
                Some((seat, Heard::Gone(why))) => {
                    return Err(Fault::attempt(why).at(format!("node {}", seat.1)).into());
                }
                None => {}
            }
        }
    }

    /// When one node fails its peers fail too, often before it is heard itself: listen a
    /// little longer for a node that is gone, or that tells why it went, the cause of the rest.
    fn first_cause(&mut self, seat: Seat, outcome: Outcome, busy: &mut BTreeSet<Seat>) -> Fault {
        let first = failed(seat, outcome);
        let until = Instant::now() + GLANCE;
        while !busy.is_empty() && Instant::now() < until {
            match self.troupe.hear(until.saturating_duration_since(Instant::now())) {
                Some((gone, Heard::Gone(why))) => {
                    busy.remove(&gone);
                    return Fault::attempt(why).at(format!("node {}", gone.1));
                }
                Some((other, Heard::Message(FromAgent::Done(outcome)))) => {
                    busy.remove(&other);
                    let failure = matches!(outcome, Outcome::Failed { .. });
                    let told = failed(other, outcome);
                    if failure && blamed(&first) == Some(other.1) && blamed(&told).is_none() {
                        return told;
                    }
                }
                _ => {}
            }
        }
        first
    }

    /// Tells the busy ones to stop; who does not within the grace is dismissed.
    fn call_off(&mut self, mut busy: BTreeSet<Seat>) {
        busy.retain(|seat| self.troupe.tell(*seat, &ToAgent::Cancel).is_ok());
        let until = Instant::now() + GRACE;
        while !busy.is_empty() {
            match self.troupe.hear(until.saturating_duration_since(Instant::now())) {
                Some((seat, Heard::Message(FromAgent::Done(_)) | Heard::Gone(_))) => {
                    busy.remove(&seat);
                }
                Some(_) => {}
                None => break,
            }
        }
        for seat in busy {
            self.troupe.dismiss(seat);
        }
    }
}

/// The node that a fault speaks of, where another one tells it.
fn blamed(fault: &Fault) -> Option<usize> {
    fault.message.strip_prefix("node ")?.split(':').next()?.parse().ok()
}

fn failed(seat: Seat, outcome: Outcome) -> Fault {
    let reason = match outcome {
        Outcome::Failed { reason } => reason,
        Outcome::Finished { .. } => "ended before it was told to go".into(),
    };
    let fault = Fault::attempt(reason);
    // Some say themselves on which node it was, perhaps on another than their own.
    if fault.message.starts_with("node ") { fault } else { fault.at(format!("node {}", seat.1)) }
}
