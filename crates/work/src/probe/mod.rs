//! Instruments that measure one thing about the path between two hosts, in
//! real time: [`latency`] and [`bandwidth`]; and in virtual time: [`stream`].
//!
//! One end *serves* ([`serve`]) and does as it is told; the other *measures*
//! and holds the results. They meet on one TCP port: a control connection says
//! what to do, messages travel on sockets of their own. The two
//! ends can be nodes of a scene (node 1 serves, node 0 measures), two hosts
//! given by address, or both on this host ([`here`]).

mod arguments;
pub mod bandwidth;
mod clock;
mod control;
mod greeting;
pub mod latency;
mod node;
mod pin;
mod server;
mod settle;
pub mod stream;

pub use crate::peer::{Until, listen};
pub use arguments::Transport;
pub use server::{Times, here, serve};
