//! Message passing with everything that MPI programs use, in virtual or in real time; and transports of messages that
//! instruments measure (`dpdk`, `rdma`, `ring`, `uring`, `xdp`).
//!
//! A rank is a thread that sends and receives messages: the only one of its node, or one of several. It [`listen`]s, learns where the others do, and then sends, receives and
//! takes part in collectives: among all ranks ([`Rank::world`]), or among those of a [`Communicator`]
//! ([`Rank::within`]). Payloads are really sent, over TCP between the nodes' addresses; connections are made when
//! they are first needed.
//!
//! With an emulation, *time* is virtual. Each rank reports what it does, and how much CPU time its thread has used, to a
//! clock server in rank 0's process, which runs all of them over an emulated network ([`crosstalk_model::network`]) and
//! answers. No rank sleeps, and the host's speed of delivery does not matter. Without an emulation
//! the same calls are timed by the wall clock. SMPI's on-line mode (Clauss et al., IPDPS 2011) and DieCast (Gupta et
//! al., NSDI 2008) emulate in this way.
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

mod acceptor;
mod clock;
mod clock_server;
mod collectives;
mod communicator;
mod connect;
mod deadline;
mod deadlock;
pub mod dpdk;
mod element;
pub mod embedded;
mod execute;
mod header;
mod link;
mod listener;
mod mesh;
mod meter;
mod monitor;
mod nonblocking;
mod poll;
mod posting;
mod rank;
pub mod rdma;
mod request;
pub mod ring;
mod schedule_file;
mod scope;
mod send_queue;
mod split;
mod store;
mod strided;
mod traffic;
pub mod uring;
mod waiting;
pub mod xdp;

pub use clock::TimeAccount;
pub use communicator::Communicator;
pub use crosstalk_model::Access;
pub use element::{Combine, Element, LocateOp, Located, ReduceOp};
pub use listener::{Listener, listen, listen_at};
pub use rank::Rank;
pub use request::{Completed, Envelope, Incoming, Request, Tested};
pub use schedule_file::Recording;
pub use scope::Scope;
pub use split::Cartesian;
pub use strided::{Pattern, Strided};
pub use traffic::{Counted, Traffic};
