//! Testbeds, which create the nodes of a cluster: processes on this machine ([`LocalTestbed`]), a
//! virtual cluster of namespaces on it ([`VirtualTestbed`]), or threads of the calling program
//! ([`MockTestbed`], for tests of other crates).
//!
//! A program that uses `LocalTestbed` or `VirtualTestbed` must have three hidden verbs: `agent` exchanges
//! [`crosstalk_core::message`]s over its standard input and output, `hold` calls
//! [`holder_main`], and `reap` calls [`crosstalk_host::reaper_main`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod agent;
mod local;
mod mock;
mod rates;
mod virtual_cluster;

pub use crosstalk_host::Launcher;
pub use local::LocalTestbed;
pub use mock::MockTestbed;
pub use rates::{HEADROOM, fastest_rate, scale_for, with_scale_advice};
pub use virtual_cluster::{VirtualTestbed, holder_main};
