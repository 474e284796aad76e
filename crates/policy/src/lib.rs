//! The guard's policy: a snapshot of the host in, what background work may have out.
//!
//! Pure: it knows no host, reads no clock, and is driven by the times that it is given.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod activity;
mod contention;
mod contract;
mod decide;
mod decision;
mod demand;
mod devices;
mod duty;
mod host;
mod memory;
mod probing;
#[cfg(test)]
mod simulated;
mod snapshot;
mod trial;
mod watch;

pub use activity::BUSY;
pub use contract::{Contract, SLOWDOWN};
pub use decide::Policy;
pub use decision::{Decision, Grade, Grant, Offers, Pause, Why};
pub use host::{Host, Program};
pub use memory::Shortage;
pub use snapshot::{Probe, ProbePlace, Requests, Served, Snapshot, Used};
pub use trial::{BEGINS, SETTLE};
pub use watch::{Report, Sums, watch};
