//! The system's entries, and a rank's part of them.

use crosstalk_host::pages::vec_in_huge_pages;

use super::grid::Grid;

/// A rank's part of the matrix and of the right-hand side, which is column `order`. Columns follow each other.
pub(super) struct Matrix {
    pub(super) order: usize,
    /// Rows of this rank.
    pub(super) rows: usize,
    /// Columns of this rank.
    pub(super) columns: usize,
    pub(super) data: Vec<f64>,
}

impl Matrix {
    /// The part of the rank at this position.
    pub(super) fn generate(order: usize, grid: &Grid) -> Self {
        let (rows, columns) = (grid.rows.below(order), grid.columns.below(order + 1));
        let mut data = vec_in_huge_pages(rows * columns);
        for column in 0..columns {
            let column = grid.columns.global(column);
            data.extend((0..rows).map(|row| entry(grid.rows.global(row), column)));
        }
        Matrix { order, rows, columns, data }
    }

    /// This rank's columns from `from` to `to`; none where it has no rows.
    pub(super) fn columns(&self, from: usize, to: usize) -> impl Iterator<Item = &[f64]> {
        self.data[from * self.rows..to * self.rows].chunks(self.rows.max(1))
    }

    /// The same, to change them.
    pub(super) fn columns_mut(&mut self, from: usize, to: usize) -> impl Iterator<Item = &mut [f64]> {
        self.data[from * self.rows..to * self.rows].chunks_mut(self.rows.max(1))
    }
}

/// An entry: from −0.5 to 0.5, random, and the same whichever rank has it. The mixing function is that of splitmix64
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(super) fn entry(row: usize, column: usize) -> f64 {
    let mut bits = ((row as u64) << 32 | column as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_spread_evenly_around_zero() {
        let all: Vec<f64> = (0..200).flat_map(|row| (0..200).map(move |column| entry(row, column))).collect();
        assert!(all.iter().all(|entry| (-0.5..0.5).contains(entry)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|entry| entry * entry).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.01 && (square - 1.0 / 12.0).abs() < 0.002, "{mean} {square}");
    }
}
