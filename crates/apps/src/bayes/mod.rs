//! Data analytics: Wikipedia's articles, classified by complementary Naive
//! Bayes in a MapReduce pipeline on one master and N slaves.
//!
//! The stand-in for CloudSuite's Data Analytics (Mahout on Hadoop);
//! `docs/explanation/bayes.md` has exactly what is computed and where it comes from. The
//! files in the order of a run:
//!
//! | file | holds |
//! |---|---|
//! | `config` | the parameters |
//! | `corpus`, `random`, `mediawiki`, `source`, `deal` | the pages |
//! | `node`, `record`, `lockstep` | a stage's resources, its records, and passes over documents |
//! | `page`, `category`, `split`, `label` | pages become labelled documents |
//! | `token`, `words` | documents become words, which are counted |
//! | `dictionary`, `numbers` | words become numbers, whose pairs are counted |
//! | `features`, `vectors` | documents become vectors of weights |
//! | `cell`, `train`, `segment`, `model` | learning |
//! | `decide`, `confusion` | deciding |
//! | `pipeline` | all of that, one after the other |
//! | `slave`, `master` | the two roles |
//! | `verify` | the check of every answer |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Prepared};
use crosstalk_core::units::Bytes;

use crate::application::{self, Role};
use crate::engine;
use crate::input::{self, Packing};
use config::Config;
use crosstalk_work::{Declared, Elsewhere, Portable};
use source::Source;

pub mod category;
mod cell;
pub mod config;
pub mod confusion;
pub mod corpus;
mod deal;
pub mod decide;
pub mod dictionary;
pub mod features;
pub mod label;
mod links;
pub mod lockstep;
mod master;
pub mod mediawiki;
pub mod model;
pub mod node;
pub mod numbers;
pub mod page;
pub mod pipeline;
mod random;
pub mod record;
pub mod segment;
mod slave;
pub mod source;
mod spark;
pub mod split;
pub mod token;
pub mod train;
pub mod vectors;
mod verify;
pub mod words;

/// The workload `bayes`: labels articles by naive Bayes.
pub const BAYES: Portable<Config> = Portable {
    declared: Declared {
        name: "bayes",
        title: "Data analytics: complementary Naive Bayes on Wikipedia's articles, by MapReduce",
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
        return engine::spark::deployment(settings, config.slaves, answer(), on_spark(config));
    }
    let mut own = vec![Metric::new("throughput", "B/s", Better::Higher).above_zero()];
    own.extend(answer());
    own.extend([
        Metric::new("stage_time", "s", Better::Neither),
        Metric::new("time_spill", "s", Better::Neither),
        Metric::new("bytes_spilled", "B", Better::Neither),
        Metric::new("bytes_read_back", "B", Better::Neither),
        Metric::new("spills", "", Better::Neither),
        Metric::new("seeks", "", Better::Neither),
        Metric::new("bytes_held", "B", Better::Neither),
        Metric::new("segments", "", Better::Neither),
    ]);
    application::deployment(config.slaves, own, seconds(config))
}

/// The metrics of the classification.
fn answer() -> Vec<Metric> {
    vec![
        Metric::new("accuracy", "", Better::Higher),
        Metric::new("documents", "", Better::Neither),
        Metric::new("features", "", Better::Neither),
        Metric::new("confusion", "", Better::Neither),
    ]
}

/// Seconds on two cores of the yardstick.
fn seconds(config: &Config) -> f64 {
    0.1 + 0.12 * config.slaves as f64 + bytes(config) * 1.2e-7
}

/// Seconds on Spark, once Java is warm.
fn on_spark(config: &Config) -> f64 {
    4.7 + bytes(config) * 9e-7
}

/// About the bytes of text. A file's size counts, four times where it is packed.
fn bytes(config: &Config) -> f64 {
    match &config.source {
        Source::Generated(corpus) => corpus.documents as f64 * corpus.words as f64 * 6.0,
        Source::File(path) => {
            let packed = input::packing(path).is_ok_and(|packing| packing != Packing::Plain);
            let size = std::fs::metadata(path).map_or(0, |file| file.len());
            size as f64 * if packed { 4.0 } else { 1.0 }
        }
    }
}

fn prepare(config: Config, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if let Some(settings) = config.engine.spark().cloned() {
        return engine::spark::prepare(part, settings, spark::job(config));
    }
    let role = match application::slave_number(part, config.slaves)? {
        None => {
            let (pages, part) = (config.source.count_pages()?, part.clone());
            Role::Master(Box::new(move |rank| master::run(&config, pages, &part, rank)))
        }
        Some(_) => {
            let memory = memory(&config, part);
            Role::Slave(Box::new(move |rank| slave::run(&config, memory, rank)))
        }
    };
    application::prepare(part, role)
}

/// The memory of a slave: `memory_limit`; else in virtual time its node's memory, in real time 1 GiB.
fn memory(config: &Config, part: &Part) -> Bytes {
    let node = part.emulation.as_ref().map(|emulation| emulation.node.memory);
    config.memory_limit.or(node).unwrap_or(Bytes(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Params;

    #[test]
    fn a_study_that_names_slaves_gets_a_master_too() {
        let deployment = BAYES.deploy(&Params::default().with("slaves", 6)).expect("deploys");
        assert_eq!(deployment.nodes, 7);
        assert_eq!(deployment.metrics[0].name, "completion_time");
        assert!(BAYES.deploy(&Params::default().with("slaves", 0)).is_err());
    }
}
