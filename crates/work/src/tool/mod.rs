//! Programs of others, run as workloads.

pub mod boinc;
pub mod command;
pub mod sysbench;
