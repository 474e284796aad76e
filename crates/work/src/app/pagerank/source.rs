//! Where edges come from: a generator or a file, either dealt in chunks.
//!
//! Chunk `k` belongs to reader `k mod readers`. Dealt back in turn, the chunks
//! give the edges in one order, whatever the number of readers.

use crosstalk_core::Fault;
use std::path::PathBuf;

use super::Edge;
use super::edge_list::{self, EdgeList};
use super::rmat::Rmat;

/// Generated edges in a chunk.
const CHUNK: u64 = 1 << 16;

/// A graph as its edges.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Generated.
    Rmat(Rmat),
    /// Read from an edge list.
    File(PathBuf),
}

/// How much there is of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Chunks of edges.
    pub chunks: u64,
    /// Edges, duplicates and self loops included.
    pub edges: u64,
    /// Vertex ids are below this.
    pub labels: u32,
}

impl Source {
    /// How much there is. Reads a file from end to end, and finds its faults.
    pub fn extent(&self) -> Result<Extent, Fault> {
        match self {
            Source::Rmat(graph) => Ok(Extent {
                chunks: graph.edges().div_ceil(CHUNK),
                edges: graph.edges(),
                labels: graph.labels(),
            }),
            Source::File(path) => {
                let contents = edge_list::inspect(path)?;
                let labels = contents.largest + 1;
                Ok(Extent { chunks: contents.blocks, edges: contents.edges, labels })
            }
        }
    }

    /// Opens the chunks that belong to `reader` of `readers`.
    pub fn open(&self, reader: usize, readers: usize) -> Result<Chunks<'_>, Fault> {
        let (first, step) = (reader as u64, readers as u64);
        match self {
            Source::Rmat(graph) => Ok(Chunks::Rmat { graph, next: first, step }),
            Source::File(path) => Ok(Chunks::File(EdgeList::open(path, first, step)?)),
        }
    }
}

/// One reader's chunks.
pub enum Chunks<'a> {
    /// Generated.
    Rmat {
        /// The graph.
        graph: &'a Rmat,
        /// The next chunk's number.
        next: u64,
        /// From chunk to chunk.
        step: u64,
    },
    /// Read from an edge list.
    File(EdgeList),
}

impl Chunks<'_> {
    /// Replaces `edges` by the next chunk's; false, and none, after the last.
    pub fn next(&mut self, edges: &mut Vec<Edge>) -> Result<bool, Fault> {
        match self {
            Chunks::Rmat { graph, next, step } => {
                edges.clear();
                let from = (*next * CHUNK).min(graph.edges());
                let until = (from + CHUNK).min(graph.edges());
                *next += *step;
                edges.extend((from..until).map(|index| graph.edge(index)));
                Ok(from < until)
            }
            Chunks::File(list) => list.next_block(edges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_dealt_in_turn_give_one_order() {
        let graph = Rmat::new(12, 40, 1);
        let expected: Vec<_> = (0..graph.edges()).map(|index| graph.edge(index)).collect();
        let source = Source::Rmat(graph);
        let extent = source.extent().expect("known");
        assert_eq!(extent, Extent { chunks: 3, edges: 40 << 12, labels: 1 << 12 });
        for readers in 1..=4 {
            let mut shares: Vec<_> = (0..readers).map(|r| source.open(r, readers).expect("opens")).collect();
            let (mut dealt, mut chunk) = (Vec::new(), Vec::new());
            for k in 0..extent.chunks as usize {
                assert!(shares[k % readers].next(&mut chunk).expect("generated"));
                dealt.extend_from_slice(&chunk);
            }
            assert_eq!(dealt, expected);
            assert!(shares.iter_mut().all(|share| !share.next(&mut chunk).expect("ends")));
        }
    }
}
