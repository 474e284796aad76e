//! A probe as a workload of two nodes: node 1 serves, node 0 measures.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Metric, Reading};
use crosstalk_core::scene::{Deployment, Prepared, Sink, Timing, Workload};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;

use super::server::{Times, serve};
use crate::peer::Until;
use crate::peer::socket::listen;

/// What is found, each reading with how many observations it stands for.
type Readings = Vec<(Reading, u64)>;

/// A probe: what tells one from another.
pub struct Probe<S> {
    /// Its registered name.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// What it reports; the first is the one a study decides on.
    pub metrics: fn() -> Vec<Metric>,
    /// Reads and checks the parameters.
    pub read: fn(&Params) -> Result<S, Fault>,
    /// About how long it takes in all, in seconds.
    pub seconds: fn(&S) -> f64,
    /// What node 0 does once it knows where node 1 listens.
    pub measure: fn(&S, SocketAddr, &Until) -> Result<Readings, Fault>,
}

impl<S: Send + 'static> Workload for Probe<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn parameters(&self) -> &'static [&'static str] {
        self.parameters
    }

    fn timing(&self) -> Timing {
        Timing::Real
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::found("TCP and UDP sockets", "the kernel's")]
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        let spec = (self.read)(params)?;
        Ok(Deployment { nodes: 2, metrics: (self.metrics)(), seconds: (self.seconds)(&spec) })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        let spec = (self.read)(&part.params)?;
        let deadline = part.deadline;
        let node = match (part.node, part.nodes) {
            (0, 2) => Node::Measures { spec, measure: self.measure, deadline },
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
}

/// One of the two nodes, ready.
enum Node<S> {
    Measures { spec: S, measure: fn(&S, SocketAddr, &Until) -> Result<Readings, Fault>, deadline: Seconds },
    Serves { listener: TcpListener, deadline: Seconds },
}

impl<S: Send> Prepared for Node<S> {
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
            Node::Measures { spec, measure, deadline } => {
                let target = endpoints
                    .get(1)
                    .copied()
                    .flatten()
                    .ok_or_else(|| Fault::attempt("node 1 does not say where it listens"))?;
                let until = Until::new(deadline, cancelled);
                for (reading, n) in until.blame(measure(&spec, target, &until))? {
                    out.take(reading, n)?;
                }
            }
        }
        Ok(None)
    }
}
