//! Graph analytics: PageRank with GraphX's semantics on one master and N slaves.

pub mod build;
pub mod config;
pub mod edge_list;
pub mod exchange;
pub mod mass;
pub mod partition;
pub mod ranked_bits;
pub mod ranks;
#[cfg(test)]
mod reference;
pub mod rmat;
pub mod sample;
pub mod shard;
pub mod source;

/// A directed edge between two vertices' labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it leaves.
    pub source: u32,
    /// Where it points.
    pub target: u32,
}
