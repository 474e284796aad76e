//! A probe as a workload of one node: it measures its own machine.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Seconds;

use super::Readings;
use crate::peer::Until;

/// What the node does.
type Measure = Box<dyn FnOnce(&Until) -> Result<Readings, Fault> + Send>;

/// One node, timed by the wall clock, for about so many `seconds`.
pub fn deployment(metrics: Vec<Metric>, seconds: f64) -> Deployment {
    Deployment { nodes: 1, timing: Timing::Real, metrics, effort: Effort::waiting(seconds) }
}

/// Gets the node ready, which will `measure`.
pub fn prepare(
    part: &Part,
    measure: impl FnOnce(&Until) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    if part.nodes != 1 {
        return Err(Fault::usage(format!("this probe runs on one node, found {}", part.nodes)));
    }
    Ok(Box::new(Node { measure: Box::new(measure), deadline: part.deadline }))
}

struct Node {
    measure: Measure,
    deadline: Seconds,
}

impl Prepared for Node {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn run(
        self: Box<Self>,
        _: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let until = Until::new(self.deadline, cancelled);
        for (reading, n) in until.blame((self.measure)(&until))? {
            out.take(reading, n)?;
        }
        Ok(None)
    }
}
