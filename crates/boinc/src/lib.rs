//! BOINC, as volunteers use it: a client, a project, its work, and the workload that runs them.
//!
//! | file | holds |
//! |---|---|
//! | `collatz` | the work: real, and checkable |
//! | `app` | what a client runs to do it |
//! | `client` | the connection to a client, through its own interface |
//! | `markup`, `digest` | the markup and the digest of all of BOINC's protocols |
//! | `project` | the server that sends it to clients and takes the results |
//! | `client_process` | a real client in a directory of its own |
//! | `client_files`, `preferences` | a client's settings, and the files that attach it to a project before it starts |
//! | `spec`, `workload`, `node` | the workload: its parameters, its declaration, its node |
//!
//! The workload starts a project and a client that is attached to it alone. It is steady once as many tasks
//! compute as the client is set to have processors, and runs until it is stopped. With no processors nothing
//! is started. Neither leaves this machine: the project listens on loopback, and the client is set to contact
//! no other server. Both end with the attempt, and so does their directory. Where root starts them, they run
//! as `nobody`.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `donated` | cores | background CPU time: processor seconds that tasks used per second, from when it was steady |
//! | `tasks_running` | tasks | running at a time, on average |
//! | `tasks_finished` | tasks | whose answer the project accepted in that time |
//! | `tasks_failed` | tasks | reported without an answer in that time |
//! | `start_time` | s | from the client's start until all its tasks computed; not reported where nothing is started |
//!
//! The kernel counts `donated`: a client learns its tasks' CPU time a second late.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod app;
pub mod client;
mod client_files;
mod client_process;
pub mod collatz;
mod digest;
mod markup;
mod node;
mod preferences;
pub mod project;
mod spec;
mod workload;

use crosstalk_core::scene::Workload;

pub use client_process::{ClientProcess, ClientSetup, find_client_program};
pub use preferences::Preferences;
pub use spec::Spec;
pub use workload::BOINC;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(BOINC)]
}
