//! BOINC for real: external work as volunteers do it.
//!
//! | file | holds |
//! |---|---|
//! | `collatz` | the work: real, and checkable |
//! | `app` | what a client runs to do it |
//! | `client` | the connection with a client, by its own interface |
//! | `project` | the server that gives it out and takes it back |
//! | `host` | a real client in a directory of its own |
//! | `known` | a project that it knows when it starts |
//! | `part` | the workload |
//!
//! The workload starts a project and a client that knows of nothing else, is steady once
//! as many tasks compute as the client takes itself to have processors, and lets them run
//! until it is told to stop. Without any processors nothing is started.
//! Neither leaves this machine: the project listens on loopback, and the client is told
//! to look nothing up. Both end with the attempt, and their directory with them.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `donated` | cores | processor seconds that tasks used, a second, from when it was steady |
//! | `tasks_running` | tasks | running at a time, on average |
//! | `tasks_finished` | tasks | whose answer the project has taken in that time |
//! | `tasks_failed` | tasks | reported without one in that time |
//! | `start_time` | s | from the client's start until all its tasks computed; not told where nothing is started |
//!
//! `donated` is counted by the kernel: a client hears of its tasks' processor time a second
//! late.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod app;
pub mod client;
mod client_files;
mod client_process;
pub mod collatz;
mod node;
pub mod project;
mod spec;
mod workload;

use crosstalk_core::scene::Workload;

pub use client_process::{ClientProcess, ClientSetup, find};
pub use spec::Spec;
pub use workload::BOINC;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(BOINC)]
}
