//! A probe as a workload of one node: it measures its own machine.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing};

use super::readings::Readings;
use crosstalk_work::peer::Deadline;
use crosstalk_work::prepare_alone;

/// The deployment of a probe that runs on one node in real time, for about `seconds`.
pub fn deployment(metrics: Vec<Metric>, seconds: f64) -> Deployment {
    Deployment { nodes: 1, timing: Timing::Real, metrics, effort: Effort::waiting(seconds) }
}

/// Prepares the node of such a probe, which will `measure`.
///
/// # Errors
/// A usage fault for another number of nodes.
pub fn prepare(
    part: &Part,
    measure: impl FnOnce(&Deadline) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    if part.nodes != 1 {
        return Err(Fault::usage(format!("this probe runs on one node, found {}", part.nodes)));
    }
    let deadline = part.deadline;
    Ok(prepare_alone(move |out, cancelled| {
        let until = Deadline::new(deadline, cancelled);
        let readings = until.interruption_or(measure(&until))?;
        readings.into_iter().try_for_each(|(reading, n)| out.take(reading, n))
    }))
}
