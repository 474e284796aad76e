//! Scalar pentadiagonal systems of packs of lines. The three waves that are carried along have the same system; the one
//! that runs ahead and the one that stays behind have their own.
//!
//! Loops over lines map no arrays, so that compilers make vector instructions of them.
#![allow(clippy::needless_range_loop, reason = "lines of several packs are numbered alike")]

use crate::adi::cell::{Cell, SOUND, VOLUME};
use crate::adi::coefficients::Coefficients;
use crate::adi::field::{PACK, Pack, pack, packs};
use crate::adi::lines::{Lines, across};
use crate::adi::sweep::{Point, Solver};
use crate::flow::{CONDUCTION, VALUES, VISCOSITY};

use super::waves;

/// Neighbours of an equation on each side.
pub(super) const NEIGHBOURS: usize = 2;
/// What the elimination leaves: five right-hand sides, and the factors of both neighbours after in each system.
pub(super) const NUMBERS: usize = VALUES + NEIGHBOURS * SYSTEMS;
/// Systems of a line.
const SYSTEMS: usize = 3;
/// Quantities of a point that make its equations: one over the density, the velocity along, and the speed of sound.
const QUANTITIES: usize = 3;

/// Solves them, each with the flow of its line.
pub(super) struct Waves {
    along: [Coefficients; 3],
    /// Quantities along lines, with a point before and one after.
    quantities: Vec<[Pack; QUANTITIES]>,
}

impl Waves {
    pub(super) fn new(along: [Coefficients; 3]) -> Self {
        Waves { along, quantities: Vec::new() }
    }
}

impl Solver<NUMBERS, NEIGHBOURS> for Waves {
    fn room(&self, cell: &Cell, direction: usize) -> (usize, usize) {
        let (inner, outer) = across(direction);
        (cell.interior[inner].len(), cell.interior[outer].len())
    }

    #[inline(always)]
    fn eliminate(&mut self, cell: &Cell, lines: Lines, points: &mut [Point<NUMBERS>]) {
        let direction = lines.direction;
        let (first, end) = (cell.interior[direction].start, points.len() - NEIGHBOURS);
        self.quantities.resize(points.len() - 2 * NEIGHBOURS + 2, [[0.0; PACK]; QUANTITIES]);
        lines.gather(&cell.derived, first - 1, [VOLUME, 1 + direction, SOUND], &mut self.quantities);
        lines.gather(&cell.change, first, [0, 1, 2, 3, 4], &mut points[NEIGHBOURS..end]);
        let factors = Factors::new(&self.along[direction]);
        for (number, of) in self.quantities.windows(3).enumerate() {
            let smoothing = cell.smoothing[direction].at(first + number);
            if let ([.., before, last], [here, ..]) = points.split_at_mut(number + NEIGHBOURS) {
                factors.eliminate([&of[0], &of[1], &of[2]], smoothing, before, last, here);
            }
        }
    }

    #[inline(always)]
    fn substitute(&mut self, cell: &mut Cell, lines: Lines, points: &mut [Point<NUMBERS>]) {
        let (first, end) = (cell.interior[lines.direction].start, points.len() - NEIGHBOURS);
        for number in (NEIGHBOURS..end).rev() {
            if let [here, next, after, ..] = &mut points[number..] {
                substitute(here, next, after);
            }
        }
        // The cell before needs the first points' waves as they are.
        let solved = [points[NEIGHBOURS], points[NEIGHBOURS + 1]];
        let own = &mut points[NEIGHBOURS..end];
        match lines.direction {
            0 => {
                for point in own.iter_mut() {
                    waves::second(&mut point[..VALUES]);
                }
            }
            1 => {
                for point in own.iter_mut() {
                    waves::third(&mut point[..VALUES]);
                }
            }
            _ => to_values(cell, lines, first, own),
        }
        if lines.direction < 2 {
            lines.scatter(&mut cell.change, first, [0, 1, 2, 3, 4], own);
        } else {
            lines.add(&mut cell.flow, first, [0, 1, 2, 3, 4], own);
        }
        points[NEIGHBOURS..2 * NEIGHBOURS].copy_from_slice(&solved);
    }
}

/// Makes values of waves along the third direction.
#[inline(always)]
fn to_values(cell: &Cell, lines: Lines, first: usize, points: &mut [Point<NUMBERS>]) {
    let width = cell.flow.width();
    for (along, point) in points.iter_mut().enumerate() {
        let (j, k) = lines.row(first + along);
        let density = pack(cell.flow.row(j, k), lines.inner);
        let derived = packs(&cell.derived.row(j, k)[lines.inner..], width);
        waves::values(density, derived, &mut point[..VALUES]);
    }
}

/// How equations follow from quantities, along a direction and for a time step.
#[derive(Debug, Clone, Copy)]
struct Factors {
    step: f64,
    first: f64,
    second: f64,
    diffusion: f64,
}

