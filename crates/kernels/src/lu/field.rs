//! Five values at each point of a pencil and its halo. The values of a row, all points of one η and ζ, are five lines, one
//! behind the other, so that loops along ξ read consecutive numbers.

use std::ops::Range;

use super::pencil::{HALO, Pencil};
use crate::flow::VALUES;

/// The values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    values: Vec<f64>,
    /// Points of a line.
    length: usize,
    /// Rows of a plane.
    rows: usize,
}

impl Field {
    /// All zero, on as many planes as the pencil has.
    pub(super) fn new(pencil: &Pencil) -> Self {
        Field::with_planes(pencil, pencil.points)
    }

    /// All zero, on this number of planes.
    pub(super) fn with_planes(pencil: &Pencil, planes: usize) -> Self {
        let [length, rows] = pencil.extent.map(|extent| extent + 2 * HALO);
        Field { values: vec![0.0; VALUES * length * rows * planes], length, rows }
    }

    /// Where a line begins.
    fn begin(&self, value: usize, row: usize, plane: usize) -> usize {
        ((plane * self.rows + row) * VALUES + value) * self.length
    }

    /// One value along a row.
    pub(super) fn line(&self, value: usize, row: usize, plane: usize) -> &[f64] {
        let begin = self.begin(value, row, plane);
        &self.values[begin..begin + self.length]
    }

    /// The same, to change it.
    pub(super) fn line_mut(&mut self, value: usize, row: usize, plane: usize) -> &mut [f64] {
        let begin = self.begin(value, row, plane);
        &mut self.values[begin..begin + self.length]
    }

    /// All values along a row, to change them.
    pub(super) fn lines_mut(&mut self, row: usize, plane: usize) -> [&mut [f64]; VALUES] {
        let begin = self.begin(0, row, plane);
        let mut rest = &mut self.values[begin..begin + VALUES * self.length];
        std::array::from_fn(|_| {
            let (line, after) = std::mem::take(&mut rest).split_at_mut(self.length);
            rest = after;
            line
        })
    }

    /// The number of planes.
    pub(super) fn planes(&self) -> usize {
        self.values.len() / (VALUES * self.length * self.rows)
    }

    /// The values of a point: its local indices in ξ and η, and its plane.
    pub(super) fn point(&self, [i, j, k]: [usize; 3]) -> [f64; VALUES] {
        std::array::from_fn(|value| self.line(value, j, k)[i])
    }

    /// Sets the values of a point.
    pub(super) fn set(&mut self, [i, j, k]: [usize; 3], point: [f64; VALUES]) {
        for (value, number) in point.into_iter().enumerate() {
            self.line_mut(value, j, k)[i] = number;
        }
    }

    /// Adds the values of a patch in ξ and η, of one plane, to a message.
    pub(super) fn pack(&self, patch: &[Range<usize>; 2], plane: usize, message: &mut Vec<f64>) {
        for row in patch[1].clone() {
            for value in 0..VALUES {
                message.extend_from_slice(&self.line(value, row, plane)[patch[0].clone()]);
            }
        }
    }

    /// Takes the values of a patch out of a message that is as long.
    pub(super) fn unpack(&mut self, patch: &[Range<usize>; 2], plane: usize, message: &[f64]) {
        let mut lines = message.chunks_exact(patch[0].len());
        for row in patch[1].clone() {
            for value in 0..VALUES {
                let Some(line) = lines.next() else { return };
                self.line_mut(value, row, plane)[patch[0].clone()].copy_from_slice(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_goes_into_a_message_and_out_of_it() {
        let pencil = Pencil::new(6, 0, 1).expect("fits");
        let mut field = Field::new(&pencil);
        let values = |i: usize, j: usize| std::array::from_fn(|value| (100 * value + 10 * i + j) as f64);
        for (i, j) in [(2, 3), (3, 3), (2, 4), (3, 4)] {
            field.set([i, j, 5], values(i, j));
        }
        let mut message = Vec::new();
        field.pack(&[2..4, 3..5], 5, &mut message);
        assert_eq!((message.len(), &message[..4]), (20, &[23.0, 33.0, 123.0, 133.0][..]));
        field.unpack(&[6..8, 0..2], 1, &message);
        assert_eq!(field.point([7, 1, 1]), values(3, 4));
    }
}
