//! Nodes that are processes of this machine, on loopback, with nothing between
//! them. Needs no privilege and no namespaces: enough for virtual time, where
//! the fabric is in the profile and not in the links.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{Cluster, AgentStream, Link, Testbed};
use crosstalk_host::Launcher;
use crosstalk_host::ledger::{Entry, Ledger, Scratch};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;

use crate::agent;

/// 127.0.1.1 is the first node; the third number counts on after 254.
const MOST: usize = 254 * 254;

/// This machine as a testbed.
#[derive(Debug, Clone)]
pub struct Local {
    launcher: Launcher,
}

impl Local {
    /// Nodes run the verb `agent` of `launcher`.
    pub fn new(launcher: Launcher) -> Self {
        Local { launcher }
    }
}

impl Testbed for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::found("processes on loopback", "no isolation, no shaped links")]
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        agent::check_count(nodes, MOST)?;
        agent::demand(nodes).check()
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        self.check_capacity(nodes)?;
        let ledger = Ledger::open(&self.launcher)?;
        let scratch = ledger.scratch("temporary files of the nodes")?;
        Ok(Box::new(LocalCluster {
            nodes,
            agents: BTreeMap::new(),
            launcher: self.launcher.clone(),
            scratch,
            ledger,
        }))
    }
}

struct LocalCluster {
    nodes: usize,
    /// By node and place.
    agents: BTreeMap<(usize, usize), Agent>,
    launcher: Launcher,
    // Dropped after the agents that use it.
    scratch: Scratch,
    ledger: Ledger,
}

/// A running agent. Dropping it ends it and everything it started.
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
        Some(self.scratch.path())
    }

    fn start_agent(&mut self, node: usize, place: usize) -> Result<AgentStream, Fault> {
        self.agents.retain(|there, _| there.0 != node || (place != 0 && there.1 != place));
        let entry = self.ledger.processes(&format!("local agent {node}"))?;
        let folder = agent::folder(self.scratch.path(), node, place);
        let (ours, theirs) = agent::stream()?;
        let mut command = agent::command(&self.launcher, theirs.into(), &folder)?;
        // A group of its own: Ctrl-C is the runner's business, which then says "cancel".
        let child = entry.mark(&mut command).process_group(0).spawn();
        let child = child.map_err(|e| agent::not_started(&self.launcher, &e))?;
        self.agents.insert((node, place), Agent { child, entry: Some(entry) });
        agent::duplex(ours)
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
