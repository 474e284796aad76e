//! Cost models of messages: virtual time, the network that keeps the time of ranks by LogGOPS,
//! collective algorithms as rounds, schedules and their replay, the rule of a disk. Also the fit
//! of a fabric's parameters to measured times, and the latency of a path from its components.
//!
//! Pure: no clock, no operating system, the same result every time.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod collective;
pub mod disk;
pub mod fit;
pub mod network;
pub mod path;
pub mod schedule;
pub mod time;

pub use disk::{Access, disk_time};
pub use network::{Charge, TimeBreakdown};
pub use time::VirtualTime;
