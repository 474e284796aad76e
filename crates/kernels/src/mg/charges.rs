//! The right-hand side v (RNR-94-007, section 2.2, kernel MG): +1 at the points with the ten largest of the random
//! numbers, −1 at those with the ten smallest, and zero elsewhere.

use std::cmp::Ordering;

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::grid::Grid;
use super::level::{coordinates, ranks_by_axis};
use crate::random::Random;

const SEED: u64 = 314_159_265;
/// Charges of each sign.
const CHARGES: usize = 10;

/// A random number, and the index of its point among all, as a floating-point number.
type Candidate = [f64; 2];

/// The charges on a rank's part, without ghosts. All have `edge` points along each axis.
///
/// # Errors
/// If ranks are gone.
pub(super) fn charges(rank: &mut Rank, edge: usize, extents: [usize; 3]) -> Result<Grid, Fault> {
    let by_axis = ranks_by_axis(rank.size());
    let own = coordinates(rank.id(), by_axis);
    let first = [0, 1, 2].map(|axis| own[axis] * edge / by_axis[axis]);
    let mut extremes = [Extremes::new(f64::gt), Extremes::new(f64::lt)];
    draw(edge, first, extents, &mut extremes);
    let mut grid = Grid::zeros(extents);
    for (mut extremes, charge) in extremes.into_iter().zip([1.0, -1.0]) {
        let own: Vec<f64> = extremes.best.iter().flatten().copied().collect();
        for [number, index] in rank.world().allgather(&own)?.as_chunks().0 {
            extremes.offer([*number, *index]);
        }
        for [_, index] in extremes.best {
            let index = index as usize;
            let point = [index % edge, index / edge % edge, index / (edge * edge)];
            let [x, y, z] = [0, 1, 2].map(|axis| (point[axis] + 1).wrapping_sub(first[axis]));
            let is_own = [x, y, z].iter().zip(extents).all(|(at, extent)| (1..extent - 1).contains(at));
            if is_own {
                grid.row_mut(y, z)[x] = charge;
            }
        }
    }
    Ok(grid)
}

/// Draws the numbers of a rank's part, in which the sequence goes along x, then y, then z.
fn draw(edge: usize, first: [usize; 3], extents: [usize; 3], extremes: &mut [Extremes; 2]) {
    let [nx, ny, nz] = extents.map(|extent| extent - 2);
    for z in first[2]..first[2] + nz {
        for y in first[1]..first[1] + ny {
            let begin = (z * edge + y) * edge + first[0];
            let mut random = Random::new(SEED);
            random.skip(begin as u64);
            for index in begin..begin + nx {
                let number = random.next();
                extremes.iter_mut().for_each(|extremes| extremes.offer([number, index as f64]));
            }
        }
    }
}

/// The best of the numbers so far, the worst of them first.
struct Extremes {
    is_better: fn(&f64, &f64) -> bool,
    best: Vec<Candidate>,
}

impl Extremes {
    fn new(is_better: fn(&f64, &f64) -> bool) -> Self {
        Extremes { is_better, best: Vec::with_capacity(CHARGES) }
    }

    #[inline(always)]
    fn offer(&mut self, candidate: Candidate) {
        if self.best.len() == CHARGES && !(self.is_better)(&candidate[0], &self.best[0][0]) {
            return;
        }
        self.insert(candidate);
    }

    /// Numbers of different points differ: they are one period of the sequence.
    fn insert(&mut self, candidate: Candidate) {
        if self.best.contains(&candidate) {
            return;
        }
        if self.best.len() == CHARGES {
            self.best.remove(0);
        }
        self.best.push(candidate);
        let is_better = self.is_better;
        self.best.sort_by(|a, b| if is_better(&a[0], &b[0]) { Ordering::Greater } else { Ordering::Less });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_the_same_in_any_order_and_in_parts() {
        let mut random = Random::new(SEED);
        let numbers: Vec<Candidate> = (0..1000).map(|index| [random.next(), f64::from(index)]).collect();
        let best = |order: &mut dyn Iterator<Item = &Candidate>| {
            let mut extremes = Extremes::new(f64::gt);
            order.for_each(|candidate| extremes.offer(*candidate));
            extremes.best
        };
        let all = best(&mut numbers.iter());
        let mut sorted = numbers.clone();
        sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(all, sorted[990..]);
        assert_eq!(best(&mut numbers.iter().rev().chain(&all)), all);
    }
}
