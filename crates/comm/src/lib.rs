//! Ranks that exchange messages, in virtual or in real time.
//!
//! Every node of a workload is one rank. It [`listen`]s a listener, connects to
//! all others, and then sends, receives and takes part in collectives. Payloads
//! are really sent, over TCP between the nodes' addresses.
//!
//! With an emulation, *time* is virtual. The CPU time of a rank's thread and the
//! fabric's LogGOPS costs advance its clock, by the rules of `crosstalk_model`.
//! Each message carries the virtual time at which its head arrives. No rank
//! sleeps, and the host's speed of delivery does not matter. Without an emulation
//! the same calls are timed by the wall clock. SMPI's on-line mode (Clauss et al.,
//! IPDPS 2011) and DieCast (Gupta et al., NSDI 2008) emulate in this way.
//!
//! Ranks that share a core disturb each other through caches only. Times on one
//! core, on two, and while a busy loop runs agree within 1 % if a rank's data fit
//! a second-level cache, and within 2 % for 4 MB a rank (least of five runs).
//! So the kernel's scheduler decides which rank computes.
//!
//! A rank uses one thread, and its sockets do not block. While it waits to send or
//! to receive, it reads from all of its peers, so that large simultaneous exchanges
//! do not deadlock.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod clock;
mod collectives;
pub mod dpdk;
pub mod embedded;
mod header;
mod link;
mod listener;
mod mesh;
pub mod messages;
mod meter;
mod monitor;
mod poll;
mod rank;
pub mod rdma;
pub mod ring;
pub mod uring;
pub mod xdp;

pub use clock::TimeAccount;
pub use collectives::ReduceOp;
pub use crosstalk_model::Access;
pub use listener::{Listener, listen};
pub use rank::Rank;
