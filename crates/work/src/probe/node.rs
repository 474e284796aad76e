//! A probe as a workload of two nodes: node 1 serves, node 0 measures.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::{Prepared, Sink};
use crosstalk_core::units::Seconds;

use super::server::{Times, serve};
use crate::peer::Until;
use crate::peer::socket::listen;

/// What node 0 does once it knows where node 1 listens.
pub type Measure = Box<dyn FnOnce(SocketAddr, &Until) -> Result<Vec<(Reading, u64)>, Fault> + Send>;

/// One of the two nodes, ready.
enum Node {
    Measures { measure: Measure, deadline: Seconds },
    Serves { listener: TcpListener, deadline: Seconds },
}

/// Gets a node ready for its part.
pub fn prepare(part: &Part, measure: Measure) -> Result<Box<dyn Prepared>, Fault> {
    let deadline = part.deadline;
    let node = match (part.node, part.nodes) {
        (0, 2) => Node::Measures { measure, deadline },
        (1, 2) => {
            let address =
                part.addresses.get(1).copied().ok_or_else(|| Fault::attempt("node 1 has no address"))?;
            Node::Serves { listener: listen((address, 0).into())?, deadline }
        }
        (node, nodes) => {
            return Err(Fault::usage(format!("a probe runs on two nodes, found node {node} of {nodes}")));
        }
    };
    Ok(Box::new(node))
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
            Node::Serves { listener, deadline } => {
                let until = Until::new(deadline, cancelled);
                until.blame(serve(&listener, Times::Once, &until, &mut |_| ()))?;
            }
            Node::Measures { measure, deadline } => {
                let target = endpoints
                    .get(1)
                    .copied()
                    .flatten()
                    .ok_or_else(|| Fault::attempt("node 1 does not say where it listens"))?;
                let until = Until::new(deadline, cancelled);
                for (reading, n) in until.blame(measure(target, &until))? {
                    out.take(reading, n)?;
                }
            }
        }
        Ok(None)
    }
}
