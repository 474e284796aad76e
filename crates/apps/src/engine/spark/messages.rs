//! The messages between node 0 and the other nodes about a cluster.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which worker of Spark another node is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRequest {
    /// Its cluster.
    pub id: String,
    /// Its master.
    pub master: String,
    /// Cores to offer.
    pub cores: usize,
    /// Heap to offer, in mebibytes.
    pub mebibytes: u64,
    /// A folder that every node sees.
    pub folder: PathBuf,
    /// The clusters whose workers are kept.
    pub kept: Vec<String>,
}

/// A message between node 0 and another node of a Spark cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Message {
    /// From node 0: run this worker.
    Work(WorkerRequest),
    /// From node 0: the attempt is over.
    End,
    /// To node 0: the worker failed, and why.
    Failed {
        /// The reason, in a sentence.
        reason: String,
    },
}
