//! Graph analytics: PageRank with GraphX's semantics on one master and N slaves.
//!
//! The stand-in for CloudSuite's Graph Analytics; `docs/explanation/pagerank.md` has the
//! recurrence and where it comes from. The files in the order of a run:
//!
//! | file | holds |
//! |---|---|
//! | `config` | the parameters |
//! | `rmat`, `edge_list`, `source` | the edges |
//! | `loading` | the edges from the master, where loading them counts |
//! | `edge`, `name` | an edge, and a vertex's name in a file |
//! | `names`, `table`, `column`, `agree` | the labels of the vertices, on which all slaves agree |
//! | `partition`, `ranked_bits`, `build`, `slots`, `shard` | the graph in parts, and the kernel |
//! | `ranks`, `mass` | ranks on one part |
//! | `overflow` | the edges that memory does not hold |
//! | `message_words` | the extent of a graph and its balance as words of messages |
//! | `slave`, `master` | the two roles |
//! | `sample`, `verify` | the check of every answer |
//! | `spark`, `reference` | the same on Spark, and the reference for its answer |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Prepared};

use crate::application::{self, Role};
use crate::engine;
use config::Config;
use crosstalk_work::{Declared, Elsewhere, Portable};

pub mod agree;
pub mod build;
mod column;
pub mod config;
pub mod edge;
pub mod edge_list;
mod loading;
mod mass;
mod master;
mod message_words;
pub mod name;
pub mod names;
mod overflow;
mod partition;
mod ranked_bits;
pub mod ranks;
mod reference;
pub mod rmat;
mod sample;
pub mod shard;
mod slave;
mod slots;
pub mod source;
mod spark;
mod table;
mod verify;

/// The workload `pagerank`: ranks the vertices of a graph.
pub const PAGERANK: Portable<Config> = Portable {
    declared: Declared {
        name: "pagerank",
        title: "Graph analytics: PageRank as GraphX computes it, one master and N slaves",
        parameters: config::PARAMETERS,
        read: Config::from_params,
        deploy,
        needs: |config| config.engine.needs(),
        prepare,
    },
    elsewhere: Elsewhere::Replayed(|_| Box::new(crate::account::report_replayed)),
};

fn deploy(config: &Config) -> Deployment {
    if let Some(settings) = config.engine.spark() {
        return engine::spark::deployment(settings, config.slaves, Vec::new(), on_spark(config));
    }
    let own = vec![
        Metric::new("edges_per_second", "edges/s", Better::Higher).above_zero(),
        Metric::new("time_spill", "s", Better::Neither),
        Metric::new("bytes_spilled", "B", Better::Neither),
    ];
    application::deployment(config.slaves, own, seconds(config))
}

/// Seconds on two cores of the yardstick: edges are generated or read twice, sent once through the kernel,
/// and placed and gathered in random order, which takes the longer the fewer of them its caches hold.
fn seconds(config: &Config) -> f64 {
    let edges = config.known_edges().unwrap_or(1 << 20) as f64;
    let load = 1.9e-7 + 6e-8 * (edges / f64::from(1 << 23)).log2();
    let edge = load.clamp(8e-8, 4e-7) + 5e-9 * config.iterations as f64;
    0.2 + 0.03 * config.slaves as f64 + edges * edge / config.slaves.min(2) as f64
}

/// Seconds on Spark: reading and distributing the edges takes longer than the iterations.
fn on_spark(config: &Config) -> f64 {
    let edges = config.known_edges().unwrap_or(1 << 20) as f64;
    3.5 + edges * (1.5e-6 + 0.5e-6 * config.iterations as f64)
}

fn prepare(config: Config, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if let Some(settings) = config.engine.spark().cloned() {
        return engine::spark::prepare(part, settings, spark::job(config));
    }
    let role = match application::slave_number(part, config.slaves)? {
        None => {
            let (extent, part) = (config.source.extent()?, part.clone());
            if config.counts_loading {
                loading::check_labels(extent)?;
            }
            Role::Master(Box::new(move |rank| master::run(&config, extent, &part, rank)))
        }
        Some(slave) => {
            if !config.counts_loading {
                config.source.open_chunks(&names::Names::Same(0), slave, config.slaves)?;
            }
            let seed = part.seed;
            let memory = part.emulation.as_ref().map(|emulation| emulation.node.memory);
            Role::Slave(Box::new(move |rank| slave::run(&config, seed, memory, rank)))
        }
    };
    application::prepare(part, role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Params;

    #[test]
    fn a_study_that_names_slaves_gets_a_master_too() {
        let deployment = PAGERANK.deploy(&Params::default().with("slaves", 6)).expect("deploys");
        assert_eq!(deployment.nodes, 7);
        assert_eq!(deployment.metrics[0].name, "completion_time");
        assert!(PAGERANK.deploy(&Params::default().with("slaves", 0)).is_err());
    }
}
