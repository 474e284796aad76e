//! Packs of lines across a cell, in any direction.

use super::cell::Cell;
use super::field::{Field, PACK, Pack, pack, pack_mut};

/// Some neighbouring lines that are solved at once: along the second direction if they run in the first, else along the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The direction in which they run.
    pub(crate) direction: usize,
    /// The third coordinate, of whichever direction that is.
    pub(crate) outer: usize,
    /// The coordinate of the first line.
    pub(crate) inner: usize,
    /// How many there are: a pack, except for the last ones.
    pub(crate) count: usize,
}

/// The directions along which lines are neighbours, and the other one.
pub(crate) fn across(direction: usize) -> (usize, usize) {
    [(1, 2), (0, 2), (0, 1)][direction]
}

/// All lines of a cell's interior in a direction, in packs.
pub(crate) fn packs_of_lines(cell: &Cell, direction: usize) -> impl Iterator<Item = Lines> + use<> {
    let (inner, outer) = across(direction);
    let (inner, outer) = (cell.interior[inner].clone(), cell.interior[outer].clone());
    outer.flat_map(move |outer| {
        let end = inner.end;
        inner.clone().step_by(PACK).map(move |inner| Lines {
            direction,
            outer,
            inner,
            count: PACK.min(end - inner),
        })
    })
}

impl Lines {
    /// Second and third coordinates of the row with the points at `along`, of lines that are no rows.
    #[inline(always)]
    pub(crate) fn row(&self, along: usize) -> (usize, usize) {
        if self.direction == 1 { (along, self.outer) } else { (self.outer, along) }
    }

    /// The lines' points from coordinate `first` on: for each, these `values` of the field.
    #[inline(always)]
    pub(crate) fn gather<const M: usize, const V: usize, const N: usize>(
        &self,
        field: &Field<M>,
        first: usize,
        values: [usize; N],
        into: &mut [[Pack; V]],
    ) {
        let width = field.width();
        if self.direction == 0 {
            for lane in 0..PACK {
                // Lines beyond the last are computed, but not kept.
                let row = field.row((self.inner + lane).min(field.height() - 1), self.outer);
                for (slot, value) in values.into_iter().enumerate() {
                    let line = &row[value * width + first..];
                    for (point, number) in into.iter_mut().zip(line) {
                        point[slot][lane] = *number;
                    }
                }
            }
            return;
        }
        for (along, point) in into.iter_mut().enumerate() {
            let (j, k) = self.row(first + along);
            let row = field.row(j, k);
            for (slot, value) in values.into_iter().enumerate() {
                point[slot] = *pack(row, value * width + self.inner);
            }
        }
    }

    /// Stores what [`Lines::gather`] has read, changed.
    #[inline(always)]
    pub(crate) fn scatter<const M: usize, const V: usize, const N: usize>(
        &self,
        field: &mut Field<M>,
        first: usize,
        values: [usize; N],
        from: &[[Pack; V]],
    ) {
        let width = field.width();
        if self.direction == 0 {
            for lane in 0..self.count {
                let row = field.row_mut(self.inner + lane, self.outer);
                for (slot, value) in values.into_iter().enumerate() {
                    let line = &mut row[value * width + first..];
                    for (point, number) in from.iter().zip(line) {
                        *number = point[slot][lane];
                    }
                }
            }
            return;
        }
        for (along, point) in from.iter().enumerate() {
            let (j, k) = self.row(first + along);
            let row = field.row_mut(j, k);
            for (slot, value) in values.into_iter().enumerate() {
                let room = pack_mut(row, value * width + self.inner);
                room[..self.count].copy_from_slice(&point[slot][..self.count]);
            }
        }
    }

    /// Adds to what [`Lines::gather`] has read, in any direction but the first.
    #[inline(always)]
    pub(crate) fn add<const M: usize, const V: usize, const N: usize>(
        &self,
        field: &mut Field<M>,
        first: usize,
        values: [usize; N],
        from: &[[Pack; V]],
    ) {
        let width = field.width();
        for (along, point) in from.iter().enumerate() {
            let (j, k) = self.row(first + along);
            let row = field.row_mut(j, k);
            for (slot, value) in values.into_iter().enumerate() {
                let room = &mut pack_mut(row, value * width + self.inner)[..self.count];
                room.iter_mut().zip(&point[slot]).for_each(|(sum, number)| *sum += number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adi::cell::points;
    use crate::adi::partition::Partition;

    #[test]
    fn lines_of_each_direction_are_stored_where_they_were_read() {
        for cell in Cell::all(&Partition::new(1, 4), 13) {
            let mut field = Field::new(cell.size, [0.0; 2]);
            let value = |[i, j, k]: [usize; 3]| (i + 100 * j + 10_000 * k) as f64;
            points(&cell.own()).for_each(|point| field.set(point, [value(point), -value(point)]));
            for direction in 0..3 {
                let first = cell.interior[direction].start;
                let mut line = vec![[[0.0; PACK]; 3]; cell.interior[direction].len()];
                for lines in packs_of_lines(&cell, direction) {
                    lines.gather(&field, first, [1, 0], &mut line);
                    line.iter_mut().flatten().flatten().for_each(|number| *number *= 2.0);
                    lines.scatter(&mut field, first, [1, 0], &line);
                }
            }
            for point in points(&cell.own()) {
                let within = [0, 1, 2].iter().all(|d: &usize| cell.interior[*d].contains(&point[*d]));
                let factor = if within { 8.0 } else { 1.0 };
                assert_eq!(field.at(point), [factor * value(point), -factor * value(point)], "{point:?}");
            }
        }
    }
}
