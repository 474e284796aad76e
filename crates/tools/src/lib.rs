//! Other programs as workloads, and simple loads of our own for shared machines.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod burner;
pub mod command;
mod external;
pub mod iperf3;
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
        Box::new(iperf3::IPERF3),
        Box::new(command::Command),
    ]
}
