//! Block tridiagonal systems of packs of lines.

use crate::adi::cell::Cell;
use crate::adi::coefficients::Coefficients;
use crate::adi::field::{PACK, Pack};
use crate::adi::lines::Lines;
use crate::adi::sweep::{Point, Solver};
use crate::flow::VALUES;

use super::block::{combine, jacobians, solve, subtract};

/// What the elimination leaves: a right-hand side, and a block row by row.
pub(super) const NUMBERS: usize = VALUES + VALUES * VALUES;

/// Values in the order of the blocks: those of a momentum follow the one along the line.
const ORDER: [[usize; VALUES]; 3] = [[0, 1, 2, 3, 4], [0, 2, 1, 3, 4], [0, 3, 1, 2, 4]];

/// Solves them, each with the flow of its line.
pub(super) struct Blocks {
    along: [Coefficients; 3],
    /// Lines along a side of a message: more than any cell has.
    pitch: usize,
    /// The flow along lines, with a point before and one after.
    flow: Vec<[Pack; VALUES]>,
}

impl Blocks {
    pub(super) fn new(along: [Coefficients; 3], pitch: usize) -> Self {
        Blocks { along, pitch, flow: Vec::new() }
    }
}

impl Solver<NUMBERS, 1> for Blocks {
    /// As in the reference, where all messages are as large as the largest.
    fn room(&self, _: &Cell, _: usize) -> (usize, usize) {
        (self.pitch, self.pitch)
    }

    fn eliminate(&mut self, cell: &Cell, lines: Lines, points: &mut [Point<NUMBERS>]) {
        let (first, order) = (cell.interior[lines.direction].start, ORDER[lines.direction]);
        self.flow.resize(points.len(), [[0.0; PACK]; VALUES]);
        lines.gather(&cell.flow, first - 1, order, &mut self.flow);
        let end = points.len() - 1;
        lines.gather(&cell.change, first, order, &mut points[1..end]);
        let along = self.along[lines.direction];
        for (number, flow) in self.flow.windows(3).enumerate() {
            if let ([.., before], [here, ..]) = points.split_at_mut(number + 1) {
                eliminate(&along, [&flow[0], &flow[1], &flow[2]], before, here);
            }
        }
    }

    fn substitute(&mut self, cell: &mut Cell, lines: Lines, points: &mut [Point<NUMBERS>]) {
        let end = points.len() - 1;
        for number in (1..end).rev() {
            if let ([.., here], [after, ..]) = points.split_at_mut(number + 1) {
                substitute(here, after);
            }
        }
        let (first, order) = (cell.interior[lines.direction].start, ORDER[lines.direction]);
        if lines.direction < 2 {
            lines.scatter(&mut cell.change, first, order, &points[1..end]);
        } else {
            lines.add(&mut cell.flow, first, order, &points[1..end]);
        }
    }
}

/// Eliminates the point before from the equation of this one, and solves that for this one.
#[inline(always)]
fn eliminate(
    along: &Coefficients,
    flow: [&[Pack; VALUES]; 3],
    before: &Point<NUMBERS>,
    here: &mut Point<NUMBERS>,
) {
    for l in 0..PACK {
        let [(carried, spread), (_, own), (carried_after, spread_after)] =
            flow.map(|point| jacobians(along, point.map(|value| value[l])));
        let lower = combine(&carried, &spread, |carried, spread| -carried - spread);
        let mut diagonal = own.map(|row| row.map(|number| 2.0 * number));
        (0..VALUES).for_each(|m| diagonal[m][m] += 1.0);
        let mut upper = combine(&carried_after, &spread_after, |carried, spread| carried - spread);
        let vector: [f64; VALUES] = [0, 1, 2, 3, 4].map(|m: usize| here[m][l]);
        let mut vector = subtract(&lower, [0, 1, 2, 3, 4].map(|m: usize| before[m][l]), vector);
        for n in 0..VALUES {
            let column = [0, 1, 2, 3, 4].map(|m: usize| before[at(m, n)][l]);
            let from = subtract(&lower, column, [0, 1, 2, 3, 4].map(|m: usize| diagonal[m][n]));
            (0..VALUES).for_each(|m| diagonal[m][n] = from[m]);
        }
        solve(&mut diagonal, &mut upper, &mut vector);
        for m in 0..VALUES {
            here[m][l] = vector[m];
            for n in 0..VALUES {
                here[at(m, n)][l] = upper[m][n];
            }
        }
    }
}

/// Puts the solution of the point after into the equation of this one.
#[inline(always)]
fn substitute(here: &mut Point<NUMBERS>, after: &Point<NUMBERS>) {
    for m in 0..VALUES {
        for l in 0..PACK {
            let mut sum = here[m][l];
            for n in 0..VALUES {
                sum -= here[at(m, n)][l] * after[n][l];
            }
            here[m][l] = sum;
        }
    }
}

/// Where a number of the block is.
const fn at(row: usize, column: usize) -> usize {
    VALUES + VALUES * row + column
}
