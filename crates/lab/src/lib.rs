//! The runner: agents, attempts, blocks, interim analyses, the journal, resuming.
//!
//! [`agent::serve_runner`] runs on a node, everything else on the user's machine. A run
//! performs the attempts of a plan on a cluster and writes their readings to the
//! journal. At planned interim analyses (looks) it decides whether the data suffice.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod agent;
mod agent_pool;
mod attempt;
mod blocks;
pub mod clock;
pub mod digests;
pub mod journal;
mod lab;
mod once;
pub mod progress;
mod ranges;
mod run;
pub mod rundir;
mod runner;
mod schedules;

pub use lab::{Ending, RunInputs};
pub use once::run_once;
pub use run::run;
