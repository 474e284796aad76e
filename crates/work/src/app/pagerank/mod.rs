//! Graph analytics: PageRank with GraphX's semantics on one master and N slaves.
//!
//! The stand-in for CloudSuite's Graph Analytics; `docs/pagerank.md` has the
//! recurrence and where it comes from. The files in the order of a run:
//!
//! | file | holds |
//! |---|---|
//! | `config` | the parameters |
//! | `rmat`, `edge_list`, `source` | where edges come from |
//! | `partition`, `ranked_bits`, `build`, `slots`, `shard` | the graph in parts, and the kernel |
//! | `ranks`, `mass` | ranks on one part |
//! | `exchange`, `protocol` | what parts, and slaves and master, tell each other |
//! | `slave`, `master` | the two roles |
//! | `sample`, `verify` | the check of every answer |

use crosstalk_comm::{Account, Listener};
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Prepared, Sink, Timing, Workload};
use crosstalk_core::value::Params;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use config::Config;
use master::Answer;
use source::Extent;

pub mod build;
pub mod config;
pub mod edge_list;
pub mod exchange;
mod mass;
mod master;
mod partition;
mod protocol;
mod ranked_bits;
pub mod ranks;
#[cfg(test)]
mod reference;
pub mod rmat;
mod sample;
pub mod shard;
mod slave;
mod slots;
pub mod source;
mod verify;

/// A directed edge between two vertices' labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it leaves.
    pub source: u32,
    /// Where it points.
    pub target: u32,
}

/// The workload.
pub struct PageRank;

impl Workload for PageRank {
    fn name(&self) -> &'static str {
        "pagerank"
    }

    fn title(&self) -> &'static str {
        "graph analytics: PageRank as GraphX computes it, one master and N slaves"
    }

    fn parameters(&self) -> &'static [&'static str] {
        config::PARAMETERS
    }

    fn timing(&self) -> Timing {
        Timing::Virtual
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        let config = Config::new(params)?;
        // On one core of the reference machine: edges are made or read twice
        // and travel once through the kernel; the kernel gathers them faster.
        let edges = config.edges().unwrap_or(1 << 20) as f64;
        let seconds = 0.2 + 0.05 * config.slaves as f64 + edges * (2.5e-7 + 5e-9 * config.iterations as f64);
        Ok(Deployment { nodes: config.slaves + 1, metrics: metrics(), seconds })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        let config = Config::new(&part.params)?;
        if part.nodes != config.slaves + 1 || part.node >= part.nodes {
            return Err(Fault::attempt(format!(
                "expected one master and {} slaves, found node {} of {}",
                config.slaves, part.node, part.nodes
            )));
        }
        let role = if part.node == protocol::MASTER {
            Role::Master(config.source.extent()?)
        } else {
            config.source.open(part.node - 1, config.slaves)?;
            Role::Slave
        };
        let address = part.addresses.get(part.node).copied();
        let address = address.ok_or_else(|| Fault::attempt(format!("node {} has no address", part.node)))?;
        Ok(Box::new(Ready { part: part.clone(), config, role, listener: crosstalk_comm::bind(address)? }))
    }
}

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("completion_time", "s", Better::Lower),
        Metric::new("time_compute", "s", Better::Neither),
        Metric::new("time_wait", "s", Better::Neither),
        Metric::new("time_serialise", "s", Better::Neither),
        Metric::new("load_time", "s", Better::Neither),
        Metric::new("edges_per_second", "edges/s", Better::Higher),
        Metric::new("bytes_exchanged", "B", Better::Neither),
        Metric::new("peak_memory", "B", Better::Lower),
        Metric::new("answer_checksum", "", Better::Neither),
    ]
}

enum Role {
    Master(Extent),
    Slave,
}

/// A node that has looked at its input and listens.
struct Ready {
    part: Part,
    config: Config,
    role: Role,
    listener: Listener,
}

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.listener.endpoint())
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let Ready { part, config, role, listener } = *self;
        let mut rank = listener.connect(&part, endpoints, cancelled)?;
        let origin = if part.emulation.is_some() { Origin::Emulated } else { Origin::Measured };
        let account = match role {
            Role::Slave => slave::run(&config, part.seed, &mut rank)?,
            Role::Master(extent) => {
                let answer = master::run(&config, extent, &mut rank)?;
                // In real time the kernel runs on one core of its node.
                let cores = part.emulation.as_ref().map_or(1, |emulation| emulation.node.cores);
                if let Err(fault) = &answer.verdict {
                    rank.finish()?;
                    return Err(fault.clone());
                }
                tell_of_all(&answer, &config, cores, origin, out)?;
                answer.account
            }
        };
        tell_of_node(part.node, &account, origin, out)?;
        rank.finish()
    }
}

/// The readings that speak of the whole.
fn tell_of_all(
    answer: &Answer,
    config: &Config,
    cores: u32,
    origin: Origin,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let gathered = answer.edges as f64 * config.iterations as f64;
    let core_seconds = answer.completion.0 * config.slaves as f64 * f64::from(cores);
    // The upper 52 bits, which a floating-point number holds exactly.
    let checksum = (answer.checksum >> 12) as f64;
    out.take(Reading::value("completion_time", answer.completion.0, origin), 1)?;
    out.take(Reading::value("load_time", answer.loading.0, origin), 1)?;
    out.take(Reading::value("edges_per_second", gathered / core_seconds, origin), 1)?;
    out.take(Reading::value("bytes_exchanged", answer.exchanged as f64, Origin::Computed), 1)?;
    out.take(Reading::value("answer_checksum", checksum, Origin::Computed), 1)
}

/// The readings that speak of one node.
fn tell_of_node(node: usize, account: &Account, origin: Origin, out: &mut dyn Sink) -> Result<(), Fault> {
    let times = [
        ("time_compute", account.compute),
        ("time_wait", account.wait),
        ("time_serialise", account.serialise),
    ];
    for (metric, time) in times {
        out.take(Reading::value(metric, time.0, origin).label("node", node), 1)?;
    }
    match peak_memory() {
        Some(bytes) => {
            out.take(Reading::value("peak_memory", bytes, Origin::Measured).label("node", node), 1)
        }
        None => Ok(()),
    }
}

/// The most memory this process has held, in bytes: `VmHWM` of proc(5).
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_that_names_slaves_gets_a_master_too() {
        let deployment = PageRank.deploy(&Params::default().with("slaves", 6)).expect("deploys");
        assert_eq!(deployment.nodes, 7);
        assert_eq!(deployment.metrics[0].name, "completion_time");
        assert!(PageRank.deploy(&Params::default().with("slaves", 0)).is_err());
    }

    #[test]
    fn the_peak_of_memory_is_at_least_what_is_held() {
        let held = vec![1_u8; 32 << 20];
        let peak = peak_memory().expect("Linux has it");
        assert!(peak >= held.iter().map(|byte| f64::from(*byte)).sum());
    }
}
