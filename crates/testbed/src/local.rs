//! A testbed whose nodes are processes of this machine, connected by loopback. It needs no
//! privileges and no namespaces. It suffices for virtual time, where messages cost what the
//! fabric says.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{AgentStream, Cluster, Link, Testbed};
use crosstalk_host::Launcher;
use crosstalk_host::ledger::{Entry, Ledger, TemporaryFolder};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;

use crate::agent;

/// The most nodes: from 127.0.1.1 on, 254 in each of 254 networks.
const MAX_NODES: usize = 254 * 254;

/// A testbed whose nodes are processes of this machine.
#[derive(Debug, Clone)]
pub struct LocalTestbed {
    launcher: Launcher,
}

impl LocalTestbed {
    /// A testbed whose nodes run the verb `agent` of `launcher`.
    pub fn new(launcher: Launcher) -> Self {
        LocalTestbed { launcher }
    }
}

impl Testbed for LocalTestbed {
    fn name(&self) -> &'static str {
        "local"
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::found("processes on loopback", "no isolation, no shaped links")]
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        agent::check_count(nodes, MAX_NODES)?;
        agent::demand(nodes).check()
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        self.check_capacity(nodes)?;
        let ledger = Ledger::open(&self.launcher)?;
        let folder = ledger.temporary_folder("temporary files of the nodes")?;
        Ok(Box::new(LocalCluster {
            nodes,
            agents: BTreeMap::new(),
            launcher: self.launcher.clone(),
            folder,
            ledger,
        }))
    }
}

struct LocalCluster {
    nodes: usize,
    /// The agents, by node and slot.
    agents: BTreeMap<(usize, usize), Agent>,
    launcher: Launcher,
    // Dropped after the agents, which use it.
    folder: TemporaryFolder,
    ledger: Ledger,
}

/// A running agent. Dropping it ends the agent and all processes that it started.
struct Agent {
    child: Child,
    entry: Option<Entry>,
}

impl Cluster for LocalCluster {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn address(&self, node: usize) -> IpAddr {
        Ipv4Addr::new(127, 0, 1 + (node / 254) as u8, 1 + (node % 254) as u8).into()
    }

    fn host(&self, _: usize) -> usize {
        0
    }

    fn shared(&self) -> Option<&Path> {
        Some(self.folder.path())
    }

    fn start_agent(&mut self, node: usize, slot: usize) -> Result<AgentStream, Fault> {
        self.agents.retain(|there, _| there.0 != node || (slot != 0 && there.1 != slot));
        let entry = self.ledger.processes(&format!("local agent {node}"))?;
        let folder = agent::folder(self.folder.path(), node, slot);
        let (ours, theirs) = agent::stream()?;
        let mut command = agent::command(&self.launcher, theirs.into(), &folder)?;
        // A process group of its own, so that Ctrl-C reaches the runner only, which then sends `Cancel`.
        let child = entry.mark(&mut command).process_group(0).spawn();
        let child = child.map_err(|e| agent::not_started(&self.launcher, &e))?;
        self.agents.insert((node, slot), Agent { child, entry: Some(entry) });
        agent::connect(ours)
    }

    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault> {
        match link {
            Link::Unshaped => Ok(Vec::new()),
            Link::Rate(rate) => {
                Err(Fault::usage(format!("the testbed local has no links to hold to {:.3e} bit/s", rate.0))
                    .remedy("use --testbed virtual, or a study in virtual time"))
            }
        }
    }

    fn absences(&self) -> Vec<String> {
        vec![
            "nodes are processes of one machine: they share its cores, caches, memory and host name".into(),
            "nodes talk over loopback, whose packets hold 64 KB and pass no device".into(),
        ]
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // A failure leaves the entry in the ledger, and the reaper tries again.
        let ended = self.entry.take().map(Entry::undo);
        if !matches!(ended, Some(Err(_))) {
            let _ = self.child.wait();
        }
    }
}
