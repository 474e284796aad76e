//! The applications through their workloads, as one test program.

#[path = "../../work/tests/cluster/mod.rs"]
mod cluster;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

mod als;
mod application;
mod bayes;
mod data;
mod dataset;
mod memory;
mod pagerank;
