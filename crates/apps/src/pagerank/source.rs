//! The edges: from a generator, a file or memory, distributed in chunks.
//!
//! Chunk `k` belongs to reader `k mod readers`. In the order of their numbers, the chunks give the edges in
//! one order for any number of readers.

use crosstalk_core::Fault;
use std::ops::Range;
use std::path::PathBuf;

use super::edge::Edge;
use super::edge_list::{self, EdgeList};
use super::name::Name;
use super::names::Names;
use super::rmat::Rmat;

/// Edges in a chunk, where no file divides them.
const CHUNK: u64 = 1 << 16;

/// Where a graph's edges come from: a generator, a file, or memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Generated.
    Rmat(Rmat),
    /// Read from an edge list.
    File(PathBuf),
    /// In memory: the chunks of one reader, who gets all of them.
    Held {
        /// Its edges.
        chunks: Vec<Vec<Edge>>,
        /// As [`Extent::labels`].
        labels: Option<u32>,
    },
}

/// How large a graph is: its edges, labels and chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Chunks of edges.
    pub chunks: u64,
    /// Edges, duplicates and self loops included.
    pub edges: u64,
    /// Vertex ids are below this, and are labels; none where the vertices get other labels.
    pub labels: Option<u32>,
}

impl Source {
    /// The extent. Reads a file from end to end, and reports its faults.
    pub fn extent(&self) -> Result<Extent, Fault> {
        match self {
            Source::Rmat(graph) => Ok(Extent {
                chunks: graph.edges().div_ceil(CHUNK),
                edges: graph.edges(),
                labels: Some(graph.labels()),
            }),
            Source::File(path) => {
                let contents = edge_list::inspect(path)?;
                Ok(Extent { chunks: contents.blocks, edges: contents.edges, labels: contents.labels })
            }
            Source::Held { chunks, labels } => Ok(Extent {
                chunks: chunks.len() as u64,
                edges: chunks.iter().map(|chunk| chunk.len() as u64).sum(),
                labels: *labels,
            }),
        }
    }

    /// Opens the chunks that belong to `reader` of `readers`, whose vertices have these names.
    pub fn open_chunks<'a>(
        &'a self,
        names: &'a Names,
        reader: usize,
        readers: usize,
    ) -> Result<Chunks<'a>, Fault> {
        let (first, step) = (reader as u64, readers as u64);
        match self {
            Source::Rmat(graph) => Ok(Chunks::Rmat { graph, next: first, step }),
            Source::File(path) => Ok(Chunks::File { list: EdgeList::open(path, first, step)?, names }),
            Source::Held { chunks, .. } => Ok(Chunks::Held(chunks.iter())),
        }
    }

    /// Passes the names of the vertices in those chunks to `take`, once per edge.
    pub fn for_each_name(
        &self,
        reader: usize,
        readers: usize,
        mut take: impl FnMut(Name),
    ) -> Result<(), Fault> {
        let Source::File(path) = self else { return Ok(()) };
        let mut list = EdgeList::open(path, reader as u64, readers as u64)?;
        while list.next_block(|source, target| {
            take(source);
            take(target);
        })? {}
        Ok(())
    }
}

/// The chunks of edges that one reader reads.
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
    File {
        /// The edge list.
        list: EdgeList,
        /// Its vertices' labels.
        names: &'a Names,
    },
    /// In memory.
    Held(std::slice::Iter<'a, Vec<Edge>>),
}

impl Chunks<'_> {
    /// Replaces `edges` by the next chunk's; returns false, with no edges, after the last.
    pub fn next(&mut self, edges: &mut Vec<Edge>) -> Result<bool, Fault> {
        match self {
            Chunks::Rmat { graph, next, step } => {
                edges.clear();
                let chunk = chunk_of(graph.edges(), next, *step);
                edges.extend(chunk.clone().map(|index| graph.edge(index)));
                Ok(!chunk.is_empty())
            }
            Chunks::File { list, names } => {
                edges.clear();
                let mut unknown = false;
                let more = list.next_block(|source, target| {
                    match (names.label_of(source), names.label_of(target)) {
                        (Some(source), Some(target)) => edges.push(Edge { source, target }),
                        _ => unknown = true,
                    }
                })?;
                if unknown {
                    return Err(changed_file_fault());
                }
                Ok(more)
            }
            Chunks::Held(chunks) => {
                edges.clear();
                let next = chunks.next();
                edges.extend(next.into_iter().flatten());
                Ok(next.is_some())
            }
        }
    }
}

/// The edges of chunk `next` of so many; `next` moves on by `step`.
fn chunk_of(edges: u64, next: &mut u64, step: u64) -> Range<u64> {
    let from = (*next * CHUNK).min(edges);
    *next += step;
    from..(from + CHUNK).min(edges)
}

/// The fault for a file that changed between two passes over it.
pub fn changed_file_fault() -> Fault {
    Fault::attempt("the edges differ between the first and the second pass")
        .remedy("let nothing write to the graph's file while it is read")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All edges as `readers` readers get them, chunk by chunk in turn.
    fn dealt(source: &Source, readers: usize) -> Vec<Edge> {
        let names = Names::Same(1 << 12);
        let extent = source.extent().expect("known");
        let mut shares: Vec<_> =
            (0..readers).map(|r| source.open_chunks(&names, r, readers).expect("opens")).collect();
        let (mut dealt, mut chunk) = (Vec::new(), Vec::new());
        for k in 0..extent.chunks as usize {
            assert!(shares[k % readers].next(&mut chunk).expect("there"));
            dealt.extend_from_slice(&chunk);
        }
        assert!(shares.iter_mut().all(|share| !share.next(&mut chunk).expect("ends")));
        dealt
    }

    #[test]
    fn chunks_dealt_in_turn_give_one_order() {
        let graph = Rmat::new(12, 40, 1);
        let expected: Vec<_> = (0..graph.edges()).map(|index| graph.edge(index)).collect();
        let source = Source::Rmat(graph);
        let extent = source.extent().expect("known");
        assert_eq!(extent, Extent { chunks: 3, edges: 40 << 12, labels: Some(1 << 12) });
        for readers in 1..=4 {
            assert_eq!(dealt(&source, readers), expected);
        }
        let chunks: Vec<_> = expected.chunks(1 << 16).map(<[Edge]>::to_vec).collect();
        let held = Source::Held { chunks, labels: Some(1 << 12) };
        assert_eq!(held.extent().expect("known"), extent);
        assert_eq!(dealt(&held, 1), expected, "its only reader has them all");
    }
}
