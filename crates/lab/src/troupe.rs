//! The agents of a cluster: attached when first needed, replaced when they die.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crosstalk_core::message::{FromAgent, PROTOCOL, ToAgent, receive, send};
use crosstalk_core::provenance::Provenance;
use crosstalk_core::testbed::{Cluster, Link};
use crosstalk_core::units::BitRate;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::Place;
use crosstalk_testbed::advised;

/// How long an agent may take to answer a greeting or tell its facts.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a wait looks up whether the user has interrupted.
pub const GLANCE: Duration = Duration::from_millis(100);

/// Which agent: the workload's place in its scene, and the node.
pub type Seat = (usize, usize);

/// The place of an agent without work, its node's keeper: it has stand what surrounds others' work.
pub const KEEPER: usize = usize::MAX;

/// What came from an agent.
pub enum Heard {
    /// A message.
    Message(FromAgent),
    /// Its stream ended: the agent, or its node, is gone.
    Gone(Fault),
}

struct Session {
    generation: u64,
    writer: Box<dyn Write + Send>,
    /// As its node numbers it.
    process: Option<u32>,
}

/// The agents of one cluster.
pub struct Troupe<'a> {
    cluster: Box<dyn Cluster>,
    sessions: BTreeMap<Seat, Session>,
    /// Where somebody has sat.
    taken: BTreeSet<Seat>,
    generation: u64,
    link: Link,
    notes: Vec<String>,
    sender: Sender<(Seat, u64, Heard)>,
    inbox: Receiver<(Seat, u64, Heard)>,
    interrupted: &'a AtomicBool,
}

impl<'a> Troupe<'a> {
    /// Its waits end when `interrupted` is set.
    pub fn new(cluster: Box<dyn Cluster>, interrupted: &'a AtomicBool) -> Self {
        let (sender, inbox) = channel();
        Troupe {
            cluster,
            sessions: BTreeMap::new(),
            taken: BTreeSet::new(),
            generation: 0,
            link: Link::Unshaped,
            notes: Vec::new(),
            sender,
            inbox,
            interrupted,
        }
    }

    /// A fault when the user has interrupted.
    fn unless_interrupted(&self) -> Result<(), Fault> {
        if self.interrupted.load(Ordering::SeqCst) { Err(Fault::interrupted()) } else { Ok(()) }
    }

    /// A folder that every node sees, if there is one.
    pub fn shared(&self) -> Option<PathBuf> {
        self.cluster.shared().map(Path::to_path_buf)
    }

    /// The host of a node.
    pub fn host(&self, node: usize) -> usize {
        self.cluster.host(node)
    }

    pub fn addresses(&self, nodes: usize) -> Vec<IpAddr> {
        (0..nodes).map(|node| self.cluster.address(node)).collect()
    }

    /// Has links behave as `place` says.
    ///
    /// # Errors
    /// Where they cannot, with the scale at which they could.
    pub fn link(&mut self, place: &Place) -> Result<(), Fault> {
        let Place::Real { link, scale, .. } = place else { return self.shape(Link::Unshaped) };
        let outcome = self.shape(*link);
        outcome.map_err(|fault| match link {
            Link::Rate(rate) => advised(self.cluster.as_mut(), BitRate(rate.0 * scale), fault),
            Link::Unshaped => fault,
        })
    }

