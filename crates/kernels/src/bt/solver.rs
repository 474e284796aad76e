//! Block tridiagonal systems of packs of lines.
//!
//! Loops over lines map no arrays, so that compilers make vector instructions of them.
#![allow(clippy::needless_range_loop, reason = "lines, rows and columns of several packs are numbered alike")]

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

    #[inline(always)]
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

    #[inline(always)]
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
        let (carried, spread) = jacobians(along, lane(flow[0], l));
        let lower = combine(&carried, &spread, |carried, spread| -carried - spread);
        let (_, own) = jacobians(along, lane(flow[1], l));
        let mut diagonal = combine(&own, &own, |own, again| own + again);
        for m in 0..VALUES {
            diagonal[m][m] += 1.0;
        }
        let (carried, spread) = jacobians(along, lane(flow[2], l));
        let mut upper = combine(&carried, &spread, |carried, spread| carried - spread);
        let mut vector = [here[0][l], here[1][l], here[2][l], here[3][l], here[4][l]];
        let known = [before[0][l], before[1][l], before[2][l], before[3][l], before[4][l]];
        vector = subtract(&lower, known, vector);
        for n in 0..VALUES {
            let column = [
                before[at(0, n)][l],
                before[at(1, n)][l],
                before[at(2, n)][l],
                before[at(3, n)][l],
                before[at(4, n)][l],
            ];
            let own = [diagonal[0][n], diagonal[1][n], diagonal[2][n], diagonal[3][n], diagonal[4][n]];
            let rest = subtract(&lower, column, own);
            for m in 0..VALUES {
                diagonal[m][n] = rest[m];
            }
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

/// The values of one line's point.
#[inline(always)]
fn lane(flow: &[Pack; VALUES], line: usize) -> [f64; VALUES] {
    [flow[0][line], flow[1][line], flow[2][line], flow[3][line], flow[4][line]]
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
