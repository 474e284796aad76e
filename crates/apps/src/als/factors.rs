//! Factor vectors of one side's rows: single precision, as MLlib stores them.

use crate::random::random_at;

/// Numbers that the kernel handles at once: vectors are padded with zeros to a multiple of them.
pub const BLOCK_NUMBERS: usize = 4;

/// The factor vectors of all rows (users or items) of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    rank: usize,
    rows: usize,
    data: Vec<[f32; BLOCK_NUMBERS]>,
}

impl Factors {
    /// `rows` vectors of `rank` zeros.
    pub fn zeros(rows: usize, rank: usize) -> Self {
        Factors { rank, rows, data: vec![[0.0; BLOCK_NUMBERS]; rows * rank.div_ceil(BLOCK_NUMBERS)] }
    }

    /// The start of every model: for each row a direction drawn uniformly, as a
    /// vector of norm 1, from the seed and the row's id alone.
    pub fn random(ids: &[u32], rank: usize, seed: u64) -> Self {
        let mut factors = Factors::zeros(ids.len(), rank);
        for (row, id) in ids.iter().enumerate() {
            factors.set_row(row, &unit(*id, rank, seed));
        }
        factors
    }

    /// The length of each vector.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of vectors.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The vector of a row.
    pub fn row(&self, row: usize) -> &[f32] {
        let blocks = self.blocks_per_vector();
        &self.data[row * blocks..(row + 1) * blocks].as_flattened()[..self.rank]
    }

    /// A row's vector, to be replaced.
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let (blocks, rank) = (self.blocks_per_vector(), self.rank);
        &mut self.data[row * blocks..(row + 1) * blocks].as_flattened_mut()[..rank]
    }

    /// Replaces a row's vector by one as long.
    pub fn set_row(&mut self, row: usize, vector: &[f32]) {
        self.row_mut(row).copy_from_slice(vector);
    }

    /// The number of blocks of each vector.
    pub fn blocks_per_vector(&self) -> usize {
        self.rank.div_ceil(BLOCK_NUMBERS)
    }

    /// All vectors' blocks, row by row.
    pub fn all_blocks(&self) -> &[[f32; BLOCK_NUMBERS]] {
        &self.data
    }
}

/// The prediction: vectors multiplied in double precision, as MLlib's model does.
pub fn predict(user: &[f32], item: &[f32]) -> f64 {
    user.iter().zip(item).fold(0.0, |sum, (u, v)| sum + f64::from(*u) * f64::from(*v))
}

/// A direction: normally distributed coordinates (G. Box, M. Muller, 1958),
/// scaled to norm 1.
fn unit(id: u32, rank: usize, seed: u64) -> Vec<f32> {
    let row = random_at(seed, u64::from(id));
    let mut vector: Vec<f64> = (0..rank).map(|index| normal(row, index as u64)).collect();
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|x| *x /= norm);
    vector.into_iter().map(|x| x as f32).collect()
}

/// The `index`-th of a stream of normally distributed numbers.
pub(super) fn normal(stream: u64, index: u64) -> f64 {
    let radius = (-2.0 * uniform(stream, 2 * index).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(stream, 2 * index + 1)).cos()
}

/// The `index`-th of a stream of numbers above 0 and up to 1.
pub(super) fn uniform(stream: u64, index: u64) -> f64 {
    ((random_at(stream, index) >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_start_with_norm_one_in_no_direction() {
        let ids: Vec<u32> = (0..4000).collect();
        let factors = Factors::random(&ids, 3, 7);
        let mut mean = [0.0; 3];
        for row in 0..4000 {
            let vector = factors.row(row);
            assert!((predict(vector, vector) - 1.0).abs() < 1e-6);
            mean.iter_mut().zip(vector).for_each(|(m, x)| *m += f64::from(*x) / 4000.0);
        }
        // The mean of a coordinate has a standard deviation of 1/√(3 · 4000).
        assert!(mean.iter().all(|m| m.abs() < 5.0 / 12_000_f64.sqrt()), "{mean:?}");
    }

    #[test]
    fn a_row_s_start_depends_on_its_id_and_the_seed_alone() {
        let (all, some) = (Factors::random(&[5, 7, 9], 8, 1), Factors::random(&[7], 8, 1));
        assert_eq!(all.row(1), some.row(0));
        assert_ne!(all.row(0), all.row(1));
        assert_ne!(Factors::random(&[7], 8, 2).row(0), some.row(0));
    }

    #[test]
    fn vectors_are_kept_apart() {
        let mut factors = Factors::zeros(3, 5);
        factors.set_row(1, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(factors.row(0), [0.0; 5]);
        assert_eq!(factors.row(1), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(factors.row(2), [0.0; 5]);
        assert_eq!(factors.blocks_per_vector(), 2);
    }
}
