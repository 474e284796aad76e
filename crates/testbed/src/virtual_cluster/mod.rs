//! One machine becomes N nodes: each a set of namespaces (network, processes,
//! mounts, host name, message queues; a user namespace around all when not
//! root), joined by a switch that stands in a network namespace of its own, so
//! that the host's firewall and bridges never touch it.
//!
//! Processes, and nothing else, hold the cluster:
//!
//! ```text
//! owner ── control ──▶ holder ─▶ switch (PID 1 of the cluster's PID namespace)
//!                                  ├─▶ node 0 (PID 1 of its own) ─▶ agent
//!                                  └─▶ node 1 …
//! ```
//!
//! When the control socket closes, the switch process ends, and the kernel
//! kills every process of its PID namespace, nested ones included; with them go
//! their namespaces and devices. Should it be stuck, the undo ledger's reaper
//! kills whatever carries the cluster's mark.

mod holder;
mod meter;
mod neighbours;
mod node;
mod owner;
mod pinned;
mod protocol;
mod shaping;
mod switch;

pub use holder::holder_main;
pub use owner::Virtual;
pub(crate) use shaping::{LINKS, SCALES};
