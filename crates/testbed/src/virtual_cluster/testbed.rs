//! The testbed of virtual nodes, and a running cluster as its owner controls it.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{AgentStream, Cluster, Link, Testbed};
use crosstalk_core::units::human;
use crosstalk_host::ledger::{Entry, Ledger, TemporaryFolder};
use crosstalk_host::limits::ResourceDemand;
use crosstalk_host::packet::PacketSocket;
use crosstalk_host::process::wait_readable;
use crosstalk_host::{Launcher, user};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::protocol::{Answer, ToHolder, create_order};
use super::{addresses, holder, neighbours};
use crate::agent;

/// How long the holder may take for one order.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How often a wait for the holder checks whether the user has interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a cluster may take to end by itself before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A testbed whose nodes are virtual: namespaces of this machine, joined by a switch.
#[derive(Debug, Clone)]
pub struct VirtualTestbed {
    launcher: Launcher,
    interrupted: Arc<AtomicBool>,
}

impl VirtualTestbed {
    /// A testbed that uses the verbs `agent`, `hold` and `reap` of `launcher`.
    pub fn new(launcher: Launcher) -> Self {
        VirtualTestbed { launcher, interrupted: Arc::default() }
    }

    /// The same, but waits for the cluster end when `interrupted` is set. Creating a thousand
    /// nodes takes a while.
    pub fn interrupted_by(self, interrupted: &Arc<AtomicBool>) -> Self {
        VirtualTestbed { interrupted: Arc::clone(interrupted), ..self }
    }

    fn create_cluster(&self, nodes: usize) -> Result<VirtualCluster, Fault> {
        let ledger = Ledger::open(&self.launcher)?;
        let folder = ledger.temporary_folder("temporary files of the nodes")?;
        let entry = ledger.processes(&format!("virtual cluster of {nodes} nodes"))?;
        let (control, theirs) = PacketSocket::pair()?;
        let mut command = self.launcher.command(holder::VERB);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let child = entry.mark(&mut command).spawn();
        // Closes the command's copy of the holder's side, so that the stream ends with the holder.
        drop(command);
        let child = child.map_err(|e| {
            Fault::environment(format!("cannot start {}: {e}", self.launcher.program.display()))
        })?;
        let mut cluster = VirtualCluster {
            nodes,
            control: Some(control),
            child,
            entry: Some(entry),
            notes: Vec::new(),
            interrupted: Arc::clone(&self.interrupted),
            folder,
            _ledger: ledger,
        };
        cluster.notes = cluster.order(&create_order(nodes, &self.launcher)?, None)?;
        // Read here: the limit is the host's, and not visible in the cluster's namespaces.
        cluster.notes.extend(neighbours::note(nodes));
        Ok(cluster)
    }
}

impl Testbed for VirtualTestbed {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn needs(&self) -> Vec<Need> {
        let what = "namespaces, links and a switch";
        // Settings do not show everything that a kernel refuses, so a cluster is created.
        match self.create_cluster(1) {
            Ok(_) if user::is_root() => vec![Need::found(what, "as root")],
            Ok(_) => vec![Need::found(what, "in a user namespace, without root")],
            Err(fault) => {
                let remedy = fault.remedy.clone().unwrap_or_default();
                let why = Fault { remedy: None, ..fault };
                vec![Need::missing(what, format!("no real-time runs on virtual nodes: {why}"), remedy)]
            }
        }
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        agent::check_count(nodes, addresses::MAX_NODES)?;
        demand(nodes).check()
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        self.check_capacity(nodes)?;
        Ok(Box::new(self.create_cluster(nodes)?))
    }
}

/// The resources that a cluster needs on its host: a set of namespaces for each node and
/// one for the switch, and the processes in them.
fn demand(nodes: usize) -> ResourceDemand {
    ResourceDemand { namespaces: nodes as u64 + 1, ..agent::demand(nodes) }
}

