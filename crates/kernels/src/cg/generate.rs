//! The matrix (RNR-94-007, section 2.2.3): a sum of outer products of sparse random vectors, weighted so that its condition
//! is about 10, plus a multiple of the identity.
//!
//! The reports collect the elements of all products and then sort them by row. Here each row is made at once from those
//! vectors that have an element there, in the same order, so that sums round alike; and the elements need no memory before
//! they are added up.

use std::ops::Range;

use super::grid::Grid;
use super::matrix::Matrix;
use crate::random::Random;

const SEED: u64 = 314_159_265;
/// The smallest weight, and the smallest eigenvalue, about.
const CONDITION: f64 = 0.1;
/// The element that vector i has at i.
const ON_DIAGONAL: f64 = 0.5;

/// An element of a sparse vector.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Element {
    index: u32,
    value: f64,
}

/// Sparse vectors, one for each row of the matrix.
struct Vectors {
    elements: Vec<Element>,
    /// Where each begins, and the last one ends.
    begins: Vec<usize>,
}

impl Vectors {
    /// Random ones of this length, with about `nonzeros` elements each.
    fn random(length: usize, nonzeros: usize) -> Self {
        let mut random = Random::new(SEED);
        // The reference draws a number and drops it.
        random.skip(1);
        let mut elements = Vec::with_capacity(length * (nonzeros + 1));
        let mut begins = vec![0];
        for number in 0..length {
            let begin = elements.len();
            while elements.len() < begin + nonzeros {
                let element = draw(&mut random, length);
                if let Some(element) = element.filter(|new| find(&elements[begin..], new.index).is_none()) {
                    elements.push(element);
                }
            }
            match find(&elements[begin..], number as u32) {
                Some(found) => elements[begin + found].value = ON_DIAGONAL,
                None => elements.push(Element { index: number as u32, value: ON_DIAGONAL }),
            }
            begins.push(elements.len());
        }
        Vectors { elements, begins }
    }

    fn vector(&self, number: usize) -> &[Element] {
        &self.elements[self.begins[number]..self.begins[number + 1]]
    }

    /// For each of these indices, the vectors that have an element there, with its value, in order.
    fn by_index(&self, indices: Range<usize>) -> Vec<Vec<(usize, f64)>> {
        let mut all = vec![Vec::new(); indices.len()];
        for number in 0..self.begins.len() - 1 {
            for element in self.vector(number) {
                let index = element.index as usize;
                if indices.contains(&index) {
                    all[index - indices.start].push((number, element.value));
                }
            }
        }
        all
    }
}

/// A random element, unless its index is beyond the length.
fn draw(random: &mut Random, length: usize) -> Option<Element> {
    let (value, position) = (random.next(), random.next());
    let index = (length.next_power_of_two() as f64 * position) as u32;
    ((index as usize) < length).then_some(Element { index, value })
}

/// Where the element with this index is.
fn find(elements: &[Element], index: u32) -> Option<usize> {
    elements.iter().position(|element| element.index == index)
}

/// A rank's part of the matrix of this order. `nonzeros` is how many elements a random vector has, and `shift` what is
/// subtracted on the diagonal.
pub(super) fn make_matrix(order: usize, nonzeros: usize, shift: f64, grid: &Grid) -> Matrix {
    let vectors = Vectors::random(order, nonzeros);
    let weights = weights(order);
    let columns = &grid.columns;
    let mut matrix = Matrix::new(columns.len());
    let mut row_sums = RowSums::new(columns.len());
    for (row, parts) in grid.rows.clone().zip(vectors.by_index(grid.rows.clone())) {
        for (number, value) in parts {
            for element in vectors.vector(number) {
                let column = element.index as usize;
                if columns.contains(&column) {
                    row_sums.add(column - columns.start, value * (weights[number] * element.value));
                }
            }
        }
        if columns.contains(&row) {
            row_sums.add(row - columns.start, CONDITION - shift);
        }
        matrix.push_row(row_sums.take());
    }
    matrix.shrink();
    matrix
}

/// Weights of the products: a geometric sequence from 1 to the smallest.
fn weights(count: usize) -> Vec<f64> {
    let ratio = CONDITION.powf(1.0 / count as f64);
    std::iter::successors(Some(1.0), |weight| Some(weight * ratio)).take(count).collect()
}

/// The elements of one row while they are added up.
struct RowSums {
    sums: Vec<f64>,
    present: Vec<bool>,
    columns: Vec<usize>,
    /// The row that was ended last.
    row: Vec<(usize, f64)>,
}

impl RowSums {
    fn new(length: usize) -> Self {
        RowSums {
            sums: vec![0.0; length],
            present: vec![false; length],
            columns: Vec::new(),
            row: Vec::new(),
        }
    }

    fn add(&mut self, column: usize, value: f64) {
        if !self.present[column] {
            self.present[column] = true;
            self.columns.push(column);
        }
        self.sums[column] += value;
    }

    /// Ends the row: what is not zero, in the order of columns.
    fn take(&mut self) -> &[(usize, f64)] {
        self.columns.sort_unstable();
        self.row.clear();
        for column in self.columns.drain(..) {
            self.present[column] = false;
            let value = std::mem::take(&mut self.sums[column]);
            if value != 0.0 {
                self.row.push((column, value));
            }
        }
        &self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of a product with unit vectors are those of the matrix.
    fn dense(order: usize, grid: &Grid) -> Vec<Vec<f64>> {
        let matrix = make_matrix(order, 3, 10.0, grid);
        let unit = |column| {
            let mut unit = matrix.vector();
            unit[column] = 1.0;
            let mut product = vec![f64::NAN; grid.rows.len()];
            matrix.multiply(&unit, &mut product);
            product
        };
        (0..grid.columns.len()).map(unit).collect()
    }

    #[test]
    fn the_matrix_is_symmetric_with_the_shift_on_its_diagonal() {
        let columns = dense(50, &Grid::new(50, 0, 1));
        for (i, column) in columns.iter().enumerate() {
            assert!(column.iter().enumerate().all(|(j, value)| (value - columns[j][i]).abs() < 1e-15));
            // Its own vector adds a quarter, times a weight from 0.1 to 1.
            assert!((-9.9 + 0.025..0.0).contains(&column[i]), "{}", column[i]);
        }
    }

    #[test]
    fn parts_are_those_of_the_whole_bit_by_bit() {
        let whole = dense(50, &Grid::new(50, 0, 1));
        for id in 0..8 {
            let grid = Grid::new(50, id, 8);
            for (column, part) in grid.columns.clone().zip(dense(50, &grid)) {
                assert_eq!(part, whole[column][grid.rows.clone()]);
            }
        }
    }

    #[test]
    fn vectors_have_their_elements_once_and_a_half_at_their_own_index() {
        let vectors = Vectors::random(100, 7);
        for number in 0..100 {
            let vector = vectors.vector(number);
            assert!((7..=8).contains(&vector.len()));
            let own = find(vector, number as u32).expect("is there");
            assert_eq!(vector[own].value, 0.5);
            assert!((0..vector.len()).all(|at| find(vector, vector[at].index) == Some(at)));
        }
    }

    #[test]
    fn class_s_has_as_many_elements_as_the_reference() {
        assert_eq!(make_matrix(1400, 7, 10.0, &Grid::new(1400, 0, 1)).nonzeros(), 78_148);
    }
}
