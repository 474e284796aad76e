//! Control groups on v1, v2 and hybrid hosts.
//!
//! [`group`] reads and sets them; [`process`] reads which processes are in which; [`exec`] starts a
//! command in a group of its own.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod exec;
pub mod group;
pub mod process;
