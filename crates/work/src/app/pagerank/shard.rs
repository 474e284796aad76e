//! One part's share of the graph, and the kernel that gathers ranks on it.
//!
//! Pull-based: every edge is stored at its target, as the slot of its source.
//! A slot holds what the source has to give this iteration, wherever it lives;
//! slots of one owner are contiguous, those of hubs first.

use std::ops::Range;

use super::ranked_bits::RankedBits;

/// A part's vertices with the edges that point at them.
#[derive(Debug, Clone)]
pub struct Shard {
    /// This part's number.
    pub(super) part: usize,
    /// Place of a vertex → its row.
    pub(super) rows: RankedBits,
    /// Row → edges that leave the vertex, wherever they go.
    pub(super) out_degree: Vec<u32>,
    /// Row → where its edges begin in `columns`; one more at the end.
    pub(super) offsets: Vec<u32>,
    /// Edge → its source's slot. A row's sources stand in one order for any number of parts.
    pub(super) columns: Vec<u32>,
    /// Part → the slots it fills.
    pub(super) slots: Vec<Range<usize>>,
    /// Part → the rows it wants from here, in the order of its slots.
    pub(super) supplies: Vec<Vec<u32>>,
}

impl Shard {
    /// Vertices here.
    pub fn vertices(&self) -> usize {
        self.rows.len()
    }

    /// Edges that point at them.
    pub fn edges(&self) -> usize {
        self.columns.len()
    }

    /// The rows whose shares are sent to each part: none to this one itself.
    pub(super) fn messages(&self) -> impl Iterator<Item = &[u32]> {
        self.supplies.iter().enumerate().map(|(part, rows)| if part == self.part { &[] } else { &rows[..] })
    }

    /// How many slots a gathering reads.
    pub fn slots(&self) -> usize {
        self.slots.last().map_or(0, |range| range.end)
    }

    /// One iteration: `take(row, rank)` for every vertex, its rank being
    /// `reset + (1 − reset) · Σ slot` over the edges that point at it.
    pub fn gather(&self, slots: &[f64], reset: f64, mut take: impl FnMut(usize, f64)) {
        for (row, bounds) in self.offsets.windows(2).enumerate() {
            let columns = &self.columns[bounds[0] as usize..bounds[1] as usize];
            take(row, reset + (1.0 - reset) * sum(columns, slots));
        }
    }
}

/// The sum of the slots that `columns` name, in an order that depends on
/// nothing but their number, so that it rounds the same everywhere. Four sums
/// at once, because one would wait for its own last addition.
fn sum(columns: &[u32], slots: &[f64]) -> f64 {
    let (fours, rest) = columns.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, column) in sums.iter_mut().zip(four) {
            *sum += slots[*column as usize];
        }
    }
    let rest: f64 = rest.iter().map(|column| slots[*column as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
