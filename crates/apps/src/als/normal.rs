//! The normal equations of one row: Σ f fᵀ and Σ r f over its ratings r of
//! columns with factor vectors f, accumulated in double precision, as MLlib does.
//!
//! Factors and ratings have 24 significant bits, so that their products are
//! exact in double precision: fused or not, in vectors of any width, the sums
//! are the same bit by bit on every processor. A sum's order is the row's.

use super::cholesky::{LANES, Lanes, Systems, at};
use super::factors::BLOCK;

/// Neighbouring elements of a row of the matrix.
type Strip = [f64; BLOCK];

/// One rating's factor vector, in `B` blocks.
pub type Vector<const B: usize> = [[f32; BLOCK]; B];

/// A way to accumulate rows. No closures here: the compiler would build them for
/// the least processor.
pub trait Accumulate {
    /// Accumulates a row and puts it into a lane of `systems`.
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut Systems,
        lane: usize,
    );
}

/// Accumulates rows whose vectors have `B` blocks, all in registers (`B` ≤ 3: 27
/// vectors of four doubles).
pub struct Small<'a, const B: usize> {
    from: &'a [Vector<B>],
    /// The sums' destination after the registers. The loop that adds does not touch it: what has a variable
    /// address stays in memory.
    matrix: [[[Strip; B]; BLOCK]; B],
    right: [Strip; B],
}

impl<'a, const B: usize> Small<'a, B> {
    /// For vectors in `from`.
    pub fn new(from: &'a [[f32; BLOCK]]) -> Self {
        let from = from.as_chunks::<B>().0;
        Small { from, matrix: [[[[0.0; BLOCK]; B]; BLOCK]; B], right: [[0.0; BLOCK]; B] }
    }
}

impl<const B: usize> Accumulate for Small<'_, B> {
    #[inline(always)]
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut Systems,
        lane: usize,
    ) {
        let mut matrix = [[[[0.0; BLOCK]; B]; BLOCK]; B];
        let mut right = [[0.0; BLOCK]; B];
        for (column, rating) in columns.iter().zip(ratings) {
            let single = &self.from[*column as usize];
            let mut vector = [[0.0; BLOCK]; B];
            for i in 0..B {
                vector[i] = double(&single[i]);
            }
            let rating = f64::from(*rating);
            for i in 0..B {
                add::<FUSED>(&mut right[i], rating, &vector[i]);
                for k in 0..BLOCK {
                    // Bounds that the compiler knows: only then it unrolls the
                    // loops and keeps the sums in registers.
                    for j in 0..B {
                        if j <= i {
                            add::<FUSED>(&mut matrix[i][k][j], vector[i][k], &vector[j]);
                        }
                    }
                }
            }
        }
        (self.matrix, self.right) = (matrix, right);
        for i in 0..B {
            for k in 0..BLOCK {
                let row = i * BLOCK + k;
                put(&mut systems.right, row, lane, self.right[i][k]);
                let strips = self.matrix[i][k].as_flattened();
                for (column, value) in strips[..=row].iter().enumerate() {
                    put(&mut systems.triangle, at(row, column), lane, *value);
                }
            }
        }
    }
}

/// Ratings whose vectors [`Large`] keeps in its panel while it passes over the matrix.
const PANEL: usize = 32;

/// Accumulates rows of any rank: vectors are gathered into panels; for each panel the matrix is processed in
/// tiles that fit into registers.
pub struct Large<'a> {
    blocks: usize,
    from: &'a [[f32; BLOCK]],
    panel: Vec<Strip>,
    ratings: Vec<f64>,
    /// Block rows, each with the columns up to the diagonal's block.
    matrix: Vec<[Strip; BLOCK]>,
    right: Vec<Strip>,
}

impl<'a> Large<'a> {
    /// Buffers for vectors of so many blocks, in `from`.
    pub fn new(blocks: usize, from: &'a [[f32; BLOCK]]) -> Self {
        Large {
            blocks,
            from,
            panel: Vec::with_capacity(PANEL * blocks),
            ratings: Vec::with_capacity(PANEL),
            matrix: vec![[[0.0; BLOCK]; BLOCK]; at(blocks, 0)],
            right: vec![[0.0; BLOCK]; blocks],
        }
    }

    /// Adds the panel's ratings to the whole matrix and right-hand side.
    #[inline(always)]
    fn panel<const FUSED: bool>(&mut self) {
        for i in 0..self.blocks {
            for (vector, rating) in self.panel.chunks_exact(self.blocks).zip(&self.ratings) {
                add::<FUSED>(&mut self.right[i], *rating, &vector[i]);
            }
            let mut j = 0;
            while j + 3 <= i + 1 {
                self.tile::<3, FUSED>(i, j);
                j += 3;
            }
            match i + 1 - j {
                2 => self.tile::<2, FUSED>(i, j),
                1 => self.tile::<1, FUSED>(i, j),
                _ => {}
            }
        }
    }

    /// Adds the panel's ratings to block row `i`, block columns `j..j + W`.
    #[inline(always)]
    fn tile<const W: usize, const FUSED: bool>(&mut self, i: usize, j: usize) {
        let (blocks, begin) = (self.blocks, at(i, j));
        let mut tile = [[[0.0; BLOCK]; BLOCK]; W];
        tile.copy_from_slice(&self.matrix[begin..begin + W]);
        for vector in self.panel.chunks_exact(blocks) {
            let (left, other) = (&vector[i], &vector[j..j + W]);
            for (k, factor) in left.iter().enumerate() {
                for w in 0..W {
                    add::<FUSED>(&mut tile[w][k], *factor, &other[w]);
                }
            }
        }
        self.matrix[begin..begin + W].copy_from_slice(&tile);
    }
}

impl Accumulate for Large<'_> {
    #[inline(always)]
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut Systems,
        lane: usize,
    ) {
        self.matrix.fill([[0.0; BLOCK]; BLOCK]);
        self.right.fill([0.0; BLOCK]);
        let blocks = self.blocks;
        for (columns, ratings) in columns.chunks(PANEL).zip(ratings.chunks(PANEL)) {
            self.panel.clear();
            for column in columns {
                let begin = *column as usize * blocks;
                for block in &self.from[begin..begin + blocks] {
                    self.panel.push(double(block));
                }
            }
            self.ratings.clear();
            for rating in ratings {
                self.ratings.push(f64::from(*rating));
            }
            self.panel::<FUSED>();
        }
        for row in 0..blocks * BLOCK {
            let (i, k) = (row / BLOCK, row % BLOCK);
            put(&mut systems.right, row, lane, self.right[i][k]);
            for j in 0..=i {
                let strip = &self.matrix[at(i, j)][k];
                let filled = if j == i { k + 1 } else { BLOCK };
                for (l, value) in strip[..filled].iter().enumerate() {
                    put(&mut systems.triangle, at(row, j * BLOCK + l), lane, *value);
                }
            }
        }
    }
}

/// Four numbers in double precision.
#[inline(always)]
fn double(block: &[f32; BLOCK]) -> Strip {
    let mut strip = [0.0; BLOCK];
    for l in 0..BLOCK {
        strip[l] = f64::from(block[l]);
    }
    strip
}

/// `sum += factor · vector`.
#[inline(always)]
fn add<const FUSED: bool>(sum: &mut Strip, factor: f64, vector: &Strip) {
    for l in 0..BLOCK {
        sum[l] = if FUSED { factor.mul_add(vector[l], sum[l]) } else { factor * vector[l] + sum[l] };
    }
}

#[inline(always)]
fn put(into: &mut [Lanes], index: usize, lane: usize, value: f64) {
    into[index][lane % LANES] = value;
}
