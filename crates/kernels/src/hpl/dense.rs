//! Triangular systems on one rank.

use std::ops::Range;

use crosstalk_host::pages::vec_in_huge_pages;
pub(super) use crosstalk_host::product::{Columns as Block, subtract_product};
use crosstalk_host::vector::{VectorKernel, run_widest};

/// The order from which a triangular system is cut in two.
const SMALL: usize = 16;
/// The order of blocks that are inverted.
const INVERTED: usize = 64;
/// Columns that are solved at once, by the lanes of a vector.
const LANES: usize = 8;

/// Solves L · X = B in place of B: L is lower triangular of order `order` with ones on its diagonal, B has `columns`.
pub(super) fn solve_lower(order: usize, columns: usize, l: Block, b: &mut [f64], ld: usize) {
    if columns == 0 {
        return;
    }
    if order <= SMALL {
        run_widest(SmallLower { order, columns, l, b, ld });
        return;
    }
    let half = order / 2;
    solve_lower(half, columns, l, b, ld);
    // Both halves are in the same columns: the upper one is copied, so that it can be read while the lower one changes.
    let upper = copy_rows(b, ld, 0..half, columns);
    let rest = order - half;
    let left = Block { data: &l.data[half..], ld: l.ld };
    subtract_product([rest, half, columns], left, Block { data: &upper, ld: half }, &mut b[half..], ld);
    let right = Block { data: &l.data[half * l.ld + half..], ld: l.ld };
    solve_lower(rest, columns, right, &mut b[half..], ld);
}

/// A unit lower triangular matrix by which many columns are solved: the blocks at its diagonal are inverted once, and
/// products do the rest, which are faster than short recursions. Entries of L are at most 1, so that blocks of this order
/// have inverses of modest size.
pub(super) struct InvertedLower<'l> {
    order: usize,
    l: Block<'l>,
    /// By block of the diagonal: its inverse times −1.
    inverses: Vec<Vec<f64>>,
}

impl<'l> InvertedLower<'l> {
    pub(super) fn new(order: usize, l: Block<'l>) -> Self {
        let inverse = |begin: usize| {
            let size = INVERTED.min(order - begin);
            let mut inverse = vec![0.0; size * size];
            (0..size).for_each(|at| inverse[at * size + at] = -1.0);
            let block = Block { data: &l.data[begin * l.ld + begin..], ld: l.ld };
            solve_lower(size, size, block, &mut inverse, size);
            inverse
        };
        InvertedLower { order, l, inverses: (0..order).step_by(INVERTED).map(inverse).collect() }
    }

    /// Solves L · X = B in place of B, whose columns are `ld` apart.
    pub(super) fn solve(&self, columns: usize, b: &mut [f64], ld: usize) {
        for (at, inverse) in self.inverses.iter().enumerate() {
            let begin = at * INVERTED;
            let size = INVERTED.min(self.order - begin);
            let (end, rest) = (begin + size, self.order - begin - size);
            let own = copy_rows(b, ld, begin..end, columns);
            b.chunks_mut(ld).take(columns).for_each(|column| column[begin..end].fill(0.0));
            let inverse = Block { data: inverse, ld: size };
            subtract_product(
                [size, size, columns],
                inverse,
                Block { data: &own, ld: size },
                &mut b[begin..],
                ld,
            );
            if rest > 0 {
                let solved = copy_rows(b, ld, begin..end, columns);
                let left = Block { data: &self.l.data[begin * self.l.ld + end..], ld: self.l.ld };
                let solved = Block { data: &solved, ld: size };
                subtract_product([rest, size, columns], left, solved, &mut b[end..], ld);
            }
        }
    }
}

/// [`solve_lower`] of a small order.
struct SmallLower<'a> {
    order: usize,
    columns: usize,
    l: Block<'a>,
    b: &'a mut [f64],
    ld: usize,
}

impl VectorKernel for SmallLower<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let order = self.order;
        let mut columns: Vec<&mut [f64]> = self.b.chunks_mut(self.ld).take(self.columns).collect();
        for columns in columns.chunks_mut(LANES) {
            let mut rows = [[0.0; LANES]; SMALL];
            for (lane, column) in columns.iter().enumerate() {
                rows.iter_mut().zip(&column[..order]).for_each(|(row, entry)| row[lane] = *entry);
            }
            for pivot in 0..order {
                let value = rows[pivot];
                for (row, target) in rows.iter_mut().enumerate().take(order).skip(pivot + 1) {
                    let factor = -self.l.data[pivot * self.l.ld + row];
                    for (target, value) in target.iter_mut().zip(&value) {
                        *target =
                            if FUSED { value.mul_add(factor, *target) } else { value * factor + *target };
                    }
                }
            }
            for (lane, column) in columns.iter_mut().enumerate() {
                column[..order].iter_mut().zip(&rows).for_each(|(entry, row)| *entry = row[lane]);
            }
        }
    }
}

/// These rows of the first `columns` columns, which are `ld` apart, without gaps.
pub(super) fn copy_rows(data: &[f64], ld: usize, rows: Range<usize>, columns: usize) -> Vec<f64> {
    let mut copy = vec_in_huge_pages(rows.len() * columns);
    data.chunks(ld.max(1)).take(columns).for_each(|column| copy.extend_from_slice(&column[rows.clone()]));
    copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpl::matrix::entry;

    #[test]
    fn a_lower_system_is_solved() {
        for order in [1, 5, 16, 17, 64, 100] {
            let (ld, columns) = (order + 3, 7);
            let lower: Vec<f64> = (0..order * ld).map(|at| entry(at % ld, at / ld)).collect();
            let solution: Vec<f64> = (0..columns * ld).map(|at| entry(at % ld + 500, at / ld)).collect();
            let mut b = vec![0.0; columns * ld];
            for column in 0..columns {
                for row in 0..order {
                    let product = |inner: usize| {
                        let factor = if inner == row { 1.0 } else { lower[inner * ld + row] };
                        factor * solution[column * ld + inner]
                    };
                    b[column * ld + row] = (0..=row).map(product).sum();
                }
            }
            let mut by_inverse = b.clone();
            solve_lower(order, columns, Block { data: &lower, ld }, &mut b, ld);
            InvertedLower::new(order, Block { data: &lower, ld }).solve(columns, &mut by_inverse, ld);
            for column in 0..columns {
                for row in 0..order {
                    for found in [&b, &by_inverse] {
                        let apart = (found[column * ld + row] - solution[column * ld + row]).abs();
                        assert!(apart < 1e-6, "{order}: {apart}");
                    }
                }
            }
        }
    }
}
