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

    /// Fills the ghosts along an axis with the points at its other end. Axes before it have theirs.
    pub(super) fn wrap(&mut self, axis: usize) {
        let [nx, ny, nz] = self.extents;
        let plane = nx * ny;
        let mut copy =
            |from: usize, to: usize, points: usize| self.points.copy_within(from..from + points, to);
        match axis {
            0 => {
                for row in self.points[plane..(nz - 1) * plane].chunks_exact_mut(nx) {
                    (row[0], row[nx - 1]) = (row[nx - 2], row[1]);
                }
            }
            1 => {
                for z in (plane..(nz - 1) * plane).step_by(plane) {
                    copy(z + (ny - 2) * nx, z, nx);
                    copy(z + nx, z + (ny - 1) * nx, nx);
                }
            }
            _ => {
                copy((nz - 2) * plane, 0, plane);
                copy(plane, (nz - 1) * plane, plane);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghosts_continue_the_points_periodically() {
        let extents = [5, 4, 6];
        let mut grid = Grid::zeros(extents);
        let value = |at: [usize; 3]| {
            let inner = [0, 1, 2].map(|axis| (at[axis] + extents[axis] - 3) % (extents[axis] - 2));
            (inner[0] + 10 * inner[1] + 100 * inner[2]) as f64
        };
        let [x, y, z] = grid.inner();
        for (z, y, x) in z
            .flat_map(|z| y.clone().map(move |y| (z, y)))
            .flat_map(|(z, y)| x.clone().map(move |x| (z, y, x)))
        {
            grid.row_mut(y, z)[x] = value([x, y, z]);
        }
        (0..3).for_each(|axis| grid.wrap(axis));
        for z in 0..extents[2] {
            for y in 0..extents[1] {
                let expected: Vec<f64> = (0..extents[0]).map(|x| value([x, y, z])).collect();
                assert_eq!(grid.row(y, z), expected);
            }
        }
    }
}