    /// Makes the links behave so; what the cluster says it really set is kept.
    fn shape(&mut self, link: Link) -> Result<(), Fault> {
        if link != self.link {
            for note in self.cluster.shape(link)? {
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
            self.link = link;
        }
        Ok(())
    }

    /// What of a real cluster this one does not have, and how its links were
    /// really set: the latter in the order it was first seen, last.
    pub fn absences(&self) -> Vec<String> {
        self.cluster.absences().into_iter().chain(self.notes.iter().cloned()).collect()
    }

    /// Whether the cluster can still be used.
    pub fn is_up(&mut self) -> bool {
        self.cluster.is_up()
    }

    /// How links were really set, so far.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Makes sure that an agent sits at each seat and speaks our protocol.
    pub fn seat(&mut self, seats: &[Seat]) -> Result<(), Fault> {
        let mut seats: BTreeSet<Seat> = seats.iter().copied().collect();
        // Who was let go may hang there yet: who begins first on a node, at place 0, ends all that is left.
        let left = |seat: &&Seat| !self.sessions.contains_key(seat) && self.taken.contains(seat);
        let nodes: BTreeSet<usize> = seats.iter().filter(left).map(|seat| seat.1).collect();
        self.sessions.retain(|seat, _| !nodes.contains(&seat.1));
        seats.extend(nodes.iter().map(|node| (0, *node)));
        let mut fresh = Vec::new();
        for seat in seats {
            if !self.sessions.contains_key(&seat) {
                self.unless_interrupted()?;
                self.attach(seat)?;
                fresh.push(seat);
            }
        }
        for &seat in &fresh {
            self.tell(seat, &ToAgent::Hello { protocol: PROTOCOL })?;
        }
        let processes = self.collect(&fresh, "answer a greeting", |message| match message {
            FromAgent::Hello { protocol: PROTOCOL, process, .. } => Ok(Some(process)),
            FromAgent::Hello { protocol, version, .. } => Err(Fault::environment(format!(
                "the agent is crosstalk {version} and speaks protocol {protocol}"
            ))
            .remedy("use the same version of crosstalk on every node")),
            _ => Ok(None),
        })?;
        for (seat, process) in processes {
            self.sessions.entry(seat).and_modify(|session| session.process = process);
        }
        Ok(())
    }

    /// Every seated node's facts, by node.
    pub fn facts(&mut self, seats: &[Seat]) -> Result<BTreeMap<String, Provenance>, Fault> {
        self.seat(seats)?;
        for &seat in seats {
            self.tell(seat, &ToAgent::Facts)?;
        }
        let facts = self.collect(seats, "tell its facts", |message| match message {
            FromAgent::Facts { provenance } => Ok(Some(provenance)),
            _ => Ok(None),
        })?;
        Ok(facts.into_iter().map(|((_, node), facts)| (node.to_string(), facts)).collect())
    }

    fn attach(&mut self, seat: Seat) -> Result<(), Fault> {
        let duplex = self.cluster.attach(seat.1, seat.0)?;
        if seat.0 == 0 {
            // With it all others on its node were ended.
            self.sessions.retain(|other, _| other.1 != seat.1);
            self.taken.retain(|other| other.1 != seat.1);
        }
        self.taken.insert(seat);
        self.generation += 1;
        let generation = self.generation;
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(duplex.reader);
            loop {
                let heard = match receive(&mut reader) {
                    Ok(Some(message)) => Heard::Message(message),
                    Ok(None) => Heard::Gone(Fault::gone("the node died").on(seat.1)),
                    Err(fault) => Heard::Gone(Fault::gone(fault.message).on(seat.1)),
                };
                let last = matches!(heard, Heard::Gone(_));
                if sender.send((seat, generation, heard)).is_err() || last {
                    break;
                }
            }
        });
        let session = Session { generation, writer: duplex.writer, process: None };
        self.sessions.insert(seat, session);
        Ok(())
    }

    /// The process of the agent at a seat, as its node numbers it.
    pub fn process(&self, seat: Seat) -> Option<u32> {
        self.sessions.get(&seat).and_then(|session| session.process)
    }

    /// Says something to one agent.
    pub fn tell(&mut self, seat: Seat, message: &ToAgent) -> Result<(), Fault> {
        match self.sessions.get_mut(&seat) {
            Some(session) => send(&mut session.writer, message).map_err(|fault| {
                self.sessions.remove(&seat);
                fault.on(seat.1)
            }),
            None => Err(Fault::environment("no agent is attached").on(seat.1)),
        }
    }

    /// The next thing any agent says, or `None` when `wait` has passed.
    pub fn hear(&mut self, wait: Duration) -> Option<(Seat, Heard)> {
        let until = Instant::now() + wait;
        loop {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((seat, generation, heard)) => {
                    let current = self.sessions.get(&seat).is_some_and(|s| s.generation == generation);
                    if current {
                        if matches!(heard, Heard::Gone(_)) {
                            self.sessions.remove(&seat);
                        }
                        return Some((seat, heard));
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Lets an agent go that no longer answers; a fresh one takes its seat.
    pub fn dismiss(&mut self, seat: Seat) {
        self.sessions.remove(&seat);
    }

    /// Waits until each of `seats` has said what `wanted` recognises.
    fn collect<T>(
        &mut self,
        seats: &[Seat],
        what: &str,
        wanted: impl Fn(FromAgent) -> Result<Option<T>, Fault>,
    ) -> Result<BTreeMap<Seat, T>, Fault> {
        let until = Instant::now() + PATIENCE;
        let mut found = BTreeMap::new();
        while found.len() < seats.len() {
            self.unless_interrupted()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.hear(left.min(GLANCE)) {
                Some((seat, Heard::Message(message))) => {
                    if let Some(value) = wanted(message).map_err(|f| f.on(seat.1))? {
                        found.insert(seat, value);
                    }
                }
                Some((_, Heard::Gone(why))) => {
                    return Err(Fault { kind: FaultKind::Environment, ..why });
                }
                None if !left.is_zero() => {}
                None => {
                    let silent = seats.iter().find(|s| !found.contains_key(s)).map_or(0, |s| s.1);
                    return Err(Fault::environment(format!(
                        "the agent did not {what} within {} s",
                        PATIENCE.as_secs()
                    ))
                    .on(silent));
                }
            }
        }
        Ok(found)
    }
}

impl Drop for Troupe<'_> {
    fn drop(&mut self) {
        let seats: Vec<Seat> = self.sessions.keys().copied().collect();
        for seat in seats {
            // An agent that is gone already needs no goodbye.
            let _ = self.tell(seat, &ToAgent::Bye);
        }
    }
}
