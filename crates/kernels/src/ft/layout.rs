//! How the points are divided among ranks (NAS-95-020): in slabs of planes of z, and where there are
//! more ranks than planes, in pencils along x, a grid of ranks over y and z.

use std::ops::Range;

use crosstalk_core::Fault;

/// A rank's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Points along x, y and z.
    pub(super) points: [usize; 3],
    /// Ranks that share x or y with each other, and those that share z.
    pub(super) ranks: [usize; 2],
    /// This rank's number among either.
    pub(super) own: [usize; 2],
}

impl Layout {
    /// The part of a rank.
    ///
    /// # Errors
    /// A usage fault if there are more ranks than that divides among.
    pub(super) fn new(points: [usize; 3], rank: usize, ranks: usize) -> Result<Self, Fault> {
        let [nx, ny, nz] = points;
        let across = if ranks <= nz { 1 } else { nz };
        let deep = ranks / across;
        let most = ny.min(nz);
        if deep > most || across > nx.min(ny) {
            return Err(Fault::usage(format!(
                "`ft` of this class runs on up to {} ranks, found {ranks}",
                nz * most
            ))
            .of_parameter("class")
            .remedy("use a larger class"));
        }
        Ok(Layout { points, ranks: [across, deep], own: [rank / deep, rank % deep] })
    }

    /// Whether each rank has whole planes of z.
    pub(super) fn has_slabs(&self) -> bool {
        self.ranks[0] == 1
    }

    /// Complex numbers of a rank.
    pub(super) fn size(&self) -> usize {
        self.points.iter().product::<usize>() / (self.ranks[0] * self.ranks[1])
    }

    /// This rank's share of an axis of so many points, of the ranks that share x or y (0), or z (1).
    pub(super) fn share(&self, points: usize, group: usize) -> Range<usize> {
        let each = points / self.ranks[group];
        self.own[group] * each..(self.own[group] + 1) * each
    }

    /// Where it lies before the transforms: x is whole.
    pub(super) fn in_space(&self) -> [Range<usize>; 3] {
        let [nx, ny, nz] = self.points;
        [0..nx, self.share(ny, 0), self.share(nz, 1)]
    }

    /// Where it lies after them: z is whole.
    pub(super) fn in_spectrum(&self) -> [Range<usize>; 3] {
        let [nx, ny, nz] = self.points;
        [self.share(nx, 0), self.share(ny, 1), 0..nz]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rank: usize, ranks: usize) -> Layout {
        Layout::new([128, 128, 32], rank, ranks).expect("divides")
    }

    #[test]
    fn there_are_slabs_for_each_plane_and_then_pencils() {
        assert_eq!((layout(1, 32).ranks, layout(1, 32).in_space()), ([1, 32], [0..128, 0..128, 1..2]));
        assert_eq!((layout(3, 64).ranks, layout(3, 64).own), ([32, 2], [1, 1]));
        assert_eq!(layout(3, 64).in_space(), [0..128, 4..8, 16..32]);
        assert_eq!(layout(3, 64).in_spectrum(), [4..8, 64..128, 0..32]);
        assert!(Layout::new([128, 128, 32], 0, 2048).is_err());
    }

    #[test]
    fn parts_have_all_points() {
        for ranks in [1, 4, 32, 64, 1024] {
            for rank in 0..ranks {
                let layout = layout(rank, ranks);
                for ranges in [layout.in_space(), layout.in_spectrum()] {
                    assert_eq!(ranges.iter().map(ExactSizeIterator::len).product::<usize>(), layout.size());
                }
            }
        }
    }
}
