//! Scalar pentadiagonal systems of packs of lines. The three waves that are carried along have the same system; the one
//! that runs ahead and the one that stays behind have their own.
//!
//! Loops over lines map no arrays, so that compilers turn them into vector instructions.
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

    fn eliminate(&mut self, cell: &Cell, lines: Lines, points: &mut [Point<NUMBERS>]) {
        let direction = lines.direction;
        let (first, end) = (cell.interior[direction].start, points.len() - NEIGHBOURS);
        self.quantities.resize(points.len() - 2 * NEIGHBOURS + 2, [[0.0; PACK]; QUANTITIES]);
        lines.gather(&cell.derived, first - 1, [VOLUME, 1 + direction, SOUND], &mut self.quantities);
        lines.gather(&cell.change, first, [0, 1, 2, 3, 4], &mut points[NEIGHBOURS..end]);
        let factors = Factors::new(&self.along[direction]);
        for (number, of) in self.quantities.windows(3).enumerate() {
            let smoothing = cell.smoothing[direction].at(first + number);
            if let [before, last, here, ..] = &mut points[number..] {
                factors.eliminate([&of[0], &of[1], &of[2]], smoothing, [before, last], here);
            }
        }
    }

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
            0 => own.iter_mut().for_each(|point| waves::second(&mut point[..VALUES])),
            1 => own.iter_mut().for_each(|point| waves::third(&mut point[..VALUES])),
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

/// Turns waves along the third direction into values.
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
        [before, last]: [&Point<NUMBERS>; 2],
        here: &mut Point<NUMBERS>,
    ) {
        let [a, b, c, d, e] = smoothing;
        let (a, b, c, d, e) = (self.step * a, self.step * b, self.step * c, self.step * d, self.step * e);
        for l in 0..PACK {
            // The report has the largest of four kinds of diffusion. As that which is added is the same for all values, heat
            // spreads fastest.
            let spread = |volume: f64| self.second * (self.diffusion + CONDUCTION * VISCOSITY * volume);
            let b = b - self.first * of[0][1][l] - spread(of[0][0][l]);
            let c = c + 1.0 + 2.0 * spread(of[1][0][l]);
            let d = d + self.first * of[2][1][l] - spread(of[2][0][l]);
            let (behind, ahead) = (self.first * of[0][2][l], self.first * of[2][2][l]);
            let carried = solve::<0>(l, [a, b, c, d, e], before, last, here);
            let faster = solve::<1>(l, [a, b - behind, c, d + ahead, e], before, last, here);
            let slower = solve::<2>(l, [a, b + behind, c, d - ahead, e], before, last, here);
            for (m, [scale, b]) in [(0, carried), (1, carried), (2, carried), (3, faster), (4, slower)] {
                here[m][l] = scale * (here[m][l] - a * before[m][l] - b * last[m][l]);
            }
        }
    }
}

/// Eliminates the two points before from an equation of system `S`, and stores the factors of the two after. Returns by
/// what the equation is multiplied, and the rest of the factor of the point before.
#[inline(always)]
fn solve<const S: usize>(
    l: usize,
    [a, b, c, d, e]: [f64; 5],
    before: &Point<NUMBERS>,
    last: &Point<NUMBERS>,
    here: &mut Point<NUMBERS>,
) -> [f64; 2] {
    let (next, after) = (VALUES + 2 * S, VALUES + 2 * S + 1);
    let b = b - a * before[next][l];
    let c = c - a * before[after][l] - b * last[next][l];
    let d = d - b * last[after][l];
    let scale = 1.0 / c;
    here[next][l] = scale * d;
    here[after][l] = scale * e;
    [scale, b]
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
