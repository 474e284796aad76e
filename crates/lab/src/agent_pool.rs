//! The agents of a cluster: started when first needed, replaced when they die.

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
use crosstalk_testbed::with_scale_advice;

/// How long an agent may take to answer `Hello` or `Facts`.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// How often a wait checks whether the user has interrupted.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// An agent of a cluster. Each workload of a scene has one agent on each of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentId {
    /// The index of its workload in the scene; [`KEEPER_SLOT`] for a node's keeper.
    pub slot: usize,
    /// The number of its node.
    pub node: usize,
}

/// The slot of a node's keeper. It runs no work, and applies conditions and observers around the work of others.
const KEEPER_SLOT: usize = usize::MAX;

impl AgentId {
    /// The agent of the workload in `slot` on a node.
    pub fn new(slot: usize, node: usize) -> Self {
        AgentId { slot, node }
    }

    /// The keeper of a node.
    pub fn keeper(node: usize) -> Self {
        AgentId { slot: KEEPER_SLOT, node }
    }
}

/// What an agent's stream has brought.
pub enum AgentEvent {
    /// A message.
    Message(FromAgent),
    /// The stream has ended: the agent or its node is gone.
    Gone(Fault),
}

/// The connection to one agent.
struct Session {
    generation: u64,
    writer: Box<dyn Write + Send>,
    /// The agent's process id on its node.
    process: Option<u32>,
}

/// The agents of one cluster: starts them, and exchanges messages with them.
pub struct AgentPool<'a> {
    cluster: Box<dyn Cluster>,
    sessions: BTreeMap<AgentId, Session>,
    /// Agents that were started and not ended since; some have no session any more.
    started: BTreeSet<AgentId>,
    /// Counts sessions, so that events of earlier ones are dropped.
    generation: u64,
    link: Link,
    /// What the cluster reported on setting its links.
    notes: Vec<String>,
    sender: Sender<(AgentId, u64, AgentEvent)>,
    inbox: Receiver<(AgentId, u64, AgentEvent)>,
    interrupted: &'a AtomicBool,
}

impl<'a> AgentPool<'a> {
    /// The agents of `cluster`, none started yet. Waits end when `interrupted` is set.
    pub fn new(cluster: Box<dyn Cluster>, interrupted: &'a AtomicBool) -> Self {
        let (sender, inbox) = channel();
        AgentPool {
            cluster,
            sessions: BTreeMap::new(),
            started: BTreeSet::new(),
            generation: 0,
            link: Link::Unshaped,
            notes: Vec::new(),
            sender,
            inbox,
            interrupted,
        }
    }

    /// A fault if the user has interrupted.
    fn unless_interrupted(&self) -> Result<(), Fault> {
        if self.interrupted.load(Ordering::SeqCst) { Err(Fault::interrupted()) } else { Ok(()) }
    }

    /// A folder that every node sees, if there is one.
    pub fn shared_folder(&self) -> Option<PathBuf> {
        self.cluster.shared().map(Path::to_path_buf)
    }

    /// The number of a node's host.
    pub fn host_of(&self, node: usize) -> usize {
        self.cluster.host(node)
    }

    /// The addresses of the first `nodes` nodes.
    pub fn addresses(&self, nodes: usize) -> Vec<IpAddr> {
        (0..nodes).map(|node| self.cluster.address(node)).collect()
    }

    /// Sets the links as `place` says.
    ///
    /// # Errors
    /// If they cannot be set so; the remedy names a scale at which they can.
    pub fn set_links(&mut self, place: &Place) -> Result<(), Fault> {
        let Place::Real { link, scale, .. } = place else { return self.shape(Link::Unshaped) };
        let outcome = self.shape(*link);
        outcome.map_err(|fault| match link {
            Link::Rate(rate) => with_scale_advice(self.cluster.as_mut(), BitRate(rate.0 * scale), fault),
            Link::Unshaped => fault,
        })
    }

    /// Sets the links' rate, and keeps the cluster's notes on what was really set.
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

    /// Properties of a real cluster that this one does not have, then the notes on its
    /// links in the order of their first appearance.
    pub fn absences(&self) -> Vec<String> {
        self.cluster.absences().into_iter().chain(self.notes.iter().cloned()).collect()
    }

    /// Whether the cluster can still be used.
    pub fn is_up(&mut self) -> bool {
        self.cluster.is_up()
    }

    /// Notes on how links were really set, so far.
    pub fn link_notes(&self) -> &[String] {
        &self.notes
    }

    /// Starts those of `agents` that do not run, and checks their protocol.
    pub fn ensure_started(&mut self, agents: &[AgentId]) -> Result<(), Fault> {
        let mut agents: BTreeSet<AgentId> = agents.iter().copied().collect();
        // An abandoned agent may still hang. Starting an agent in slot 0 ends all others of its node.
        let abandoned = |agent: &&AgentId| !self.sessions.contains_key(agent) && self.started.contains(agent);
        let nodes: BTreeSet<usize> = agents.iter().filter(abandoned).map(|agent| agent.node).collect();
        self.sessions.retain(|agent, _| !nodes.contains(&agent.node));
        agents.extend(nodes.iter().map(|node| AgentId::new(0, *node)));
        let mut fresh = Vec::new();
        for agent in agents {
            if !self.sessions.contains_key(&agent) {
                self.unless_interrupted()?;
                self.start(agent)?;
                fresh.push(agent);
            }
        }
        for &agent in &fresh {
            self.send(agent, &ToAgent::Hello { protocol: PROTOCOL })?;
        }
        let processes = self.collect_replies(&fresh, "answer `Hello`", |message| match message {
            FromAgent::Hello { protocol: PROTOCOL, process, .. } => Ok(Some(process)),
            FromAgent::Hello { protocol, version, .. } => Err(Fault::environment(format!(
                "the agent is crosstalk {version} and speaks protocol {protocol}"
            ))
            .remedy("use the same version of crosstalk on every node")),
            _ => Ok(None),
        })?;
        for (agent, process) in processes {
            self.sessions.entry(agent).and_modify(|session| session.process = process);
        }
        Ok(())
    }

