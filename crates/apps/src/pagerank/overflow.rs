//! The edges that a slave's memory does not hold. The first rows are those whose edges fit; the edges of the
//! others are on disk, and are read again in every iteration, in blocks of whole rows. Each row is summed in
//! the same order, so that the ranks are equal bit by bit.
//!
//! Vertices stay in memory, as an iteration accesses them in random order: see [`Shard::resident`]. While the
//! graph is built, before the clock starts, all edges are in the host's memory; only the iterations' memory
//! is limited.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use std::ops::Range;

use super::ranks::{Balance, Ranks};
use super::shard::{EDGE_BYTES, Shard};
use crate::spill::{Disk, Numbers, Scratch};

/// A block of edges takes this part of the memory, where rows are short.
const PART: u64 = 16;
/// The most bytes of a block: longer ones would read no faster, as only the first byte waits.
const BLOCK: u64 = 1 << 20;

/// Rows whose edges are in memory, and the blocks of the others.
#[derive(Debug, PartialEq, Eq)]
struct Fit {
    held: usize,
    blocks: Vec<Range<usize>>,
}

/// The edges of a shard that do not fit into memory, on the disk.
pub struct Overflow {
    file: Numbers,
    blocks: Vec<Range<usize>>,
    /// The edges of a block.
    columns: Vec<u32>,
    /// Edges of the rows that are in memory.
    held: usize,
    /// Bytes on the disk.
    bytes: u64,
}

impl Overflow {
    /// Moves what exceeds `memory` of `shard` to the disk. `None` where all fits.
    ///
    /// # Errors
    /// An attempt fault where the vertices alone exceed the memory, or the disk is full.
    pub fn move_excess(shard: &mut Shard, memory: Bytes, disk: &mut dyn Disk) -> Result<Option<Self>, Fault> {
        let Fit { held, blocks } = fit(shard.offsets(), shard.resident(), memory.0)?;
        if blocks.is_empty() {
            return Ok(None);
        }
        let mut file = Numbers::new(&Scratch::temporary())?;
        let tail = shard.keep(held);
        file.append(disk, &tail)?;
        let edges = |rows: &Range<usize>| shard.edges_of(rows).len();
        let most = blocks.iter().map(edges).max().unwrap_or(0);
        let (held, bytes) = (shard.edges() - tail.len(), EDGE_BYTES * tail.len() as u64);
        // Written to, so that the kernel has allocated the pages before a clock starts.
        Ok(Some(Overflow { file, blocks, columns: vec![1; most], held, bytes }))
    }

    /// The bytes of the edges on the disk.
    pub fn disk_bytes(&self) -> u64 {
        self.bytes
    }

    /// The rest of an iteration after [`Ranks::iterate`]. `compute` runs the computation.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn iterate<D: Disk>(
        &mut self,
        ranks: &mut Ranks,
        last: bool,
        disk: &mut D,
        compute: impl Fn(&mut D, &mut dyn FnMut() -> Balance) -> Balance,
    ) -> Result<Balance, Fault> {
        let mut sum = Balance::default();
        for rows in &self.blocks {
            let edges = ranks.shard().edges_of(rows);
            let columns = &mut self.columns[..edges.len()];
            self.file.read(disk, (edges.start - self.held) as u64, columns)?;
            let mut as_written = true;
            sum.add(&compute(disk, &mut || match ranks.shard().places(columns) {
                Some(columns) => ranks.gather(rows.clone(), columns, last),
                None => {
                    as_written = false;
                    Balance::default()
                }
            }));
            if !as_written {
                return Err(Fault::attempt("the disk returned other edges than were written")
                    .remedy("check the disk"));
            }
        }
        Ok(sum)
    }
}

/// How many rows whose edges end at `offsets` fit into `memory` together with `resident` bytes, and the
/// blocks of the others.
fn fit(offsets: &[u32], resident: u64, memory: u64) -> Result<Fit, Fault> {
    let rows = offsets.len() - 1;
    let bytes = |edges: u32| EDGE_BYTES * u64::from(edges);
    if resident + bytes(offsets[rows]) <= memory {
        return Ok(Fit { held: rows, blocks: Vec::new() });
    }
    // A row is summed whole.
    let longest = offsets.windows(2).map(|row| bytes(row[1] - row[0])).max().unwrap_or(0);
    let block = (memory / PART).min(BLOCK).max(longest);
    let Some(room) = memory.checked_sub(resident + block) else {
        return Err(Fault::attempt(format!(
            "a slave holds {resident} B for its vertices and {block} B for a block of edges; its node has {memory} B of memory"
        ))
        .remedy("use more slaves, more memory a node, or a smaller graph"));
    };
    let held = offsets.partition_point(|edges| bytes(*edges) <= room) - 1;
    let (mut blocks, mut begin) = (Vec::new(), held);
    while begin < rows {
        let first = offsets[begin];
        let end = offsets.partition_point(|edges| *edges <= first || bytes(*edges - first) <= block) - 1;
        blocks.push(begin..end);
        begin = end;
    }
    Ok(Fit { held, blocks })
}

#[cfg(test)]
mod tests;
