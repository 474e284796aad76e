//! Where nodes come from.

use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::Path;

use crate::Fault;
use crate::need::Need;
use crate::units::BitRate;

/// A stream to an agent and back.
pub struct Duplex {
    /// What the agent says.
    pub reader: Box<dyn Read + Send>,
    /// What it is told.
    pub writer: Box<dyn Write + Send>,
}

/// How the links between nodes are to behave in real time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Link {
    /// As fast as the kernel goes.
    Unshaped,
    /// Held to this rate in each direction of each node's link.
    Rate(BitRate),
}

/// A source of clusters.
pub trait Testbed: Send {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it needs of this machine.
    fn needs(&self) -> Vec<Need>;
    /// Refuses a number of nodes that this machine has no room for, before
    /// anything is made.
    fn admits(&self, nodes: usize) -> Result<(), Fault>;
    /// Makes `nodes` nodes. Dropping the cluster takes them away again.
    fn raise(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault>;
}

/// Nodes that are up.
pub trait Cluster: Send {
    /// How many.
    fn nodes(&self) -> usize;
    /// A node's address on the cluster's network.
    fn address(&self, node: usize) -> IpAddr;
    /// The host of a node, from 0: nodes of one host share its kernel.
    fn host(&self, node: usize) -> usize;
    /// A folder that every node sees, gone with the cluster; `None` where they share none.
    fn shared(&self) -> Option<&Path>;
    /// Starts an agent on `node`, at a `place` there: 0 for the first, others for those beside it.
    /// At place 0 whatever is left on the node is ended; beside it, a former one may live on that hangs.
    fn attach(&mut self, node: usize, place: usize) -> Result<Duplex, Fault>;
    /// Makes every link behave so from now on; says what was really set.
    ///
    /// # Errors
    /// When the links cannot be made to behave so, with what could be instead.
    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault>;
    /// Whether it can still be used. A cluster that lives by processes of its own
    /// may lose them; then no agent can be attached any more.
    fn is_up(&mut self) -> bool {
        true
    }
    /// What of a real cluster this one does not have, for the report.
    fn absences(&self) -> Vec<String>;
}