struct VirtualCluster {
    nodes: usize,
    /// Closing it ends the cluster.
    control: Option<PacketSocket>,
    child: Child,
    entry: Option<Entry>,
    notes: Vec<String>,
    interrupted: Arc<AtomicBool>,
    // Dropped after the nodes have ended.
    folder: TemporaryFolder,
    // Dropped last: its reaper runs until all has been removed.
    _ledger: Ledger,
}

impl VirtualCluster {
    /// Sends an order to the holder. Returns its notes. A holder that does not answer is given up: the cluster is
    /// not up any more.
    fn order(&mut self, order: &ToHolder, file: Option<BorrowedFd<'_>>) -> Result<Vec<String>, Fault> {
        let gone = || Fault::environment("the process that holds the virtual cluster has ended");
        let control = self.control.take().ok_or_else(gone)?;
        control.send(order, file).map_err(|_| gone())?;
        let until = Instant::now() + TIMEOUT;
        while !is_readable(&control)? {
            if self.interrupted.load(Ordering::SeqCst) {
                self.control = Some(control);
                return Err(Fault::interrupted());
            }
            if Instant::now() >= until {
                let seconds = TIMEOUT.as_secs();
                return Err(Fault::environment(format!(
                    "the process that holds the virtual cluster gave no answer within {seconds} s"
                ))
                .remedy("see whether it is stopped or this machine hangs, and run it again"));
            }
        }
        let (answer, _) = control.receive::<Answer>(Some(Duration::ZERO))?.ok_or_else(gone)?;
        self.control = Some(control);
        answer.done()
    }
}

/// Waits a moment for an answer.
fn is_readable(control: &PacketSocket) -> Result<bool, Fault> {
    let came = wait_readable(&[control], Some(POLL_INTERVAL));
    came.map(|came| came[0]).map_err(|e| Fault::environment(e.to_string()))
}

impl Cluster for VirtualCluster {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn address(&self, node: usize) -> IpAddr {
        addresses::address(node).into()
    }

    fn host(&self, _: usize) -> usize {
        0
    }

    fn shared(&self) -> Option<&Path> {
        Some(self.folder.path())
    }

    fn start_agent(&mut self, node: usize, slot: usize) -> Result<AgentStream, Fault> {
        let folder = agent::folder(self.folder.path(), node, slot);
        let (ours, theirs) = agent::stream()?;
        self.order(&ToHolder::StartAgent { node, slot, folder }, Some(theirs.as_fd()))
            .map_err(|fault| fault.on(node))?;
        agent::connect(ours)
    }

    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault> {
        let rate = match link {
            Link::Unshaped => None,
            Link::Rate(rate) if rate.0.is_finite() && rate.0 >= 8.0 => Some(rate.0),
            Link::Rate(rate) => {
                return Err(Fault::usage(format!(
                    "expected a rate of at least 8 bit/s, found {}",
                    human(rate.0, "bit/s")
                )));
            }
        };
        self.order(&ToHolder::Shape { rate }, None)
    }

    fn is_up(&mut self) -> bool {
        self.control.is_some() && matches!(self.child.try_wait(), Ok(None))
    }

    fn absences(&self) -> Vec<String> {
        let mut absences: Vec<String> = [
            "nodes share one machine: its cores, caches, memory bandwidth, kernel locks and clock",
            "no network interface hardware: no DMA, interrupts or their coalescing, no PCI",
            "links have this kernel's latency, not a fabric's: only their rate is shaped",
            "the switch is one kernel bridge: store and forward, no cut-through, no boards",
        ]
        .map(String::from)
        .into();
        absences.extend(self.notes.iter().cloned());
        absences
    }
}

impl Drop for VirtualCluster {
    fn drop(&mut self) {
        self.control.take();
        let began = Instant::now();
        // The holder ends once all processes of the cluster have ended.
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < END_TIMEOUT {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Kills processes that are left. Those that do not end stay in the ledger, for the reaper.
        let undone = self.entry.take().map(Entry::undo);
        if !matches!(undone, Some(Err(_))) {
            let _ = self.child.wait();
        }
        // Changes of agents that were killed before they undid them.
        Ledger::undo_abandoned();
    }
}
