//! A cluster as somebody built it: nodes on boards, joined by named networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::fabric::Source;
use crate::units::{BitRate, Bytes, Hertz, Seconds};

/// A kind of node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeKind {
    /// The processor, for people.
    pub cpu: String,
    /// Cores a node.
    pub cores: u32,
    /// Clock rate of a core.
    pub clock: Hertz,
    /// One core's speed over one core of the reference machine (see the source).
    pub speed: f64,
    /// Memory a node.
    pub memory: Bytes,
    /// Its disk, where it has one: what does not fit into memory goes there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
}

/// A node's disk. Bytes that follow each other take one latency and then the rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Data rate, reading and writing.
    pub rate: BitRate,
    /// From the request until the first byte moves: seek and rotation.
    pub latency: Seconds,
}

/// How nodes sit on boards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boards {
    /// Boards in the system.
    pub count: u32,
    /// Nodes on each.
    pub nodes: u32,
}

/// A network: one fabric within a board, one across boards. Names of fabrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Between two nodes of one board.
    pub within: String,
    /// Between nodes of different boards.
    pub across: String,
}

/// A cluster: one file of `systems/`.
///
/// A study names it `NAME` where it has one network, `NAME-NETWORK` where it
/// has several (`kosmos-srio`, `kosmos-ethernet`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The name studies use; the file's name without `.toml`.
    #[serde(default)]
    pub name: String,
    /// For people.
    pub title: String,
    /// What its nodes are.
    pub node: NodeKind,
    /// How they sit on boards.
    pub boards: Boards,
    /// Its networks by name.
    pub network: BTreeMap<String, Network>,
    /// Parameter → where it comes from.
    pub source: BTreeMap<String, Source>,
    /// What of this system is not emulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}
