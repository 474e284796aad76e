//! The normal equations of one row: Σ f fᵀ and Σ r f over its ratings r of
//! columns with factor vectors f, accumulated in double precision, as MLlib does.
//!
//! Factors and ratings have 24 significant bits, so that their products are
//! exact in double precision: fused or not, in vectors of any width, the sums
//! are the same bit by bit on every processor. A sum's order is the row's.

use super::cholesky::{LANES, LaneSystems, Lanes, triangle_index};
use super::factors::BLOCK_NUMBERS;

/// Neighbouring elements of a row of the matrix.
type Strip = [f64; BLOCK_NUMBERS];

/// One rating's factor vector, in `B` blocks.
pub type Vector<const B: usize> = [[f32; BLOCK_NUMBERS]; B];

/// A way to accumulate rows. No closures here: the compiler would build them for
/// the least processor.
pub trait Accumulator {
    /// Accumulates a row and puts it into a lane of `systems`.
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut LaneSystems,
        lane: usize,
    );
}

/// Accumulates rows whose vectors have `B` blocks, all in registers (`B` ≤ 3: 27
/// vectors of four doubles).
pub struct SmallAccumulator<'a, const B: usize> {
    from: &'a [Vector<B>],
    /// The sums' destination after the registers. The loop that adds does not touch it: what has a variable
    /// address stays in memory.
    matrix: [[[Strip; B]; BLOCK_NUMBERS]; B],
    right: [Strip; B],
}

impl<'a, const B: usize> SmallAccumulator<'a, B> {
    /// For vectors in `from`.
    pub fn new(from: &'a [[f32; BLOCK_NUMBERS]]) -> Self {
        let from = from.as_chunks::<B>().0;
        SmallAccumulator {
            from,
            matrix: [[[[0.0; BLOCK_NUMBERS]; B]; BLOCK_NUMBERS]; B],
            right: [[0.0; BLOCK_NUMBERS]; B],
        }
    }
}

impl<const B: usize> Accumulator for SmallAccumulator<'_, B> {
    #[inline(always)]
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut LaneSystems,
        lane: usize,
    ) {
        let mut matrix = [[[[0.0; BLOCK_NUMBERS]; B]; BLOCK_NUMBERS]; B];
        let mut right = [[0.0; BLOCK_NUMBERS]; B];
        for (column, rating) in columns.iter().zip(ratings) {
            let single = &self.from[*column as usize];
            let mut vector = [[0.0; BLOCK_NUMBERS]; B];
            for i in 0..B {
                vector[i] = double(&single[i]);
            }
            let rating = f64::from(*rating);
            for i in 0..B {
                add::<FUSED>(&mut right[i], rating, &vector[i]);
                for k in 0..BLOCK_NUMBERS {
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
            for k in 0..BLOCK_NUMBERS {
                let row = i * BLOCK_NUMBERS + k;
                put(&mut systems.right, row, lane, self.right[i][k]);
                let strips = self.matrix[i][k].as_flattened();
                for (column, value) in strips[..=row].iter().enumerate() {
                    put(&mut systems.triangle, triangle_index(row, column), lane, *value);
                }
            }
        }
    }
}

/// Ratings whose vectors [`LargeAccumulator`] keeps in its panel while it passes over the matrix.
const PANEL: usize = 32;

/// Accumulates rows of any rank: vectors are gathered into panels; for each panel the matrix is processed in
/// tiles that fit into registers.
pub struct LargeAccumulator<'a> {
    blocks: usize,
    from: &'a [[f32; BLOCK_NUMBERS]],
    panel: Vec<Strip>,
    ratings: Vec<f64>,
    /// Block rows, each with the columns up to the diagonal's block.
    matrix: Vec<[Strip; BLOCK_NUMBERS]>,
    right: Vec<Strip>,
}

impl<'a> LargeAccumulator<'a> {
    /// Buffers for vectors of so many blocks, in `from`.
    pub fn new(blocks: usize, from: &'a [[f32; BLOCK_NUMBERS]]) -> Self {
        LargeAccumulator {
            blocks,
            from,
            panel: Vec::with_capacity(PANEL * blocks),
            ratings: Vec::with_capacity(PANEL),
            matrix: vec![[[0.0; BLOCK_NUMBERS]; BLOCK_NUMBERS]; triangle_index(blocks, 0)],
            right: vec![[0.0; BLOCK_NUMBERS]; blocks],
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
        let (blocks, begin) = (self.blocks, triangle_index(i, j));
        let mut tile = [[[0.0; BLOCK_NUMBERS]; BLOCK_NUMBERS]; W];
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

impl Accumulator for LargeAccumulator<'_> {
    #[inline(always)]
    fn accumulate<const FUSED: bool>(
        &mut self,
        columns: &[u32],
        ratings: &[f32],
        systems: &mut LaneSystems,
        lane: usize,
    ) {
        self.matrix.fill([[0.0; BLOCK_NUMBERS]; BLOCK_NUMBERS]);
        self.right.fill([0.0; BLOCK_NUMBERS]);
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
        for row in 0..blocks * BLOCK_NUMBERS {
            let (i, k) = (row / BLOCK_NUMBERS, row % BLOCK_NUMBERS);
            put(&mut systems.right, row, lane, self.right[i][k]);
            for j in 0..=i {
                let strip = &self.matrix[triangle_index(i, j)][k];
                let filled = if j == i { k + 1 } else { BLOCK_NUMBERS };
                for (l, value) in strip[..filled].iter().enumerate() {
                    put(&mut systems.triangle, triangle_index(row, j * BLOCK_NUMBERS + l), lane, *value);
                }
            }
        }
    }
}

/// Four numbers in double precision.
#[inline(always)]
fn double(block: &[f32; BLOCK_NUMBERS]) -> Strip {
    let mut strip = [0.0; BLOCK_NUMBERS];
    for l in 0..BLOCK_NUMBERS {
        strip[l] = f64::from(block[l]);
    }
    strip
}

/// `sum += factor · vector`.
#[inline(always)]
fn add<const FUSED: bool>(sum: &mut Strip, factor: f64, vector: &Strip) {
    for l in 0..BLOCK_NUMBERS {
        sum[l] = if FUSED { factor.mul_add(vector[l], sum[l]) } else { factor * vector[l] + sum[l] };
    }
}

#[inline(always)]
fn put(into: &mut [Lanes], index: usize, lane: usize, value: f64) {
    into[index][lane % LANES] = value;
}
