//! Instruments that measure one thing each.
//!
//! Of the path between hosts, in real time: [`latency`], [`load`] and [`bandwidth`]; in virtual
//! time: [`stream`]; in either: [`collective`]. Of one machine: [`memory`], [`cores`], [`kernel`], [`speed`], [`pcie`], and [`wire`],
//! which joins two of its devices. [`path`] computes a catalogued latency.
//!
//! Between two hosts a *server* ([`serve`]) does what its *client* asks; the client measures. They
//! meet on one TCP port: requests and responses travel on a control connection, measured messages
//! on sockets of their own. Client and server can be nodes of a scene (node 1 serves, node 0
//! measures), two hosts named by address, or both on this host ([`with_local_server`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod arguments;
pub mod band;
pub mod bandwidth;
mod batches;
mod clock;
pub mod collective;
pub mod cores;
mod here;
pub mod kernel;
pub mod latency;
pub mod load;
pub mod memory;
mod message;
mod mode;
mod one_node;
pub mod path;
pub mod pcie;
mod pin;
mod processors;
mod readings;
mod server;
mod session;
mod settle;
pub mod speed;
pub mod stream;
mod transport;
mod transport_needs;
mod two_nodes;
pub mod wire;

pub use crosstalk_work::peer::{Deadline, listen};
pub use here::with_local_server;
pub use mode::Mode;
pub use readings::Readings;
pub use server::{Conversations, serve};
pub use session::context::ListenSocket;
pub use transport::Transport;
pub use transport_needs::transport_needs;

use crosstalk_core::scene::Workload;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(stream::STREAM),
        Box::new(collective::COLLECTIVE),
        Box::new(latency::LATENCY),
        Box::new(load::LOAD),
        Box::new(bandwidth::BANDWIDTH),
        Box::new(memory::MEMORY),
        Box::new(cores::CORES),
        Box::new(kernel::KERNEL),
        Box::new(pcie::PCIE),
        Box::new(wire::WIRE),
        Box::new(path::PATH),
        Box::new(speed::SPEED),
    ]
}
