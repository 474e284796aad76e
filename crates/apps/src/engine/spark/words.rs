//! What node 0 and the other nodes say to each other about a cluster.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The worker that node 0 wants on another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Of which cluster.
    pub id: String,
    /// Its master.
    pub master: String,
    /// Cores to offer.
    pub cores: usize,
    /// Heap to offer, in mebibytes.
    pub mebibytes: u64,
    /// A folder that every node sees.
    pub folder: PathBuf,
    /// The clusters whose workers are still of use.
    pub kept: Vec<String>,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Word {
    /// From node 0: have this worker run.
    Work(Wanted),
    /// From node 0: the attempt is over.
    End,
    /// To node 0: the worker failed, and why.
    Failed {
        /// In a sentence.
        reason: String,
    },
}
