//! Ranks on a grid, and which part of the matrix each has (NAS-95-020, on CG).
//!
//! There are as many columns of ranks as rows, or twice as many. A product of the matrix and a vector is added up along
//! rows of ranks. Its pieces are then sent across the diagonal of the grid, which brings them to where that part of a
//! vector belongs.

use std::ops::Range;

use crate::share::share;

/// A sum along a row of ranks, in exchanges with one partner after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchange {
    /// The partner.
    pub(super) partner: usize,
    /// Its tag.
    pub(super) tag: u32,
    /// Which of the rank's rows of a product are sent. It receives those of [`Grid::piece`].
    pub(super) sent: Range<usize>,
}

/// A rank's part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    /// Rows of the matrix.
    pub(super) rows: Range<usize>,
    /// Columns of the matrix, and elements of vectors.
    pub(super) columns: Range<usize>,
    /// With whom products are added up. Scalars are exchanged with the same partners, the last one first.
    pub(super) exchanges: Vec<Exchange>,
    /// Which of the rank's rows are complete after that, counted from its first.
    pub(super) piece: Range<usize>,
    /// The rank on the other side of the diagonal, which gets them; `None` if there is only one rank.
    pub(super) across: Option<usize>,
}

impl Grid {
    /// The part of rank `id` of `size`, a power of two, of a matrix of this order.
    pub(super) fn new(order: usize, id: usize, size: usize) -> Self {
        let height = 1 << (size.ilog2() / 2);
        let width = size / height;
        let (row, column) = (id / width, id % width);
        let rows = share(order, height, row);
        let columns = match width == height {
            true => share(order, width, column),
            false => half(share(order, height, column / 2), column % 2),
        };
        let count = rows.len();
        let piece = if width == height { 0..count } else { half(0..count, column % 2) };
        // The first exchange of a wide grid is between the two ranks that share the rows of a piece.
        let other = if width == height { 0..count } else { half(0..count, 1 - column % 2) };
        let steps = width.ilog2();
        let exchange = |step: u32| Exchange {
            partner: row * width + (column ^ (1 << step)),
            tag: steps - step,
            sent: if step == 0 { other.clone() } else { piece.clone() },
        };
        let exchanges: Vec<Exchange> = (0..steps).map(exchange).collect();
        let wide = width / height;
        let across = ((column / wide) * height + row) * wide + column % wide;
        Grid { rows, columns, exchanges, piece, across: (size > 1).then_some(across) }
    }
}

/// The first or the second half. The first has one more if they cannot be equal.
fn half(range: Range<usize>, index: usize) -> Range<usize> {
    let middle = range.start + range.len().div_ceil(2);
    if index == 0 { range.start..middle } else { middle..range.end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(order: usize, size: usize) -> Vec<Grid> {
        (0..size).map(|id| Grid::new(order, id, size)).collect()
    }

    #[test]
    fn one_rank_has_the_matrix_and_talks_to_nobody() {
        let grid = Grid::new(7, 0, 1);
        assert_eq!((grid.rows, grid.columns, grid.piece), (0..7, 0..7, 0..7));
        assert_eq!((grid.exchanges, grid.across), (Vec::new(), None));
    }

    #[test]
    fn parts_cover_the_matrix_once() {
        for size in [1, 2, 4, 8, 16, 32] {
            let mut covered = vec![0; 37 * 37];
            for Grid { rows, columns, .. } in all(37, size) {
                for row in rows {
                    columns.clone().for_each(|column| covered[row * 37 + column] += 1);
                }
            }
            assert!(covered.iter().all(|times| *times == 1), "{size}");
        }
    }

    #[test]
    fn what_a_partner_sends_is_what_a_rank_adds_to() {
        for size in [2, 4, 8, 16, 32] {
            let grids = all(37, size);
            for (id, grid) in grids.iter().enumerate() {
                for (step, exchange) in grid.exchanges.iter().enumerate() {
                    let back = &grids[exchange.partner].exchanges[step];
                    assert_eq!((back.partner, back.tag, &back.sent), (id, exchange.tag, &grid.piece));
                }
            }
        }
    }

    #[test]
    fn pieces_go_across_the_diagonal_to_the_columns_that_they_are() {
        for size in [2, 4, 8, 16, 32] {
            let grids = all(37, size);
            for (id, grid) in grids.iter().enumerate() {
                let across = &grids[grid.across.expect("there are several")];
                assert_eq!(across.across, Some(id));
                let first = across.rows.start;
                let piece = first + across.piece.start..first + across.piece.end;
                assert_eq!(piece, grid.columns, "{id} of {size}");
            }
        }
    }
}
