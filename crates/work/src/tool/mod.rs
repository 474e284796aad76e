//! Programs of others, run as workloads.

pub mod command;
pub mod sysbench;
