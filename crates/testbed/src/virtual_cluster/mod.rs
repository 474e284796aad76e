//! A virtual cluster: N nodes on one machine. Each node is a set of namespaces (network,
//! processes, mounts, host name, message queues); without root, a user namespace is around
//! all. A switch connects the nodes. It has a network namespace of its own, so that the host's
//! firewall and bridges do not affect it.
//!
//! The cluster lives by its processes alone:
//!
//! ```text
//! owner ── control ──▶ holder ─▶ switch (PID 1 of the cluster's PID namespace)
//!                                  ├─▶ node 0 (PID 1 of its own) ─▶ agent
//!                                  └─▶ node 1 …
//! ```
//!
//! When the control socket closes, the switch process ends. The kernel then kills all
//! processes of its PID namespace, including nested ones, and removes their namespaces and
//! devices. If the switch process hangs, the undo ledger's reaper kills all processes that
//! carry the cluster's mark.

mod addresses;
mod holder;
mod neighbours;
mod node;
mod node_settings;
mod protocol;
mod rate_meter;
mod shaping;
mod switch;
mod testbed;

pub use holder::holder_main;
pub(crate) use shaping::{LINKS, SCALES};
pub use testbed::VirtualTestbed;
