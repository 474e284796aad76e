//! The workloads: probes, applications, tools. A folder each, and a line in
//! [`workloads`].
#![forbid(unsafe_code)]

pub mod app;
mod peer;
pub mod probe;
pub mod tool;

use crosstalk_core::scene::Workload;

/// Every workload there is.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(app::pagerank::PageRank),
        Box::new(probe::stream::Stream),
        Box::new(probe::latency::Latency),
        Box::new(probe::bandwidth::Bandwidth),
        Box::new(tool::command::Command),
    ]
}
