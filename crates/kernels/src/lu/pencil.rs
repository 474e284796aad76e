//! How the cube is divided among ranks: into pencils along ζ, on a grid of ranks in ξ and η (NAS-95-020, section on LU).
//! Ranks are numbered along ξ first. North and south are the neighbours in ξ, west and east those in η.

use crosstalk_core::Fault;
use std::ops::Range;

use crate::share::share;

/// Layers of a neighbour's points that a rank holds, for differences of the fourth order.
pub(super) const HALO: usize = 2;
/// Fewest points of a pencil across, as the reference requires.
const THINNEST: usize = 3;

/// A rank's pencil. Local indices count its halo, too: its own points begin at [`HALO`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pencil {
    /// Points of the cube in each direction.
    pub(super) points: usize,
    /// Points of its own in ξ and η.
    pub(super) extent: [usize; 2],
    /// The cube's indices of its first own point in ξ and η.
    pub(super) first: [usize; 2],
    /// The neighbour at lower ξ.
    pub(super) north: Option<usize>,
    /// The neighbour at higher ξ.
    pub(super) south: Option<usize>,
    /// The neighbour at lower η.
    pub(super) west: Option<usize>,
    /// The neighbour at higher η.
    pub(super) east: Option<usize>,
}

impl Pencil {
    /// The pencil of rank `id` of `size`, a power of two, in a cube of so many points in each direction.
    ///
    /// # Errors
    /// A usage fault if there are too many ranks for the cube.
    pub(super) fn new(points: usize, id: usize, size: usize) -> Result<Self, Fault> {
        let ranks = ranks_across(size);
        if ranks.iter().any(|ranks| points / ranks < THINNEST) {
            return Err(Fault::usage(format!(
                "`lu` needs {THINNEST} points of each rank in each direction, found {points} on {} × {} ranks",
                ranks[0], ranks[1]
            ))
            .of_parameter("nodes")
            .remedy("run on fewer nodes, or a larger class"));
        }
        let at = [id % ranks[0], id / ranks[0]];
        let (xi, eta) = (share(points, ranks[0], at[0]), share(points, ranks[1], at[1]));
        Ok(Pencil {
            points,
            extent: [xi.len(), eta.len()],
            first: [xi.start, eta.start],
            north: (at[0] > 0).then(|| id - 1),
            south: (at[0] + 1 < ranks[0]).then_some(id + 1),
            west: (at[1] > 0).then(|| id - ranks[0]),
            east: (at[1] + 1 < ranks[1]).then_some(id + ranks[0]),
        })
    }

    /// Its own points, in ξ and η.
    pub(super) fn own(&self) -> [Range<usize>; 2] {
        self.extent.map(|extent| HALO..HALO + extent)
    }

    /// Its own points within the cube, without those on the cube's surface, in ξ and η.
    pub(super) fn inner(&self) -> [Range<usize>; 2] {
        let [xi, eta] = self.own();
        let within = |own: Range<usize>, before: Option<usize>, after: Option<usize>| {
            own.start + usize::from(before.is_none())..own.end - usize::from(after.is_none())
        };
        [within(xi, self.north, self.south), within(eta, self.west, self.east)]
    }

    /// Planes of ζ within the cube.
    pub(super) fn planes(&self) -> Range<usize> {
        1..self.points - 1
    }

    /// The cube's index of a local one; `None` outside of the cube.
    pub(super) fn global(&self, axis: usize, local: usize) -> Option<usize> {
        (self.first[axis] + local).checked_sub(HALO).filter(|global| *global < self.points)
    }
}

/// Ranks in ξ and in η: as many, or twice as many in ξ.
fn ranks_across(size: usize) -> [usize; 2] {
    let eta = 1 << (size.trailing_zeros() / 2);
    [size / eta, eta]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_of_ranks_are_square_or_twice_as_long() {
        let grids = [1, 2, 4, 8, 16, 32].map(ranks_across);
        assert_eq!(grids, [[1, 1], [2, 1], [2, 2], [4, 2], [4, 4], [8, 4]]);
    }

    #[test]
    fn pencils_cover_the_cube_once_and_neighbours_touch() {
        for (points, size) in [(12, 8), (33, 4), (33, 32), (64, 16)] {
            let pencils: Vec<Pencil> =
                (0..size).map(|id| Pencil::new(points, id, size).expect("fits")).collect();
            let area: usize = pencils.iter().map(|pencil| pencil.extent[0] * pencil.extent[1]).sum();
            assert_eq!(area, points * points);
            for (id, pencil) in pencils.iter().enumerate() {
                if let Some(south) = pencil.south {
                    assert_eq!(pencils[south].first[0], pencil.first[0] + pencil.extent[0]);
                    assert_eq!(pencils[south].north, Some(id));
                }
                if let Some(east) = pencil.east {
                    assert_eq!(pencils[east].first[1], pencil.first[1] + pencil.extent[1]);
                    assert_eq!(pencils[east].west, Some(id));
                }
            }
        }
    }

    #[test]
    fn pencils_that_are_too_thin_are_refused() {
        let refused = Pencil::new(12, 0, 32).expect_err("is refused").to_string();
        assert!(refused.contains("8 × 4 ranks"), "{refused}");
    }
}
