//! A real cluster: nodes on boards, connected by named networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

use crate::fabric::Source;
use crate::units::{BitRate, Bytes, Hertz, Seconds};
use crate::{Fault, quoted};

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
    /// What all cores together reach of their number times one core's speed, above 0 and at most 1. Computing on all cores
    /// is divided by it; work on one core is not. Default: 1, as if cores shared nothing.
    #[serde(default = "linear")]
    pub scaling: f64,
    /// Memory of a node.
    pub memory: Bytes,
    /// The node's disk, if it has one. Data that do not fit into memory are moved there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
}

fn linear() -> f64 {
    1.0
}

impl NodeKind {
    /// How many times as fast as one core a rank computes that has a part of the node's cores, with as many ranks on the
    /// node. Never slower than one core.
    pub fn speedup(&self, ranks: u32) -> f64 {
        match self.cores / ranks.max(1) {
            0 | 1 => 1.0,
            cores => (f64::from(cores) * self.scaling).max(1.0),
        }
    }
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

impl FromStr for Disk {
    type Err = Fault;

    /// Reads a rate and a latency, `88 MB/s 11.9 ms`, both above zero.
    fn from_str(text: &str) -> Result<Disk, Fault> {
        let wrong = |why: String| {
            Fault::usage(format!(
                "expected the rate and the latency of a disk, found `{}`{why}",
                quoted(text)
            ))
            .remedy("write for example \"88 MB/s 11.9 ms\"")
        };
        let end = text.find("/s").map(|at| at + 2).ok_or_else(|| wrong(String::new()))?;
        let (rate, latency) = text.split_at(end);
        let part = |fault: Fault| wrong(format!(": {}", fault.message));
        let disk = Disk {
            rate: rate.parse().map_err(part)?,
            latency: latency.trim_start_matches([',', ' ']).parse().map_err(part)?,
        };
        match disk.rate.0 > 0.0 && disk.latency.0 > 0.0 {
            true => Ok(disk),
            false => Err(wrong(": both are above zero".into())),
        }
    }
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
    /// Parameter (`cpu`, `cores`, `clock`, `speed`, `scaling`, `memory`, `disk`, `disk.rate`, `disk.latency`, `boards`,
    /// `network`, `uplink`, `within_node`) → its source.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_read_as_it_is_written() {
        let disk = Disk { rate: BitRate(704e6), latency: Seconds(0.0119) };
        for text in ["88 MB/s 11.9 ms", "88MB/s 11.9ms", "88 MB/s, 11.9 ms"] {
            assert_eq!(text.parse(), Ok(disk), "{text}");
        }
        let ssd = Disk { rate: BitRate(4e9), latency: Seconds(50e-6) };
        let read: Disk = "500 MB/s 50 µs".parse().expect("is a disk");
        assert!((read.latency.0 - ssd.latency.0).abs() < 1e-12 && read.rate == ssd.rate, "{read:?}");
    }

    #[test]
    fn what_is_no_disk_is_refused_with_an_example() {
        for text in
            ["", "ssd", "11.9 ms", "88 MB/s", "88 MB 11.9 ms", "0 MB/s 1 ms", "88 MB/s 0 ms", "88 MB/s 1 km"]
        {
            let fault = text.parse::<Disk>().expect_err(text);
            assert!(fault.message.contains(&format!("found `{text}`")), "{fault}");
            assert!(fault.remedy.is_some_and(|remedy| remedy.contains("88 MB/s 11.9 ms")), "{text}");
        }
    }

    fn node(cores: u32, scaling: &str) -> NodeKind {
        let text = format!(
            "cpu = \"c\"\ncores = {cores}\nclock = \"1 GHz\"\nspeed = 1\nmemory = \"1 GB\"\n{scaling}"
        );
        toml::from_str(&text).expect("reads")
    }

    #[test]
    fn all_cores_reach_their_number_times_the_scaling() {
        assert_eq!(node(8, "").speedup(1), 8.0, "nothing is shared by default");
        assert_eq!(node(8, "scaling = 0.75").speedup(1), 6.0);
        assert_eq!(node(8, "scaling = 0.75").speedup(2), 3.0, "ranks of a node divide its cores");
        assert_eq!(node(8, "scaling = 0.75").speedup(8), 1.0, "one core has nobody to wait for");
        assert_eq!(node(2, "scaling = 0.25").speedup(1), 1.0, "work that does not scale keeps to one core");
        assert_eq!(node(1, "scaling = 0.5").speedup(1), 1.0);
    }
}
