//! The guard's policy: a snapshot of the host in, what background work may have out.
//!
//! Pure: it knows no host, reads no clock, and is driven by the times that it is given.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod activity;
mod contract;
mod decide;
mod demand;
mod devices;
mod duty;
mod estimate;
mod host;
mod menu;
mod pages;
mod recent;
mod sense;
#[cfg(test)]
mod simulated;
mod trial;
mod watch;

pub use activity::{BUSY, MORE};
pub use contract::{Contract, SLOWDOWN};
pub use decide::{Decision, Grade, Grant, Offers, Policy, Still, Why};
pub use host::{Host, Program};
pub use pages::PAGE;
pub use recent::Recent;
pub use sense::{Probe, Requests, Sense, Served, Stand, Used};
pub use trial::{BEGINS, SETTLE};
pub use watch::{Report, Sums, watch};
