//! A probe as a workload of two nodes: node 1 is the server, node 0 the client.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::units::Seconds;

use super::readings::Readings;
use super::server::{Conversations, serve};
use super::session::context::ListenSocket;
use crosstalk_work::peer::Deadline;
use crosstalk_work::peer::socket::listen;

/// What node 0 does once it knows where node 1 listens.
type Measure = Box<dyn FnOnce(SocketAddr, &Deadline, &mut dyn Sink) -> Result<Readings, Fault> + Send>;

/// The deployment of a probe that runs on two nodes in real time, for about `seconds`.
pub fn deployment(metrics: Vec<Metric>, seconds: f64) -> Deployment {
    Deployment { nodes: 2, timing: Timing::Real, metrics, effort: Effort::waiting(seconds) }
}

/// Prepares a node. Node 0 will `measure`, once it knows where node 1 listens.
///
/// # Errors
/// A usage fault for another number of nodes; where node 1 cannot listen.
pub fn prepare(
    part: &Part,
    measure: impl FnOnce(SocketAddr, &Deadline) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    prepare_live(part, |target, until, _| measure(target, until))
}

/// As [`prepare`], for a probe that reports while it measures.
///
/// # Errors
/// As of [`prepare`].
pub fn prepare_live(
    part: &Part,
    measure: impl FnOnce(SocketAddr, &Deadline, &mut dyn Sink) -> Result<Readings, Fault> + Send + 'static,
) -> Result<Box<dyn Prepared>, Fault> {
    let measure: Measure = Box::new(measure);
    let deadline = part.deadline;
    let node = match (part.node, part.nodes) {
        (0, 2) => Node::Client { measure, deadline },
        (1, 2) => {
            let address =
                part.addresses.get(1).copied().ok_or_else(|| Fault::attempt("node 1 has no address"))?;
            Node::Server { listener: listen((address, 0).into())?, scratch: part.scratch.clone(), deadline }
        }
        (node, nodes) => {
            return Err(Fault::usage(format!("a probe runs on two nodes, found node {node} of {nodes}")));
        }
    };
    Ok(Box::new(node))
}

/// One of the two nodes.
enum Node {
    Client { measure: Measure, deadline: Seconds },
    Server { listener: TcpListener, scratch: PathBuf, deadline: Seconds },
}

impl Prepared for Node {
    fn endpoint(&self) -> Option<SocketAddr> {
        match self {
            Node::Client { .. } => None,
            Node::Server { listener, .. } => listener.local_addr().ok(),
        }
    }

    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        match *self {
            Node::Server { listener, scratch, deadline } => {
                let until = Deadline::new(deadline, cancelled);
                let socket = ListenSocket { listener: &listener, scratch: Some(&scratch) };
                until.interruption_or(serve(socket, Conversations::Once, &until, &mut |_| ()))?;
            }
            Node::Client { measure, deadline } => {
                let target = endpoints
                    .get(1)
                    .copied()
                    .flatten()
                    .ok_or_else(|| Fault::attempt("node 1 did not report where it listens"))?;
                let until = Deadline::new(deadline, cancelled);
                for (reading, n) in until.interruption_or(measure(target, &until, out))? {
                    out.take(reading, n)?;
                }
            }
        }
        Ok(None)
    }
}
