//! A probe as a workload of two nodes: node 1 serves, node 0 measures.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Seconds;

use super::Readings;
use super::server::{Door, Times, serve};
use crosstalk_work::peer::Until;
use crosstalk_work::peer::socket::listen;

/// What node 0 does once it knows where node 1 listens.
type Measure = Box<dyn FnOnce(SocketAddr, &Until, &mut dyn Sink) -> Result<Readings, Fault> + Send>;

/// Two nodes, timed by the wall clock, for about so many `seconds`.
pub fn deployment(metrics: Vec<Metric>, seconds: f64) -> Deployment {
    Deployment { nodes: 2, timing: Timing::Real, metrics, effort: Effort::waiting(seconds) }
}

/// Gets a node ready for its part: node 0 will `measure`, once it knows where
/// node 1 listens.
pub fn prepare(
    part: &Part,
    measure: impl FnOnce(SocketAddr, &Until) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    prepare_live(part, |target, until, _| measure(target, until))
}

/// The same where something is to be told while it goes on.
pub fn prepare_live(
    part: &Part,
    measure: impl FnOnce(SocketAddr, &Until, &mut dyn Sink) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    let measure: Measure = Box::new(measure);
    let deadline = part.deadline;
    let node = match (part.node, part.nodes) {
        (0, 2) => Node::Measures { measure, deadline },
        (1, 2) => {
            let address =
                part.addresses.get(1).copied().ok_or_else(|| Fault::attempt("node 1 has no address"))?;
            Node::Serves { listener: listen((address, 0).into())?, scratch: part.scratch.clone(), deadline }
        }
        (node, nodes) => {
            return Err(Fault::usage(format!("a probe runs on two nodes, found node {node} of {nodes}")));
        }
    };
    Ok(Box::new(node))
}

/// One of the two nodes, ready.
enum Node {
    Measures { measure: Measure, deadline: Seconds },
    Serves { listener: TcpListener, scratch: PathBuf, deadline: Seconds },
}

impl Prepared for Node {
    fn endpoint(&self) -> Option<SocketAddr> {
        match self {
            Node::Measures { .. } => None,
            Node::Serves { listener, .. } => listener.local_addr().ok(),
        }
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        match *self {
            Node::Serves { listener, scratch, deadline } => {
                let until = Until::new(deadline, cancelled);
                let door = Door { listener: &listener, scratch: Some(&scratch) };
                until.blame(serve(door, Times::Once, &until, &mut |_| ()))?;
            }
            Node::Measures { measure, deadline } => {
                let target = endpoints
                    .get(1)
                    .copied()
                    .flatten()
                    .ok_or_else(|| Fault::attempt("node 1 does not say where it listens"))?;
                let until = Until::new(deadline, cancelled);
                for (reading, n) in until.blame(measure(target, &until, out))? {
                    out.take(reading, n)?;
                }
            }
        }
        Ok(None)
    }
}
