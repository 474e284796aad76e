//! The workloads: probes, applications, tools.
#![forbid(unsafe_code)]

mod peer;
pub mod probe;
pub mod tool;
