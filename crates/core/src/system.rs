//! A real cluster: nodes on boards, connected by named networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::fabric::Source;
use crate::units::{BitRate, Bytes, Hertz, Seconds};

/// A kind of node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeKind {
    /// The processor's name, for people.
    pub cpu: String,
    /// Cores a node.
    pub cores: u32,
    /// Clock rate of a core.
    pub clock: Hertz,
    /// The speed of a core, relative to a core of the reference machine (see the source).
    pub speed: f64,
    /// Memory of a node.
    pub memory: Bytes,
    /// The node's disk, if it has one. Data that do not fit into memory are moved there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
}

/// A node's disk. Consecutive bytes take the latency once, then the rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Data rate of reading and of writing.
    pub rate: BitRate,
    /// Time from the request to the first byte: seek and rotation.
    pub latency: Seconds,
}

/// How nodes are placed on boards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boards {
    /// Number of boards.
    pub count: u32,
    /// Nodes on each board.
    pub nodes: u32,
}

/// A network, by the names of two fabrics: within a board, and across boards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The fabric between two nodes of one board.
    pub within: String,
    /// The fabric between nodes of different boards.
    pub across: String,
    /// The rate of a board's link to the others, in each direction; all nodes of the board share it. Default: no such link
    /// delays anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<BitRate>,
    /// The message-passing library that is used on it unless a study names another. Default: it costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpi: Option<String>,
}

/// A cluster: one file of `systems/`.
///
/// Its name in a study is `NAME` if it has one network, else `NAME-NETWORK`
/// (`kosmos-srio`, `kosmos-ethernet`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The name studies use; the file's name without `.toml`.
    #[serde(default)]
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The kind of its nodes.
    pub node: NodeKind,
    /// How they are placed on boards.
    pub boards: Boards,
    /// The fabric between ranks of one node, which share its memory. Default: none, and a node has one rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_node: Option<String>,
    /// Its networks by name.
    pub network: BTreeMap<String, Network>,
    /// Parameter → its source.
    pub source: BTreeMap<String, Source>,
    /// Properties of this system that are not emulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

impl System {
    /// How many nodes its boards hold together.
    pub fn number_of_nodes(&self) -> usize {
        self.boards.count as usize * self.boards.nodes as usize
    }
}
