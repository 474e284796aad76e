//! The cluster that virtual time emulates in one attempt: the board of each node, and
//! the costs of a message between two nodes.

use serde::{Deserialize, Serialize};

use crate::fabric::Fabric;
use crate::mpi::Mpi;
use crate::system::NodeKind;
use crate::units::BitRate;

/// How the nodes of an attempt are spread over boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All on one board.
    One,
    /// Every node on a board of its own.
    #[default]
    Many,
    /// On as few boards as hold them: the next board is used once one is full.
    Full,
}

/// What virtual time needs to know about the cluster that it emulates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Emulation {
    /// The system's name in the study, its network included (`kosmos-srio`).
    pub system: String,
    /// The kind of all its nodes.
    pub node: NodeKind,
    /// The board of each node, by node number.
    pub board: Vec<u32>,
    /// The fabric between nodes of one board.
    pub within: Fabric,
    /// The fabric between nodes of different boards.
    pub across: Fabric,
    /// The rate of a board's link to the others, in each direction; its nodes share it. `None`: it delays nothing.
    #[serde(default)]
    pub uplink: Option<BitRate>,
    /// How many ranks each node has. Ranks that follow each other share a node.
    #[serde(default = "one")]
    pub ranks_per_node: u32,
    /// The fabric between ranks of one node: its memory. `None`: such messages are free.
    #[serde(default)]
    pub memory: Option<Fabric>,
    /// The message-passing library. `None`: it adds nothing, and no sender waits for its receiver.
    #[serde(default)]
    pub mpi: Option<Mpi>,
}

fn one() -> u32 {
    1
}

impl Emulation {
    /// The fabric between nodes `a` and `b`.
    ///
    /// # Panics
    /// When a node number is out of range. The plan has placed every node.
    pub fn fabric(&self, a: usize, b: usize) -> &Fabric {
        if self.board[a] == self.board[b] { &self.within } else { &self.across }
    }
}
