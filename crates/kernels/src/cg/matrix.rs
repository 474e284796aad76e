//! A sparse matrix, by rows, and its product with a vector.
//!
//! Columns are in blocks of 2^16. Within one, an index takes two bytes instead of four, which matters because the product
//! is limited by memory; it needs no check, as a block has no other elements; and that part of the vector fits into a
//! second-level cache.

/// Columns in a block.
pub(super) const BLOCK: usize = 1 << 16;
/// Elements that are multiplied side by side.
const LANES: usize = 8;

/// A matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    blocks: Vec<Block>,
}

/// All rows of a block of columns. Each row has whole groups of elements: the last ones may be zeros.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    /// The group with which each row begins, and the last one ends.
    begins: Vec<u32>,
    columns: Vec<[u16; LANES]>,
    values: Vec<[f64; LANES]>,
}

impl Matrix {
    /// A matrix without rows, of that many columns.
    pub(super) fn new(columns: usize) -> Self {
        let block = Block { begins: vec![0], columns: Vec::new(), values: Vec::new() };
        Matrix { blocks: vec![block; columns.div_ceil(BLOCK)] }
    }

    /// Adds a row of these columns and values, in the order of columns.
    pub(super) fn push_row(&mut self, elements: &[(usize, f64)]) {
        let mut rest = elements;
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let end = rest.partition_point(|(column, _)| column / BLOCK == number);
            let (own, others) = rest.split_at(end);
            block.push_row(own);
            rest = others;
        }
    }

    /// Gives memory back that a longer matrix would need.
    pub(super) fn shrink(&mut self) {
        for block in &mut self.blocks {
            block.columns.shrink_to_fit();
            block.values.shrink_to_fit();
        }
    }

    /// How many elements are not zero.
    #[cfg(test)]
    pub(super) fn nonzeros(&self) -> usize {
        let values = self.blocks.iter().flat_map(|block| block.values.as_flattened());
        values.filter(|value| **value != 0.0).count()
    }

    /// Zeros for a vector that the matrix multiplies: it has whole blocks.
    pub(super) fn vector(&self) -> Vec<f64> {
        vec![0.0; self.blocks.len() * BLOCK]
    }

    /// Writes its product with `vector`, of [`Matrix::vector`], to `product`, which has as many elements as there are
    /// rows.
    pub(super) fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        for (number, (block, vector)) in self.blocks.iter().zip(vector.as_chunks().0).enumerate() {
            match number {
                0 => block.multiply(vector, product, |sum, product| *product = sum),
                _ => block.multiply(vector, product, |sum, product| *product += sum),
            }
        }
    }
}

impl Block {
    fn push_row(&mut self, elements: &[(usize, f64)]) {
        for group in elements.chunks(LANES) {
            let (mut columns, mut values) = ([0; LANES], [0.0; LANES]);
            for (lane, (column, value)) in group.iter().enumerate() {
                (columns[lane], values[lane]) = ((column % BLOCK) as u16, *value);
            }
            self.columns.push(columns);
            self.values.push(values);
        }
        self.begins.push(self.values.len() as u32);
    }

    #[inline(always)]
    fn multiply(&self, vector: &[f64; BLOCK], product: &mut [f64], store: impl Fn(f64, &mut f64)) {
        for (bounds, product) in self.begins.array_windows().zip(product) {
            let [begin, end] = bounds.map(|bound| bound as usize);
            store(multiply_row(&self.values[begin..end], &self.columns[begin..end], vector), product);
        }
    }
}

/// The product of a row and a vector.
#[inline(always)]
fn multiply_row(values: &[[f64; LANES]], columns: &[[u16; LANES]], vector: &[f64; BLOCK]) -> f64 {
    let mut sums = [0.0; LANES];
    for (values, columns) in values.iter().zip(columns) {
        for lane in 0..LANES {
            sums[lane] += values[lane] * vector[columns[lane] as usize];
        }
    }
    super::vector::add_up(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_with_a_vector_of_ones_is_the_sums_of_rows() {
        let mut matrix = Matrix::new(100);
        for row in 0..10 {
            let elements: Vec<(usize, f64)> = (0..7 * row).map(|column| (column, column as f64)).collect();
            matrix.push_row(&elements);
        }
        let mut product = vec![f64::NAN; 10];
        let mut ones = matrix.vector();
        ones[..100].fill(1.0);
        matrix.multiply(&ones, &mut product);
        let sums: Vec<f64> = (0..10).map(|row| (0..7 * row).sum::<usize>() as f64).collect();
        assert_eq!(product, sums);
    }

    #[test]
    fn columns_of_several_blocks_meet_in_a_product() {
        let columns = 2 * BLOCK + 5;
        let mut matrix = Matrix::new(columns);
        for row in 0..3 {
            matrix.push_row(&[(row, 1.0), (BLOCK + row, 10.0), (2 * BLOCK + row, 100.0)]);
        }
        let mut vector = matrix.vector();
        (0..3).for_each(|row| vector[row] = row as f64);
        vector[BLOCK..BLOCK + 3].fill(3.0);
        vector[2 * BLOCK + 1] = 5.0;
        let mut product = vec![f64::NAN; 3];
        matrix.multiply(&vector, &mut product);
        assert_eq!(product, [30.0, 531.0, 32.0]);
        assert_eq!(matrix.nonzeros(), 9);
    }
}