    /// The facts of the agents' nodes, by node number.
    pub fn request_facts(&mut self, agents: &[AgentId]) -> Result<BTreeMap<String, Provenance>, Fault> {
        self.ensure_started(agents)?;
        for &agent in agents {
            self.send(agent, &ToAgent::Facts)?;
        }
        let facts = self.collect_replies(agents, "report its facts", |message| match message {
            FromAgent::Facts { provenance } => Ok(Some(provenance)),
            _ => Ok(None),
        })?;
        Ok(facts.into_iter().map(|(agent, facts)| (agent.node.to_string(), facts)).collect())
    }

    fn start(&mut self, agent: AgentId) -> Result<(), Fault> {
        let stream = self.cluster.start_agent(agent.node, agent.slot)?;
        if agent.slot == 0 {
            // That has ended all others on its node.
            self.sessions.retain(|other, _| other.node != agent.node);
            self.started.retain(|other| other.node != agent.node);
        }
        self.started.insert(agent);
        self.generation += 1;
        let generation = self.generation;
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream.reader);
            loop {
                let event = match receive(&mut reader) {
                    Ok(Some(message)) => AgentEvent::Message(message),
                    Ok(None) => AgentEvent::Gone(Fault::gone("the node died").on(agent.node)),
                    Err(fault) => AgentEvent::Gone(Fault::gone(fault.message).on(agent.node)),
                };
                let last = matches!(event, AgentEvent::Gone(_));
                if sender.send((agent, generation, event)).is_err() || last {
                    break;
                }
            }
        });
        let session = Session { generation, writer: stream.writer, process: None };
        self.sessions.insert(agent, session);
        Ok(())
    }

    /// The process id of an agent on its node.
    pub fn process_id(&self, agent: AgentId) -> Option<u32> {
        self.sessions.get(&agent).and_then(|session| session.process)
    }

    /// Sends a message to one agent.
    pub fn send(&mut self, agent: AgentId, message: &ToAgent) -> Result<(), Fault> {
        match self.sessions.get_mut(&agent) {
            Some(session) => send(&mut session.writer, message).map_err(|fault| {
                self.sessions.remove(&agent);
                fault.on(agent.node)
            }),
            None => Err(Fault::environment("no agent is running").on(agent.node)),
        }
    }

    /// The next event of any agent; `None` when `wait` has passed.
    pub fn next_event(&mut self, wait: Duration) -> Option<(AgentId, AgentEvent)> {
        let until = Instant::now() + wait;
        loop {
            match self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((agent, generation, event)) => {
                    let current = self.sessions.get(&agent).is_some_and(|s| s.generation == generation);
                    if current {
                        if matches!(event, AgentEvent::Gone(_)) {
                            self.sessions.remove(&agent);
                        }
                        return Some((agent, event));
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Drops the session of an agent that no longer answers. A fresh agent replaces it when it is needed.
    pub fn abandon(&mut self, agent: AgentId) {
        self.sessions.remove(&agent);
    }

    /// Waits until each of `agents` has sent a message for which `reply` returns a value.
    /// `what` says in a fault what an agent did not do.
    fn collect_replies<T>(
        &mut self,
        agents: &[AgentId],
        what: &str,
        reply: impl Fn(FromAgent) -> Result<Option<T>, Fault>,
    ) -> Result<BTreeMap<AgentId, T>, Fault> {
        let until = Instant::now() + REPLY_TIMEOUT;
        let mut found = BTreeMap::new();
        while found.len() < agents.len() {
            self.unless_interrupted()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.next_event(left.min(POLL_INTERVAL)) {
                Some((agent, AgentEvent::Message(message))) => {
                    if let Some(value) = reply(message).map_err(|f| f.on(agent.node))? {
                        found.insert(agent, value);
                    }
                }
                Some((_, AgentEvent::Gone(why))) => {
                    return Err(Fault { kind: FaultKind::Environment, ..why });
                }
                None if !left.is_zero() => {}
                None => {
                    let silent = agents.iter().find(|s| !found.contains_key(s)).map_or(0, |s| s.node);
                    return Err(Fault::environment(format!(
                        "the agent did not {what} within {} s",
                        REPLY_TIMEOUT.as_secs()
                    ))
                    .on(silent));
                }
            }
        }
        Ok(found)
    }
}

impl Drop for AgentPool<'_> {
    fn drop(&mut self) {
        let agents: Vec<AgentId> = self.sessions.keys().copied().collect();
        for agent in agents {
            // An agent may be gone already.
            let _ = self.send(agent, &ToAgent::Bye);
        }
    }
}
