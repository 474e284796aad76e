//! Programs of others, run as workloads.

pub mod command;
