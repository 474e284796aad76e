//! Work of one node, without peers.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::scene::{Prepared, Sink};

/// Prepares a node that works without other nodes, in real time: it will call `run`.
pub fn prepare_alone<F>(run: F) -> Box<dyn Prepared>
where
    F: FnOnce(&mut dyn Sink, &AtomicBool) -> Result<(), Fault> + Send + 'static,
{
    Box::new(Alone(run))
}

struct Alone<F>(F);

impl<F> Prepared for Alone<F>
where
    F: FnOnce(&mut dyn Sink, &AtomicBool) -> Result<(), Fault> + Send,
{
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn run(
        self: Box<Self>,
        _: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        (self.0)(out, cancelled).map(|()| None)
    }
}
