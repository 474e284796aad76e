//! A rank's part of a level's points, with one ghost on each side.

use std::ops::Range;

/// Points in rows along x, rows in planes along y, planes along z.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    /// Points along x, y and z, both ghosts included.
    pub(super) extents: [usize; 3],
    pub(super) points: Vec<f64>,
}

/// A box of points: its range along each axis.
pub(super) type Region = [Range<usize>; 3];

impl Grid {
    pub(super) fn zeros(extents: [usize; 3]) -> Self {
        Grid { extents, points: vec![0.0; extents.iter().product()] }
    }

    /// The row at these y and z.
    #[inline(always)]
    pub(super) fn row(&self, y: usize, z: usize) -> &[f64] {
        let [nx, ny, _] = self.extents;
        &self.points[(z * ny + y) * nx..][..nx]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, y: usize, z: usize) -> &mut [f64] {
        let [nx, ny, _] = self.extents;
        &mut self.points[(z * ny + y) * nx..][..nx]
    }

    /// The points that are no ghosts.
    pub(super) fn inner(&self) -> Region {
        self.extents.map(|extent| 1..extent - 1)
    }

    /// Takes the points of a region, row by row.
    pub(super) fn gather(&self, [x, y, z]: Region, into: &mut Vec<f64>) {
        into.clear();
        for z in z {
            for y in y.clone() {
                match x.len() {
                    1 => into.push(self.row(y, z)[x.start]),
                    _ => into.extend_from_slice(&self.row(y, z)[x.clone()]),
                }
            }
        }
    }

    /// Puts points into a region, row by row.
    pub(super) fn scatter(&mut self, [x, y, z]: Region, from: &[f64]) {
        let mut rows = from.chunks_exact(x.len());
        for z in z {
            for y in y.clone() {
                let Some(row) = rows.next() else { return };
                match row {
                    [point] => self.row_mut(y, z)[x.start] = *point,
                    _ => self.row_mut(y, z)[x.clone()].copy_from_slice(row),
                }
            }
        }
    }
}
