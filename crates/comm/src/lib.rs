//! Ranks that exchange messages, in virtual or in real time.
//!
//! Every node of a workload is one rank: it [`bind`]s a listener, connects to
//! all others once their endpoints are known, and then sends, receives and
//! takes part in collectives. Payloads really travel, over TCP between the
//! nodes' addresses.
//!
//! With an emulation, *time* is virtual: each rank carries a clock that its
//! thread's CPU time and the fabric's LogGOPS costs advance (`crosstalk_model`
//! gives the rules), and each message carries the virtual time at which its
//! head arrives. Nothing ever sleeps, and how fast the host delivers a message
//! does not matter. Without an emulation the same calls are told by the wall
//! clock. Execution-driven emulation of this kind is known from SMPI's on-line
//! mode (Clauss et al., IPDPS 2011) and DieCast (Gupta et al., NSDI 2008).
//!
//! Ranks that share a core disturb each other through caches only: on one core
//! and on two, beside a busy loop, programs whose data fit a second-level cache
//! agree within 1 % and programs of 4 MB a rank within 2 % (least of five runs).
//! So the ranks are left to the kernel's scheduler, without a token that would
//! let one compute at a time.
//!
//! One thread does everything: sockets do not block, and a rank that waits,
//! to send or to receive, drains all of its peers meanwhile, so that large
//! simultaneous exchanges cannot lock up.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod carried;
mod clock;
mod collectives;
pub mod dpdk;
mod header;
mod link;
mod listener;
mod mesh;
mod meter;
mod monitor;
mod poll;
mod rank;
pub mod rdma;
pub mod ring;
pub mod uring;
pub mod xdp;

pub use clock::Account;
pub use collectives::Op;
pub use crosstalk_model::Access;
pub use listener::{Listener, bind};
pub use rank::Rank;
