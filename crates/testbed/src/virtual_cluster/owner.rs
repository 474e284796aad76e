//! The owner's side: the testbed, and the handle on a cluster that is up.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{Cluster, AgentStream, Link, Testbed};
use crosstalk_core::units::human;
use crosstalk_host::ledger::{Entry, Ledger, Scratch};
use crosstalk_host::limits::Demand;
use crosstalk_host::packet::Packets;
use crosstalk_host::process::wait_readable;
use crosstalk_host::{Launcher, namespace};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::protocol::{Answer, ToHolder, raise};
use super::{holder, neighbours, switch};
use crate::agent;

/// How long the holder may take over one order.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a wait for the holder looks up whether the user has interrupted.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a cluster may take to go by itself before it is killed.
const GOODBYE: Duration = Duration::from_secs(2);

/// Virtual clusters on this machine.
#[derive(Debug, Clone)]
pub struct Virtual {
    launcher: Launcher,
    interrupted: Arc<AtomicBool>,
}

impl Virtual {
    /// Nodes run the verb `agent` of `launcher`, its `hold` and `reap` keep the cluster.
    pub fn new(launcher: Launcher) -> Self {
        Virtual { launcher, interrupted: Arc::default() }
    }

    /// Waits for the cluster's answers end when `interrupted` is set: to raise
    /// a thousand nodes takes a while.
    pub fn until(self, interrupted: &Arc<AtomicBool>) -> Self {
        Virtual { interrupted: Arc::clone(interrupted), ..self }
    }

    fn up(&self, nodes: usize) -> Result<VirtualCluster, Fault> {
        let ledger = Ledger::open(&self.launcher)?;
        let scratch = ledger.scratch("temporary files of the nodes")?;
        let entry = ledger.processes(&format!("virtual cluster of {nodes} nodes"))?;
        let (control, theirs) = Packets::pair()?;
        let mut command = self.launcher.command(holder::VERB);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let child = entry.mark(&mut command).spawn();
        // The command still has the holder's end: without it, its death can be seen.
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
            scratch,
            ledger,
        };
        cluster.notes = cluster.order(&raise(nodes, &self.launcher)?, None)?;
        // Asked here: the limit is the host's, and is not shown in the cluster's namespaces.
        cluster.notes.extend(neighbours::note(nodes));
        Ok(cluster)
    }
}

impl Testbed for Virtual {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn needs(&self) -> Vec<Need> {
        let what = "namespaces, links and a switch";
        // Settings do not tell all that a kernel refuses: try it.
        match self.up(1) {
            Ok(_) if namespace::is_root() => vec![Need::found(what, "as root")],
            Ok(_) => vec![Need::found(what, "in a user namespace, without root")],
            Err(fault) => {
                let remedy = fault.remedy.clone().unwrap_or_default();
                let why = Fault { remedy: None, ..fault };
                vec![Need::missing(what, format!("no real-time runs on virtual nodes: {why}"), remedy)]
            }
        }
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        agent::check_count(nodes, switch::MOST)?;
        demand(nodes).check()
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        self.check_capacity(nodes)?;
        Ok(Box::new(self.up(nodes)?))
    }
}

/// What a cluster takes of its host: a set of namespaces for each node and one
/// for the switch, and the processes in them.
fn demand(nodes: usize) -> Demand {
    Demand { namespaces: nodes as u64 + 1, ..agent::demand(nodes) }
}

struct VirtualCluster {
    nodes: usize,
    /// Closing it ends the cluster.
    control: Option<Packets>,
    child: Child,
    entry: Option<Entry>,
    notes: Vec<String>,
    interrupted: Arc<AtomicBool>,
    // Dropped when the nodes are gone.
    scratch: Scratch,
    // Dropped last: its reaper watches until all is gone.
    ledger: Ledger,
}

impl VirtualCluster {
    /// Has the holder carry out an order; returns its notes.
    fn order(&self, order: &ToHolder, file: Option<BorrowedFd<'_>>) -> Result<Vec<String>, Fault> {
        let gone = || Fault::environment("the process that holds the virtual cluster has ended");
        let control = self.control.as_ref().ok_or_else(gone)?;
        control.send(order, file).map_err(|_| gone())?;
        let until = Instant::now() + PATIENCE;
        loop {
            if self.interrupted.load(Ordering::SeqCst) {
                return Err(Fault::interrupted());
            }
            let left = until.saturating_duration_since(Instant::now());
            let came = wait_readable(&[control], Some(left.min(GLANCE)))
                .map_err(|e| Fault::environment(e.to_string()))?;
            if came[0] || left.is_zero() {
                let (answer, _) = control.receive::<Answer>(Some(Duration::ZERO))?.ok_or_else(gone)?;
                return answer.done();
            }
        }
    }
}

impl Cluster for VirtualCluster {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn address(&self, node: usize) -> IpAddr {
        switch::address(node).into()
    }

    fn host(&self, _: usize) -> usize {
        0
    }

    fn shared(&self) -> Option<&Path> {
        Some(self.scratch.path())
    }

    fn start_agent(&mut self, node: usize, place: usize) -> Result<AgentStream, Fault> {
        let folder = agent::folder(self.scratch.path(), node, place);
        let (ours, theirs) = agent::stream()?;
        self.order(&ToHolder::Attach { node, place, folder }, Some(theirs.as_fd()))
            .map_err(|fault| fault.on(node))?;
        agent::duplex(ours)
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
        matches!(self.child.try_wait(), Ok(None))
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
        // The holder ends once the kernel has taken all the cluster's processes away.
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < GOODBYE {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Kills what is left, if anything is. What resists stays in the ledger for the reaper.
        let undone = self.entry.take().map(Entry::undo);
        if !matches!(undone, Some(Err(_))) {
            let _ = self.child.wait();
        }
        // What agents had set and were killed before they undid it.
        self.ledger.undo_left();
    }
}
