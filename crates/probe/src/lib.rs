//! Instruments that measure one thing.
//!
//! Of the path between two hosts, in real time: [`latency`], [`load`] and [`bandwidth`]; and
//! in virtual time: [`stream`]. Of one machine: [`memory`], [`cores`], [`kernel`],
//! [`pcie`], and [`wire`], which joins two of its devices.
//!
//! Between two hosts one end *serves* ([`serve`]) and does as it is told; the other *measures*
//! and holds the results. They meet on one TCP port: a control connection says
//! what to do, messages travel on sockets of their own. The two
//! ends can be nodes of a scene (node 1 serves, node 0 measures), two hosts
//! given by address, or both on this host ([`here`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod acceptor;
pub(crate) mod alone;
mod arguments;
pub mod band;
pub mod bandwidth;
mod clock;
mod control;
pub mod cores;
mod greeting;
pub mod kernel;
pub mod latency;
pub mod load;
mod medium;
mod meeting;
pub mod memory;
mod node;
pub mod path;
pub mod pcie;
mod pin;
mod processors;
mod server;
mod settle;
pub mod stream;
pub mod wire;

pub use arguments::Transport;
pub use crosstalk_work::peer::{Until, listen};
pub use server::{Door, Times, here, serve};

use crosstalk_core::need::Need;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(stream::STREAM),
        Box::new(latency::LATENCY),
        Box::new(load::LOAD),
        Box::new(bandwidth::BANDWIDTH),
        Box::new(memory::MEMORY),
        Box::new(cores::CORES),
        Box::new(kernel::KERNEL),
        Box::new(pcie::PCIE),
        Box::new(wire::WIRE),
        Box::new(path::PATH),
    ]
}

/// Readings, each with how many observations it stands for.
pub type Readings = Vec<(Reading, u64)>;

/// What those transports need of this machine that not every machine has.
pub fn transport_needs() -> Vec<Need> {
    let carriers =
        [crosstalk_observe::redirect::need(), crosstalk_comm::dpdk::need(), crosstalk_comm::rdma::need()];
    let polls = processors::need(latency::Mode::Polling);
    [Transport::IoUring.need()].into_iter().chain(carriers).chain(polls).collect()
}
