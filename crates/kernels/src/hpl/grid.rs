//! Which rank has what: blocks of NB × NB, dealt to a grid of P × Q ranks.

use crosstalk_comm::{Communicator, Rank};
use crosstalk_core::Fault;

/// One direction of the grid: blocks of indices, dealt in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dealt {
    /// Indices in a block.
    pub(super) block: usize,
    /// This rank's coordinate.
    pub(super) own: usize,
    /// How many ranks there are in this direction.
    pub(super) of: usize,
}

impl Dealt {
    /// How many of the indices below `end` this rank has.
    pub(super) fn below(&self, end: usize) -> usize {
        let (blocks, rest) = (end / self.block, end % self.block);
        let whole = blocks / self.of * self.block;
        let after = blocks % self.of;
        whole
            + match self.own.cmp(&after) {
                std::cmp::Ordering::Less => self.block,
                std::cmp::Ordering::Equal => rest,
                std::cmp::Ordering::Greater => 0,
            }
    }

    /// The coordinate of the rank that has this index.
    pub(super) fn owner(&self, index: usize) -> usize {
        index / self.block % self.of
    }

    /// The index among its owner's.
    pub(super) fn local(&self, index: usize) -> usize {
        index / self.block / self.of * self.block + index % self.block
    }

    /// The index of one of this rank's.
    pub(super) fn global(&self, local: usize) -> usize {
        (local / self.block * self.of + self.own) * self.block + local % self.block
    }
}

/// A rank's position in the grid.
pub(super) struct Grid {
    pub(super) rows: Dealt,
    pub(super) columns: Dealt,
    /// The ranks of its row, by their column.
    pub(super) row: Communicator,
    /// The ranks of its column, by their row.
    pub(super) column: Communicator,
}

impl Grid {
    /// Ranks follow each other along rows.
    pub(super) fn new(rank: &mut Rank, block: usize, rows: usize, columns: usize) -> Result<Self, Fault> {
        let (row, column) = (rank.id() / columns, rank.id() % columns);
        let none = || Fault::attempt("a rank has no row or no column");
        let of_row = rank.world().split(Some(row as u32), column as i64)?.ok_or_else(none)?;
        let of_column = rank.world().split(Some(column as u32), row as i64)?.ok_or_else(none)?;
        Ok(Grid {
            rows: Dealt { block, own: row, of: rows },
            columns: Dealt { block, own: column, of: columns },
            row: of_row,
            column: of_column,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_one_owner_who_finds_it() {
        for (block, of, all) in [(3, 2, 17), (4, 3, 12), (5, 1, 11), (2, 4, 7)] {
            let ranks: Vec<Dealt> = (0..of).map(|own| Dealt { block, own, of }).collect();
            for index in 0..all {
                let owner = ranks[ranks[0].owner(index)];
                assert_eq!(owner.global(owner.local(index)), index);
                assert_eq!(owner.below(index), owner.local(index), "{index} of {all} by {block}");
            }
            assert_eq!(ranks.iter().map(|rank| rank.below(all)).sum::<usize>(), all);
        }
    }
}
