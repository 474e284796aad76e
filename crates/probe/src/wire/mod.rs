//! One message at a time over one wire, through the kernel's sockets and around them: what polling
//! saves, and what bypassing the kernel saves.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `one_way` | s | distribution: from before the send to after the receive of a message |
//! | `bandwidth` | bit/s | with `measure = "bandwidth"`: of frames that arrive, with their Ethernet headers |
//! | `frame_rate` | /s | how many of them a second |
//! | `lost` | ratio | share of the messages that did not arrive within 100 ms, or of a stream's frames that did not arrive |
//! | `huge_pages` | ratio | of DPDK: 1 if its buffers are in huge pages, else 0 |
//! | `stage_time` | s | with `stages`: the send, on the way, and the call that received the message; labels as of `latency` |
//! | `own_overhead` | s | what reading the clock costs |
//!
//! The wire is a pair of joined devices, each in a network namespace of its own. Every transport has
//! the same cadence: a message is sent only after the one before has arrived. Between two processes
//! it is sent back, and both directions are timed. Every transport copies a message from a buffer
//! of the sender and into one of the receiver. The clock is the processor's time-stamp counter, if
//! the kernel trusts it.

mod cards;
mod config;
mod datapaths;
mod endpoint;
mod exchange;
mod link;
mod measure;
mod messages;
mod port;
mod process;
mod processors;
mod readings;
mod result;
mod spec;
mod stream;
mod times;
mod transport;
mod veth;
mod workload;

pub use datapaths::{Comparison, Datapath, ROUNDS_PER_DATAPATH, State, TimeSummary, compare, is_comparison};
pub use endpoint::run_endpoint;
pub use workload::WIRE;
