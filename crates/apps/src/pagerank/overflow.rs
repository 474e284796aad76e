//! The edges that a slave's memory does not hold. The rows come first whose
//! edges fit; those of the others are on the disk, and are read again in every
//! iteration, a block of whole rows at a time. Each row is summed as ever, so
//! that the ranks are the same bit by bit.
//!
//! Vertices stay in memory, as what an iteration reads in no order: see
//! [`Shard::resident`]. While the graph is built, before the clock starts, all
//! edges are in the host's memory; only the iterations' memory is limited.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use std::ops::Range;

use super::ranks::{Balance, Ranks};
use super::shard::{EDGE, Shard};
use crate::spill::{Disk, Numbers, Scratch};

/// A block of edges takes this part of the memory, where rows are short.
const PART: u64 = 16;
/// It takes no more bytes than this: longer ones would read no faster, as only the first byte waits.
const BLOCK: u64 = 1 << 20;

/// Rows whose edges are in memory, and the blocks of the others.
#[derive(Debug, PartialEq, Eq)]
struct Fit {
    held: usize,
    blocks: Vec<Range<usize>>,
}

/// Edges on the disk.
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
    /// Moves to the disk what of `shard` exceeds `memory`. `None` where all fits.
    ///
    /// # Errors
    /// An attempt fault where the vertices alone exceed the memory, or the disk is full.
    pub fn of(shard: &mut Shard, memory: Bytes, disk: &mut dyn Disk) -> Result<Option<Self>, Fault> {
        let Fit { held, blocks } = fit(shard.offsets(), shard.resident(), memory.0)?;
        if blocks.is_empty() {
            return Ok(None);
        }
        let mut file = Numbers::new(&Scratch::temporary())?;
        let tail = shard.keep(held);
        file.append(disk, &tail)?;
        let edges = |rows: &Range<usize>| shard.edges_of(rows).len();
        let most = blocks.iter().map(edges).max().unwrap_or(0);
        let (held, bytes) = (shard.edges() - tail.len(), EDGE * tail.len() as u64);
        // Written to, so that the pages are there before a clock starts.
        Ok(Some(Overflow { file, blocks, columns: vec![1; most], held, bytes }))
    }

    /// Bytes that memory did not hold.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The part of an iteration that [`Ranks::step`] leaves. `compute` runs what is computing.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn step<D: Disk>(
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
            sum.add(&compute(disk, &mut || ranks.gather(rows.clone(), columns, last)));
        }
        Ok(sum)
    }
}

/// How rows whose edges end at `offsets` fit into `memory` beside `resident` bytes.
fn fit(offsets: &[u32], resident: u64, memory: u64) -> Result<Fit, Fault> {
    let rows = offsets.len() - 1;
    let bytes = |edges: u32| EDGE * u64::from(edges);
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
mod tests {
    use super::*;
    use crate::exchange::{Exchange, mock::on_threads};
    use crate::pagerank::build::build;
    use crate::pagerank::ranks::checksum;
    use crate::pagerank::rmat::Rmat;
    use crate::pagerank::source::Source;
    use crate::spill::mock::Told;
    use crosstalk_comm::Access;
    use proptest::prelude::*;

    /// Each part's checksum and balances, what it spilled, and what it did with
    /// its disk, where memory lacks so much of the room for its edges.
    fn played(parts: usize, lacks: u64) -> Vec<(u64, Vec<Balance>, u64, Told)> {
        let source = Source::Rmat(Rmat::new(9, 16, 3));
        let extent = source.extent().expect("known");
        on_threads(parts, |exchange| {
            let (mut shard, _) = build(&source, extent, 1, exchange).expect("builds");
            let mut disk = Told::default();
            let memory = Bytes(shard.resident() + EDGE * shard.edges() as u64 - lacks);
            let mut overflow = Overflow::of(&mut shard, memory, &mut disk).expect("spills");
            let mut ranks = Ranks::new(&shard, 0.15);
            let mut balances = Vec::new();
            for iteration in 1..=3 {
                let packed = ranks.pack();
                let arrived = exchange.exchange(packed).expect("exchanged");
                ranks.unpack(arrived).expect("unpacked");
                let mut balance = ranks.step(iteration == 3);
                if let Some(overflow) = &mut overflow {
                    let rest = overflow.step(&mut ranks, iteration == 3, &mut disk, |_, gather| gather());
                    balance.add(&rest.expect("read back"));
                }
                balances.push(balance);
            }
            let spilled = overflow.map_or(0, |overflow| overflow.bytes());
            (checksum(ranks.named()), balances, spilled, disk)
        })
    }

    #[test]
    fn the_ranks_are_the_same_bit_by_bit_with_edges_on_the_disk() {
        for (parts, lacks) in [(1, 1), (1, 20_000), (2, 1), (2, 4_000), (4, 1)] {
            let (free, limited) = (played(parts, 0), played(parts, lacks));
            for ((sum, balances, none, idle), (same, also, spilled, disk)) in free.iter().zip(&limited) {
                assert_eq!((sum, balances), (same, also), "{parts} parts, each {lacks} B short");
                assert!(*none == 0 && idle.0.is_empty());
                // Written once, read in every iteration; the head moves at the begin of each.
                assert!(*spilled >= lacks);
                assert_eq!(disk.0.iter().map(|(_, bytes)| bytes).sum::<u64>(), 4 * spilled);
                assert_eq!(disk.0.iter().filter(|(access, _)| *access == Access::Seek).count(), 4);
            }
        }
    }

    #[test]
    fn what_fits_is_not_divided() {
        let offsets = [0, 10, 20];
        assert_eq!(fit(&offsets, 100, 180), Ok(Fit { held: 2, blocks: Vec::new() }));
        // One byte less: a row of 40 B stays where 179 − 100 − 40 have room for none.
        assert_eq!(fit(&offsets, 100, 179), Ok(Fit { held: 0, blocks: vec![0..1, 1..2] }));
        assert_eq!(fit(&offsets, 99, 179), Ok(Fit { held: 2, blocks: Vec::new() }));
    }

    #[test]
    fn vertices_that_do_not_fit_are_a_fault() {
        let fault = fit(&[0, 10, 20], 100, 139).expect_err("too small");
        assert!(fault.message.contains("100 B for its vertices and 40 B for a block of edges"), "{fault}");
        assert!(fit(&[0, 10, 20], 100, 140).is_ok());
    }

    proptest! {
        #[test]
        fn blocks_cover_what_is_not_held_and_everything_stays_within_memory(
            degrees in proptest::collection::vec(0_u32..50, 1..200),
            resident in 0_u64..1000,
            memory in 1_u64..20_000,
        ) {
            let mut offsets = vec![0];
            for degree in &degrees {
                offsets.push(offsets[offsets.len() - 1] + degree);
            }
            if let Ok(Fit { held, blocks }) = fit(&offsets, resident, memory) {
                let mut next = held;
                let mut largest = 0;
                for rows in &blocks {
                    prop_assert!(rows.start == next && rows.end > next);
                    next = rows.end;
                    largest = largest.max(offsets[rows.end] - offsets[rows.start]);
                }
                prop_assert_eq!(next, degrees.len());
                prop_assert!(resident + EDGE * u64::from(offsets[held] + largest) <= memory);
            }
        }
    }
}
