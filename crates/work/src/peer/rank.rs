//! A node whose part is one rank over `comm`: it listens, is connected to the
//! other ranks, and runs.

use super::record::recorded;
use crosstalk_comm::{Listener, Rank, listen};
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::scene::{Prepared, Sink};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// What the rank does once it is connected, [`Rank::finish`] included.
pub type RankTask = Box<dyn FnOnce(Rank, &mut dyn Sink) -> Result<Option<Fidelity>, Fault> + Send>;

/// Prepares a node whose work exchanges messages with all others as a rank.
///
/// # Errors
/// Where it has no address, or cannot listen there.
pub fn prepare(part: &Part, task: RankTask) -> Result<Box<dyn Prepared>, Fault> {
    let address = part.addresses.get(part.node).copied();
    let address = address.ok_or_else(|| Fault::attempt(format!("node {} has no address", part.node)))?;
    if part.emulation.as_ref().is_some_and(|emulation| emulation.ranks_per_node > 1) {
        return Err(Fault::usage(format!("`{}` has one rank on each node", part.workload))
            .remedy("leave the condition `ranks` out"));
    }
    Ok(Box::new(Ready { part: part.clone(), listener: recorded(part, listen(address)?)?, task }))
}

/// A node that listens.
struct Ready {
    part: Part,
    listener: Listener,
    task: RankTask,
}

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.listener.endpoint())
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let rank = self.listener.connect(&self.part, endpoints, cancelled)?;
        (self.task)(rank, out)
    }
}
