//! The multi-user load in the style of AIM7: kinds of test, mixes of them, users who run such jobs, and ways to
//! keep users apart.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod arrangement;
mod attempt;
mod block;
pub mod common;
mod counts;
mod deal;
mod docker;
pub mod driver;
mod drivers;
mod files;
mod isolation;
mod metrics;
pub mod mix;
mod orders;
mod outcome;
pub mod population;
pub mod ramp;
mod reread;
mod run;
mod scene;
mod spec;
mod tasks;
pub mod test;
pub mod tune;
pub mod user;
mod work;
mod workload;

use crosstalk_core::scene::Workload;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(workload::USERS)]
}
