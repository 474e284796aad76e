//! Other programs as workloads, and simple loads of our own for shared machines.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod burner;
pub mod command;
pub mod primes;
pub mod sysbench;
mod thread_counts;

use crosstalk_core::scene::Workload;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(primes::PRIMES),
        Box::new(burner::BURNER),
        Box::new(sysbench::SYSBENCH),
        Box::new(sysbench::OLTP),
        Box::new(command::Command),
    ]
}
