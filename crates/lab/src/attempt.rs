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
use crosstalk_core::scene::Holding;
use crosstalk_core::units::Seconds;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::load;
use crosstalk_study::plan::Scene;

use crate::troupe::{GLANCE, Heard, Seat, Troupe};

/// How long an agent may take to stop once it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// How an attempt ended.
pub struct Ended {
    pub status: Status,
    pub reason: Option<String>,
    /// Whether it failed because of what was asked for, and would again.
    pub asked: bool,
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
        Ok(fidelity) => Ok(Ended { status: Status::Finished, reason: None, asked: false, fidelity }),
        Err(Trouble::Journal(fault)) => Err(fault),
        Err(Trouble::Attempt(fault)) if fault.kind == FaultKind::Interrupted => {
            Ok(Ended { status: Status::Interrupted, reason: None, asked: false, fidelity: None })
        }
        Err(Trouble::Attempt(fault)) => {
            let asked = fault.kind == FaultKind::Usage;
            Ok(Ended { status: Status::Failed, reason: Some(fault.sentence()), asked, fidelity: None })
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
    troupe.link(&scene.place)?;
    let (lasting, ending) = (seats(scene, true), seats(scene, false));
    troupe.seat(&lasting.union(&ending).copied().collect::<Vec<Seat>>())?;
    let mut conditions = Conditions(Vec::new());
    for (name, value) in &scene.conditions {
        let external = || troupe.processes(lasting.iter().copied());
        conditions.0.push(given.registry.condition(name)?.apply(value, &external)?);
    }
    let watches = scene
        .observe
        .iter()
        .map(|name| given.registry.observer(name)?.attach())
        .collect::<Result<Vec<_>, Fault>>()?;

    let began = Instant::now();
    let mut cast =
        Cast { troupe, given, until: Instant::now() + given.deadline, awaits: "for all to be ready" };
    let result = cast.play(scene, &lasting, &ending, &mut conditions, journal);

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

/// Those that hold. They are taken off the last first, as each was put on upon those before.
struct Conditions(Vec<Box<dyn Holding>>);

impl Conditions {
    fn begin(&mut self) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|condition| condition.begin())
    }

    /// Ends each; the first fault.
    fn end(&mut self) -> Result<(), Fault> {
        let ended: Vec<_> = self.0.iter_mut().rev().map(|condition| condition.end()).collect();
        ended.into_iter().collect()
    }
}

impl Drop for Conditions {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// What an attempt has come to.
struct Seen<'a> {
    /// Seats that still owe us the end of their part.
    busy: &'a mut BTreeSet<Seat>,
    journal: &'a mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
    fidelity: Option<Fidelity>,
}

/// The agents that take part in one attempt.
struct Cast<'a, 't> {
    troupe: &'a mut Troupe<'t>,
    given: &'a Given<'a>,
    until: Instant,
    /// What is waited for.
    awaits: &'static str,
}

/// Where each node of each work listens, by the work's place in the scene.
type Endpoints = Vec<Vec<Option<SocketAddr>>>;

/// The seats of a scene's work, by whether it lasts.
fn seats(scene: &Scene, lasts: bool) -> BTreeSet<Seat> {
    let of = scene.work.values().enumerate().filter(|(_, work)| work.lasts == lasts);
    of.flat_map(|(number, work)| (0..work.nodes).map(move |node| (number, node))).collect()
}

impl Cast<'_, '_> {
    fn play(
        &mut self,
        scene: &Scene,
        lasting: &BTreeSet<Seat>,
        ending: &BTreeSet<Seat>,
        conditions: &mut Conditions,
        journal: &mut dyn FnMut(Reading, f64, u64) -> Result<(), Fault>,
    ) -> Result<Option<Fidelity>, Trouble> {
        // Seats that still owe us the end of their part.
        let mut busy: BTreeSet<Seat> = BTreeSet::new();
        let result = self.prepare(scene, &mut busy).and_then(|endpoints| {
            let mut seen = Seen { busy: &mut busy, journal, fidelity: None };
            // What lasts is steady before the rest begins, and ends after it.
            self.go(lasting, &endpoints)?;
            self.awaits = "for work that lasts to be steady";
            self.until_steady(lasting, &mut seen)?;
            conditions.begin()?;
            self.go(ending, &endpoints)?;
            self.awaits = "for its end";
            self.watch(ending, &mut seen)?;
            self.awaits = "for work that lasts to end";
            for seat in lasting {
                self.troupe.tell(*seat, &ToAgent::Cancel)?;
            }
            // Told before, so that it does no more than while the condition held.
            conditions.end()?;
            self.watch(lasting, &mut seen)?;
            Ok(seen.fidelity)
        });
        if result.is_err() {
            // What is paused does not end. What broke off has its own reason.
            let _ = conditions.end();
            self.call_off(busy);
        }
        result
    }

