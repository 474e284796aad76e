//! One part's share of the graph, and the kernel that gathers ranks on it.
//!
//! Pull-based: every edge is stored at its target, as the slot of its source. A slot has the source's share
//! of this iteration, wherever the source is; slots of one owner are contiguous, those of hubs first.

use crosstalk_host::gather::Places;
use std::ops::Range;

use super::names::PartNames;
use super::ranked_bits::RankedBits;

/// The bytes of an edge in memory.
pub const EDGE_BYTES: u64 = size_of::<u32>() as u64;

/// A part's vertices with the edges that point at them.
#[derive(Debug, Clone)]
pub struct Shard {
    /// This part's number.
    pub(super) part: usize,
    /// Place of a vertex → its name.
    pub(super) names: PartNames,
    /// Place of a vertex → its row.
    pub(super) rows: RankedBits,
    /// Row → edges that leave the vertex, wherever they go.
    pub(super) out_degree: Vec<u32>,
    /// Row → where its edges begin; one more at the end.
    pub(super) offsets: Vec<u32>,
    /// Edge → its source's slot, of the rows in memory. A row's sources are in the same order for any number
    /// of parts.
    pub(super) columns: Vec<u32>,
    /// The first rows, whose edges are in `columns`.
    pub(super) held: usize,
    /// Part → the slots it fills.
    pub(super) slots: Vec<Range<usize>>,
    /// Part → the rows that it needs from here, in the order of its slots.
    pub(super) supplies: Vec<Vec<u32>>,
}

impl Shard {
    /// The number of this part's vertices.
    pub fn vertices(&self) -> usize {
        self.rows.len()
    }

    /// The number of edges that point at this part's vertices.
    pub fn edges(&self) -> usize {
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    /// Row → where its edges begin; one more at the end.
    pub(super) fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The edges of some rows.
    pub(super) fn edges_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.offsets[rows.start] as usize..self.offsets[rows.end] as usize
    }

    /// The edges here.
    pub(super) fn columns(&self) -> Places<'_> {
        self.places(&self.columns).expect("every edge has a slot")
    }

    /// Edges that were taken from here; `None` where one of them has no slot.
    pub(super) fn places<'a>(&self, columns: &'a [u32]) -> Option<Places<'a>> {
        Places::below(self.slots(), columns)
    }

    /// The rows whose edges are here: all, unless [`Shard::keep`] removed some.
    pub(super) fn held(&self) -> Range<usize> {
        0..self.held
    }

    /// Keeps the edges of the first `rows`, and returns the others.
    pub(super) fn keep(&mut self, rows: usize) -> Vec<u32> {
        self.held = rows;
        let tail = self.columns.split_off(self.offsets[rows] as usize);
        self.columns.shrink_to_fit();
        tail
    }

    /// Bytes that the iterations need apart from the edges: of a vertex, the start of its edges, its
    /// out-degree, its share and its rank (24); of a slot, its share (8); of a share for a part, its row (4),
    /// and if it is sent, itself (8), and again when received (8); the set of ids that are vertices, and
    /// names that are no labels.
    pub(super) fn resident(&self) -> u64 {
        let (id, number) = (size_of::<u32>(), size_of::<f64>());
        let supplied: usize = self.supplies.iter().map(Vec::len).sum();
        let sent: usize = self.messages().map(<[u32]>::len).sum();
        let own = self.slots.get(self.part).map_or(0, Range::len);
        let arriving = self.slots() - own;
        let vertices = self.vertices() * (2 * id + 2 * number) + id;
        let shares = (self.slots() + sent + arriving) * number + supplied * id;
        (vertices + shares + self.rows.memory_bytes() + self.names.memory_bytes()) as u64
    }

    /// The rows whose shares are sent to each part: none to this one itself.
    pub(super) fn messages(&self) -> impl Iterator<Item = &[u32]> {
        self.supplies.iter().enumerate().map(|(part, rows)| if part == self.part { &[] } else { &rows[..] })
    }

    /// The number of slots that gathering reads.
    pub fn slots(&self) -> usize {
        self.slots.last().map_or(0, |range| range.end)
    }

    /// One iteration of some rows, whose edges are `columns`: each vertex's rank
    /// is `reset + (1 − reset) · Σ slot` over the edges that point at it.
    pub(super) fn gather(
        &self,
        rows: Range<usize>,
        columns: Places,
        slots: &[f64],
        reset: f64,
    ) -> impl Iterator<Item = f64> {
        let first = self.offsets[rows.start];
        self.offsets[rows.start..=rows.end].windows(2).map(move |bounds| {
            let row = (bounds[0] - first) as usize..(bounds[1] - first) as usize;
            reset + (1.0 - reset) * columns.sum(row, slots)
        })
    }
}