impl Factors {
    fn new(along: &Coefficients) -> Self {
        Factors {
            step: along.step,
            first: along.step * along.first,
            second: along.step * along.second,
            diffusion: along.diffusion,
        }
    }

    /// Makes the equations of a point, eliminates the two points before from them, and solves them for this one. `of`: the
    /// quantities before, here and after.
    #[inline(always)]
    fn eliminate(
        &self,
        of: [&[Pack; QUANTITIES]; 3],
        smoothing: [f64; 5],
        before: &Point<NUMBERS>,
        last: &Point<NUMBERS>,
        here: &mut Point<NUMBERS>,
    ) {
        let [a, b, c, d, e] = smoothing;
        let (a, b, c, d, e) = (self.step * a, self.step * b, self.step * c, self.step * d, self.step * e);
        let (first, second) = (self.first, self.second);
        let (added, heat) = (second * self.diffusion, second * CONDUCTION * VISCOSITY);
        for l in 0..PACK {
            // The report has the largest of four kinds of diffusion. As that which is added is the same for all values, heat
            // spreads fastest.
            let b = b - first * of[0][1][l] - (added + heat * of[0][0][l]);
            let c = c + 1.0 + 2.0 * (added + heat * of[1][0][l]);
            let d = d + first * of[2][1][l] - (added + heat * of[2][0][l]);
            let (behind, ahead) = (first * of[0][2][l], first * of[2][2][l]);
            let right = [here[0][l], here[1][l], here[2][l], here[3][l], here[4][l]];
            let right_before = [before[0][l], before[1][l], before[2][l], before[3][l], before[4][l]];
            let right_last = [last[0][l], last[1][l], last[2][l], last[3][l], last[4][l]];
            let carried = solve([a, b, c, d, e], [before[5][l], before[6][l]], [last[5][l], last[6][l]]);
            let faster = solve(
                [a, b - behind, c, d + ahead, e],
                [before[7][l], before[8][l]],
                [last[7][l], last[8][l]],
            );
            let slower = solve(
                [a, b + behind, c, d - ahead, e],
                [before[9][l], before[10][l]],
                [last[9][l], last[10][l]],
            );
            let mut solved = [0.0; VALUES];
            for m in 0..VALUES {
                let [scale, b, ..] = if m < 3 {
                    carried
                } else if m == 3 {
                    faster
                } else {
                    slower
                };
                solved[m] = scale * (right[m] - a * right_before[m] - b * right_last[m]);
            }
            for m in 0..VALUES {
                here[m][l] = solved[m];
            }
            here[5][l] = carried[2];
            here[6][l] = carried[3];
            here[7][l] = faster[2];
            here[8][l] = faster[3];
            here[9][l] = slower[2];
            here[10][l] = slower[3];
        }
    }
}

/// Eliminates the two points before from an equation, by the factors of their two points after. Returns by what the equation
/// is then multiplied, the rest of the factor of the last point before, and the factors of the two points after.
#[inline(always)]
fn solve([a, b, c, d, e]: [f64; 5], before: [f64; 2], last: [f64; 2]) -> [f64; 4] {
    let b = b - a * before[0];
    let c = c - a * before[1] - b * last[0];
    let scale = 1.0 / c;
    [scale, b, scale * (d - b * last[1]), scale * e]
}

/// Puts the solution of the two points after into the equations of this one.
#[inline(always)]
fn substitute(here: &mut Point<NUMBERS>, next: &Point<NUMBERS>, after: &Point<NUMBERS>) {
    for (m, system) in [0, 0, 0, 1, 2].into_iter().enumerate() {
        let of = VALUES + 2 * system;
        for l in 0..PACK {
            here[m][l] -= here[of][l] * next[m][l] + here[of + 1][l] * after[m][l];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solved_system_is_the_one_that_was_multiplied() {
        let solution = [0.0, 0.0, 1.0, -2.0, 0.5, 3.0, -1.0, 0.0, 0.0];
        let equation = |number: usize| [0.5, -1.0, 6.0 + number as f64, -1.5, 0.25];
        // Factors of the two points after, and right-hand sides; two points of zeros on each side.
        let mut left = [[0.0; 3]; 9];
        for here in 2..7 {
            let weights = equation(here);
            let right: f64 = weights.iter().zip(&solution[here - 2..]).map(|(a, x)| a * x).sum();
            let (before, last) = (left[here - 2], left[here - 1]);
            let [scale, b, next, after] = solve(weights, [before[0], before[1]], [last[0], last[1]]);
            left[here] = [next, after, scale * (right - weights[0] * before[2] - b * last[2])];
        }
        let mut found = [0.0; 9];
        for here in (2..7).rev() {
            found[here] = left[here][2] - left[here][0] * found[here + 1] - left[here][1] * found[here + 2];
            assert!((found[here] - solution[here]).abs() < 1e-14, "{here}: {}", found[here]);
        }
    }
}