    fn go(&mut self, seats: &BTreeSet<Seat>, endpoints: &Endpoints) -> Result<(), Fault> {
        seats.iter().try_for_each(|seat| {
            self.troupe.tell(*seat, &ToAgent::Go { endpoints: endpoints[seat.0].clone() })
        })
    }

    fn prepare(&mut self, scene: &Scene, busy: &mut BTreeSet<Seat>) -> Result<Endpoints, Trouble> {
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
                    scratch: self.troupe.scratch(),
                    artifacts: self.given.artifacts.clone(),
                    seed: self.given.seed,
                };
                self.troupe.tell((index, node), &ToAgent::Prepare { part: Box::new(part) })?;
                busy.insert((index, node));
            }
        }
        let mut endpoints: Endpoints = scene.work.values().map(|work| vec![None; work.nodes]).collect();
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

    /// Waits until all of `seats` say that they are steady.
    fn until_steady(&mut self, seats: &BTreeSet<Seat>, seen: &mut Seen) -> Result<(), Trouble> {
        let mut waiting = seats.clone();
        while !waiting.is_empty() {
            match self.hear()? {
                (seat, FromAgent::Steady) => drop(waiting.remove(&seat)),
                (seat, FromAgent::Done(Outcome::Finished { .. })) => {
                    seen.busy.remove(&seat);
                    return Err(Fault::attempt("it ended before it was steady")
                        .at(format!("node {}", seat.1))
                        .into());
                }
                (seat, message) => self.take(seat, message, seen)?,
            }
        }
        Ok(())
    }

    /// Takes in what is told until all of `seats` have ended.
    fn watch(&mut self, seats: &BTreeSet<Seat>, seen: &mut Seen) -> Result<(), Trouble> {
        while seats.iter().any(|seat| seen.busy.contains(seat)) {
            let (seat, message) = self.hear()?;
            self.take(seat, message, seen)?;
        }
        Ok(())
    }

    fn take(&mut self, seat: Seat, message: FromAgent, seen: &mut Seen) -> Result<(), Trouble> {
        match message {
            FromAgent::Sample { reading, at, n } => {
                (seen.journal)(reading, at, n).map_err(Trouble::Journal)?
            }
            FromAgent::Done(Outcome::Finished { fidelity }) => {
                seen.busy.remove(&seat);
                if let Some(fidelity) = fidelity {
                    seen.fidelity.get_or_insert_default().merge(fidelity);
                }
            }
            FromAgent::Done(outcome) => {
                seen.busy.remove(&seat);
                return Err(self.first_cause(seat, outcome, seen.busy).into());
            }
            _ => {}
        }
        Ok(())
    }

    /// The next message from one of our seats, within the deadline.
    fn hear(&mut self) -> Result<(Seat, FromAgent), Trouble> {
        loop {
            if self.given.interrupted.load(Ordering::SeqCst) {
                return Err(Fault::interrupted().into());
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.too_late().into());
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

    /// The deadline has passed. Where the machine is busy that may be why.
    fn too_late(&self) -> Fault {
        let waited = format!(
            "not finished after {:.0} s: it waited {}",
            self.given.deadline.as_secs_f64(),
            self.awaits
        );
        let more = "give it more time with --deadline, such as --deadline '5 min'";
        match load::busy(GLANCE).filter(|busy| busy.share() > load::TOO_BUSY) {
            Some(busy) => Fault::attempt(format!(
                "{waited}, while {:.0} % of the time of {} processors was in use",
                busy.share() * 100.0,
                busy.processors
            ))
            .remedy(format!("stop what else uses them (see `top`), or {more}")),
            None => Fault::attempt(waited).remedy(format!("{more}, or look for what hangs")),
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
    let fault = match outcome {
        Outcome::Failed { reason, asked: true } => Fault::usage(reason),
        Outcome::Failed { reason, asked: false } => Fault::attempt(reason),
        Outcome::Finished { .. } => Fault::attempt("ended before it was told to go"),
    };
    // Some say themselves on which node it was, perhaps on another than their own.
    if fault.message.starts_with("node ") { fault } else { fault.at(format!("node {}", seat.1)) }
}
