//! Cost models of messages: virtual time, the LogGOPS rules of a link, the rule of a disk,
//! and collective algorithms as rounds with a small simulator. Also the fit of a fabric's
//! parameters to measured times, and the latency of a path from its components.
//!
//! Pure: no clock, no operating system, the same result every time.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod collective;
pub mod disk;
pub mod fit;
pub mod loggops;
pub mod network;
pub mod path;
pub mod rounds;
pub mod schedule;
pub mod simulate;
pub mod time;

pub use disk::{Access, disk_time};
pub use loggops::RankClock;
pub use network::{Charge, TimeBreakdown};
pub use time::VirtualTime;
