//! The workloads: probes, applications, tools.
#![forbid(unsafe_code)]

pub mod app;
pub mod peer;
pub mod probe;
pub mod tool;
