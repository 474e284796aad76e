//! Where nodes come from: this machine as it is ([`Local`]), a virtual cluster
//! of namespaces on it ([`Virtual`]), or threads of the calling program
//! ([`Mock`], for the tests of rooms above).
//!
//! A program that uses `Local` or `Virtual` must understand three hidden verbs:
//! `agent` speaks [`crosstalk_core::message`] over its standard input and
//! output, `hold` calls [`holder_main`], `reap` calls
//! [`crosstalk_host::reaper_main`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod agent;
mod held;
mod local;
mod mock;
mod virtual_cluster;

pub use crosstalk_host::Launcher;
pub use held::{HEADROOM, advised, fastest, scale_for};
pub use local::Local;
pub use mock::Mock;
pub use virtual_cluster::{Virtual, holder_main};
