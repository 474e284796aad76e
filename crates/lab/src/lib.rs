//! The runner: agents, attempts, blocks, looks, the journal, resuming.
//!
//! [`agent::serve`] runs on a node; everything else runs where the user sits.
//! Data flows one way: a plan comes in, attempts are performed on a cluster,
//! what they observe goes to the journal, and at planned looks the journal is
//! asked whether it is enough.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod agent;
mod attempt;
mod blocks;
pub mod clock;
pub mod journal;
mod lab;
mod once;
pub mod progress;
mod run;
pub mod rundir;
mod runner;
pub mod seal;
mod troupe;

pub use lab::{Ending, Lab};
pub use once::once;
pub use run::run;
