//! Work of one node, without peers.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::scene::{Prepared, Sink};

/// A node that is ready, and runs `run` in real time.
pub fn alone<F>(run: F) -> Box<dyn Prepared>
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
