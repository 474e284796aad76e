//! The workloads: probes, applications, tools. A folder each, and a line in
//! [`workloads`].
#![forbid(unsafe_code)]

mod alone;
pub mod app;
mod declared;
pub mod engine;
#[doc(hidden)]
pub mod fuzzing;
pub mod path;
mod peer;
pub mod probe;
mod program;
pub mod tenant;
pub mod tool;
pub mod trace;

use crosstalk_core::scene::Workload;

pub use declared::{Declared, Prepare};
pub use peer::Until;

/// Every workload there is.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(app::als::ALS),
        Box::new(app::bayes::BAYES),
        Box::new(app::pagerank::PAGERANK),
        Box::new(probe::stream::STREAM),
        Box::new(probe::latency::LATENCY),
        Box::new(probe::load::LOAD),
        Box::new(probe::bandwidth::BANDWIDTH),
        Box::new(probe::memory::MEMORY),
        Box::new(probe::cores::CORES),
        Box::new(probe::kernel::KERNEL),
        Box::new(probe::pcie::PCIE),
        Box::new(probe::wire::WIRE),
        Box::new(path::PATH),
        Box::new(tenant::primes::PRIMES),
        Box::new(tenant::burner::BURNER),
        Box::new(tool::sysbench::SYSBENCH),
        Box::new(tool::sysbench::OLTP),
        Box::new(tool::boinc::BOINC),
        Box::new(tool::command::Command),
    ]
}
