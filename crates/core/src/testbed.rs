//! The traits of testbeds, which create clusters of nodes.

use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::Path;

use crate::Fault;
use crate::need::Need;
use crate::units::BitRate;

/// The stream from and to an agent.
pub struct AgentStream {
    /// Messages from the agent.
    pub reader: Box<dyn Read + Send>,
    /// Messages to the agent.
    pub writer: Box<dyn Write + Send>,
}

/// How fast links between nodes are to be in real time: unshaped, or at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Link {
    /// As fast as the kernel sends.
    Unshaped,
    /// Limited to this rate, in each direction of each node's link.
    Rate(BitRate),
}

/// Creates clusters of nodes, and says what they need of this machine.
pub trait Testbed: Send {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it needs of this machine.
    fn needs(&self) -> Vec<Need>;
    /// Checks whether this machine has room for so many nodes, before any is created.
    ///
    /// # Errors
    /// A fault with the number that fits.
    fn check_capacity(&self, nodes: usize) -> Result<(), Fault>;
    /// Creates a cluster of `nodes` nodes. Dropping the cluster removes them.
    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault>;
}

/// The running nodes of a testbed.
pub trait Cluster: Send {
    /// The number of nodes.
    fn nodes(&self) -> usize;
    /// A node's address on the cluster's network.
    fn address(&self, node: usize) -> IpAddr;
    /// The number of a node's host, from 0. Nodes of one host share its kernel.
    fn host(&self, node: usize) -> usize;
    /// A folder that every node sees, removed with the cluster. `None` if the nodes share none.
    fn shared(&self) -> Option<&Path>;
    /// Starts an agent on `node`, in a `slot` of that node. In slot 0 it first ends all processes that
    /// earlier agents have left on the node. In another slot a former agent that hangs may live on.
    ///
    /// # Errors
    /// If the agent does not start.
    fn start_agent(&mut self, node: usize, slot: usize) -> Result<AgentStream, Fault>;
    /// Sets the rate of every link from now on. Returns lines on what was really set.
    ///
    /// # Errors
    /// If the links cannot be set so; the remedy says what can be set.
    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault>;
    /// Whether it can still be used. A cluster may lose the processes that its nodes depend on; then no agent
    /// can be started any more.
    fn is_up(&mut self) -> bool {
        true
    }
    /// Properties of a real cluster that this one does not have, for the report.
    fn absences(&self) -> Vec<String>;
}
