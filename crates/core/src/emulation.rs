//! A system made concrete for one attempt: which node sits where, and what a
//! message between two of them costs.

use serde::{Deserialize, Serialize};

use crate::fabric::Fabric;
use crate::system::NodeKind;

/// How the nodes of an attempt are spread over boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// All on one board.
    One,
    /// Every node on a board of its own.
    #[default]
    Many,
}

/// What virtual time needs to know about the cluster it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Emulation {
    /// As the study names it, network included (`kosmos-srio`).
    pub system: String,
    /// The nodes' kind.
    pub node: NodeKind,
    /// Node → board.
    pub board: Vec<u32>,
    /// Between nodes of one board.
    pub within: Fabric,
    /// Between boards.
    pub across: Fabric,
}

impl Emulation {
    /// The fabric between nodes `a` and `b`.
    ///
    /// # Panics
    /// When a node is out of range: the plan has placed every node.
    pub fn fabric(&self, a: usize, b: usize) -> &Fabric {
        if self.board[a] == self.board[b] { &self.within } else { &self.across }
    }
}
