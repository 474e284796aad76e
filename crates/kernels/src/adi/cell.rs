//! A cell of points: one of a rank's parts of the cube.

use std::ops::Range;

use super::field::{Field, GHOSTS, PACK, Pack, pack};
use super::partition::Partition;
use crate::flow::VALUES;
use crate::flow::differences::{dissipation, spreading};
use crate::flow::exact::{exact_at, initial_at};
use crate::share::share;

/// Quantities that follow from a point's values, in [`Cell::derived`].
pub(crate) const DERIVED: usize = 6;
/// One over the density. The three velocities follow.
pub(crate) const VOLUME: usize = 0;
/// The kinetic energy per mass.
pub(crate) const KINETIC: usize = 4;
/// The speed of sound.
pub(crate) const SOUND: usize = 5;

/// The flow where a cell has no points: at rest, so that nothing that is computed of it is no number.
const AT_REST: [f64; VALUES] = [1.0, 0.0, 0.0, 0.0, 1.0];

/// A cell. Coordinates of its points begin at [`GHOSTS`].
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// Points of a line through the whole cube.
    pub(crate) points: usize,
    /// Points in each direction.
    pub(crate) size: [usize; 3],
    /// The number of its first point in each direction, in the cube.
    pub(crate) low: [usize; 3],
    /// Coordinates of the points that are not on the boundary of the cube.
    pub(crate) interior: [Range<usize>; 3],
    /// The flow: density, momentum, energy.
    pub(crate) flow: Field<VALUES>,
    /// What follows from it.
    pub(crate) derived: Field<DERIVED>,
    /// What changes; after sweeps, by how much.
    pub(crate) change: Field<VALUES>,
    /// The force that keeps the exact solution in balance.
    pub(crate) force: Field<VALUES>,
    /// The share of the fourth difference that is subtracted, in each direction.
    pub(crate) smoothing: [Weights; 3],
    /// The same subtracted from the added diffusion.
    pub(crate) spreading: [Weights; 3],
}

impl Cell {
    /// The cells of a rank, of a cube of `points`³.
    pub(crate) fn all(partition: &Partition, points: usize) -> Vec<Self> {
        partition.cells.iter().map(|layers| Cell::new(points, partition.layers, *layers)).collect()
    }

    fn new(points: usize, layers: usize, layer: [usize; 3]) -> Self {
        let own = layer.map(|layer| share(points, layers, layer));
        let (low, size) = (own.each_ref().map(|own| own.start), own.map(|own| own.len()));
        let interior = [0, 1, 2].map(|d| {
            let (first, last) = (layer[d] == 0, layer[d] + 1 == layers);
            GHOSTS + usize::from(first)..GHOSTS + size[d] - usize::from(last)
        });
        Cell {
            points,
            size,
            low,
            interior,
            flow: Field::new(size, AT_REST),
            derived: Field::new(size, [0.0; DERIVED]),
            change: Field::new(size, [0.0; VALUES]),
            force: Field::new(size, [0.0; VALUES]),
            smoothing: [0, 1, 2].map(|d| Weights::new(size[d], low[d], |point| dissipation(point, points))),
            spreading: [0, 1, 2].map(|d| Weights::new(size[d], low[d], |point| spreading(point, points, d))),
        }
    }

    /// Where a point is in the cube: the number in each direction.
    fn number(&self, point: [usize; 3]) -> [usize; 3] {
        [0, 1, 2].map(|d| self.low[d] + point[d] - GHOSTS)
    }

    /// The exact solution at a point.
    fn exact(&self, point: [usize; 3]) -> [f64; VALUES] {
        exact_at(self.number(point), self.points)
    }

    /// Sets all that is within the cube, neighbours' points included, to the exact solution.
    pub(crate) fn set_exact(&mut self) {
        let within = [0, 1, 2].map(|d| {
            let (low, end) = (self.low[d], self.low[d] + self.size[d]);
            GHOSTS - low.min(GHOSTS)..GHOSTS + self.size[d] + (self.points - end).min(GHOSTS)
        });
        let [across, rows, layers] = within;
        for point in points(&[across, rows, layers]) {
            self.flow.set(point, self.exact(point));
        }
    }

    /// Sets its points to the initial state. Others' points are at rest.
    pub(crate) fn set_first(&mut self) {
        self.flow = Field::new(self.size, AT_REST);
        for point in points(&self.own()) {
            self.flow.set(point, initial_at(self.number(point), self.points));
        }
    }

    /// Coordinates of all its own points.
    pub(crate) fn own(&self) -> [Range<usize>; 3] {
        self.size.map(|size| GHOSTS..GHOSTS + size)
    }

    /// Adds the squares of how far its points are from the exact solution.
    pub(crate) fn add_errors(&self, sums: &mut [f64; VALUES]) {
        for point in points(&self.own()) {
            let (found, exact) = (self.flow.at(point), self.exact(point));
            for (sum, (found, exact)) in sums.iter_mut().zip(found.iter().zip(exact)) {
                *sum += (found - exact).powi(2);
            }
        }
    }

    /// Adds the squares of what changes.
    pub(crate) fn add_changes(&self, sums: &mut [f64; VALUES]) {
        for point in points(&self.interior) {
            for (sum, change) in sums.iter_mut().zip(self.change.at(point)) {
                *sum += change.powi(2);
            }
        }
    }
}

/// All points of a box, row by row.
pub(crate) fn points(of: &[Range<usize>; 3]) -> impl Iterator<Item = [usize; 3]> + use<> {
    let [across, rows, layers] = of.clone();
    layers.flat_map(move |k| {
        let across = across.clone();
        rows.clone().flat_map(move |j| across.clone().map(move |i| [i, j, k]))
    })
}

/// For each point of a line through a cell, weights of its neighbours.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// For each neighbour, those of all points.
    of: [Vec<f64>; 5],
}

impl Weights {
    /// Of a cell that begins at number `low` of lines, by what the weights of such a point are.
    fn new(size: usize, low: usize, weights: impl Fn(usize) -> [f64; 5]) -> Self {
        let length = size + 2 * GHOSTS + PACK;
        let of = |neighbour: usize| {
            let number = |coordinate: usize| (low + coordinate).saturating_sub(GHOSTS);
            (0..length).map(|coordinate| weights(number(coordinate))[neighbour]).collect()
        };
        Weights { of: [of(0), of(1), of(2), of(3), of(4)] }
    }

    /// Those of a point.
    #[inline(always)]
    pub(crate) fn at(&self, coordinate: usize) -> [f64; 5] {
        let [a, b, c, d, e] = &self.of;
        [a[coordinate], b[coordinate], c[coordinate], d[coordinate], e[coordinate]]
    }

    /// Those of a pack of points that begins there.
    #[inline(always)]
    pub(crate) fn along(&self, coordinate: usize) -> [Pack; 5] {
        let [a, b, c, d, e] = &self.of;
        let of = |weights: &[f64]| *pack(weights, coordinate);
        [of(a), of(b), of(c), of(d), of(e)]
    }

    /// Those of a pack of points, all with this coordinate.
    pub(crate) fn across(&self, coordinate: usize) -> [Pack; 5] {
        self.at(coordinate).map(|weight| [weight; PACK])
    }
}
