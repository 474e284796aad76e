//! What changes at each point by the present flow (RNR-94-007, section 3.3): differences of the fluxes of mass, momentum
//! and energy, of viscous stress and heat, less what smooths the flow, in all three directions.
#![allow(clippy::needless_range_loop, reason = "points and values of several packs are numbered alike")]

use crosstalk_host::vector::{VectorKernel, run_widest};

use super::cell::{Cell, DERIVED, KINETIC, SOUND, VOLUME};
use super::coefficients::Coefficients;
use super::field::{GHOSTS, PACK, Pack, pack_mut, packs};
use crate::flow::{GAMMA, VALUES};

/// What a scheme makes of what changes at a pack of points, by what is derived of the flow there. It has to be
/// `#[inline(always)]`, as it runs with the widest vector instructions.
pub(crate) trait Finish {
    fn finish(&self, derived: [&Pack; DERIVED], change: &mut [Pack; VALUES]);
}

/// Leaves it as it is.
pub(crate) struct Unchanged;

impl Finish for Unchanged {
    #[inline(always)]
    fn finish(&self, _: [&Pack; DERIVED], _: &mut [Pack; VALUES]) {}
}

/// Multiplies it by the length of a time step.
pub(crate) struct Step(pub(crate) f64);

impl Finish for Step {
    #[inline(always)]
    fn finish(&self, _: [&Pack; DERIVED], change: &mut [Pack; VALUES]) {
        for pack in change {
            for number in pack {
                *number *= self.0;
            }
        }
    }
}

/// Computes [`Cell::derived`] of a cell's points and of the first neighbours around, then [`Cell::change`] of the interior.
/// The speed of sound is left out unless `WITH_SOUND`.
pub(crate) fn compute<const WITH_SOUND: bool>(
    cell: &mut Cell,
    along: &[Coefficients; 3],
    finish: &impl Finish,
) {
    run_widest(Derive::<WITH_SOUND>(cell));
    run_widest(Change { cell, along, finish });
}

/// Computes what is derived.
struct Derive<'a, const WITH_SOUND: bool>(&'a mut Cell);

impl<const WITH_SOUND: bool> VectorKernel for Derive<'_, WITH_SOUND> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Cell { size, flow, derived, .. } = self.0;
        let end = size.map(|size| GHOSTS + size + 1);
        let (width, first) = (flow.width(), GHOSTS - 1);
        for (k, j) in (first..end[2]).flat_map(|k| (first..end[1]).map(move |j| (k, j))) {
            let (from, to) = (flow.row(j, k), derived.row_mut(j, k));
            for i in (first..end[0]).step_by(PACK) {
                let of = derive_pack::<WITH_SOUND>(packs(&from[i..], width));
                let quantities = if WITH_SOUND { DERIVED } else { SOUND };
                for quantity in 0..quantities {
                    *pack_mut(to, quantity * width + i) = of[quantity];
                }
            }
        }
    }
}

#[inline(always)]
fn derive_pack<const WITH_SOUND: bool>(flow: [&Pack; VALUES]) -> [Pack; DERIVED] {
    let mut of = [[0.0; PACK]; DERIVED];
    for l in 0..PACK {
        of[VOLUME][l] = 1.0 / flow[0][l];
    }
    for m in 1..4 {
        for l in 0..PACK {
            of[m][l] = flow[m][l] * of[VOLUME][l];
        }
    }
    for l in 0..PACK {
        let (u, v, w) = (of[1][l], of[2][l], of[3][l]);
        of[KINETIC][l] = 0.5 * (u * u + v * v + w * w);
    }
    if WITH_SOUND {
        for l in 0..PACK {
            let own = flow[4][l] * of[VOLUME][l] - of[KINETIC][l];
            of[SOUND][l] = (GAMMA * (GAMMA - 1.0) * own).sqrt();
        }
    }
    of
}

/// Computes what changes.
struct Change<'a, F> {
    cell: &'a mut Cell,
    along: &'a [Coefficients; 3],
    finish: &'a F,
}

impl<F: Finish> VectorKernel for Change<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let [x, y, z] = self.along;
        let Cell { interior, flow, derived, change, force, spreading, .. } = self.cell;
        let width = flow.width();
        for (k, j) in interior[2].clone().flat_map(|k| interior[1].clone().map(move |j| (k, j))) {
            let (row, of_row) = (flow.row(j, k), derived.row(j, k));
            let rows = [flow.row(j - 2, k), flow.row(j - 1, k), row, flow.row(j + 1, k), flow.row(j + 2, k)];
            let of_rows = [derived.row(j - 1, k), of_row, derived.row(j + 1, k)];
            let layers =
                [flow.row(j, k - 2), flow.row(j, k - 1), row, flow.row(j, k + 1), flow.row(j, k + 2)];
            let of_layers = [derived.row(j, k - 1), of_row, derived.row(j, k + 1)];
            let (by_row, by_layer) = (spreading[1].across(j), spreading[2].across(k));
            let (force, change) = (force.row(j, k), change.row_mut(j, k));
            for i in interior[0].clone().step_by(PACK) {
                let mut sum = [[0.0; PACK]; VALUES];
                for (sum, force) in sum.iter_mut().zip(packs::<VALUES>(&force[i..], width)) {
                    *sum = *force;
                }
                let points =
                    five([&row[i - 2..], &row[i - 1..], &row[i..], &row[i + 1..], &row[i + 2..]], width);
                let of_points = three([&of_row[i - 1..], &of_row[i..], &of_row[i + 1..]], width);
                add_direction::<1>(x, &spreading[0].along(i), points, of_points, &mut sum);
                let [a, b, c, d, e] = rows;
                let points = five([&a[i..], &b[i..], &c[i..], &d[i..], &e[i..]], width);
                let [a, b, c] = of_rows;
                let of_points = three([&a[i..], &b[i..], &c[i..]], width);
                add_direction::<2>(y, &by_row, points, of_points, &mut sum);
                let [a, b, c, d, e] = layers;
                let points = five([&a[i..], &b[i..], &c[i..], &d[i..], &e[i..]], width);
                let [a, b, c] = of_layers;
                let of_points = three([&a[i..], &b[i..], &c[i..]], width);
                add_direction::<3>(z, &by_layer, points, of_points, &mut sum);
                self.finish.finish(of_points[1], &mut sum);
                for (value, pack) in sum.iter().enumerate() {
                    *pack_mut(change, value * width + i) = *pack;
                }
            }
        }
    }
}

/// A point's values and those of two neighbours on each side.
#[inline(always)]
fn five(rows: [&[f64]; 5], width: usize) -> [[&Pack; VALUES]; 5] {
    let [a, b, c, d, e] = rows;
    [packs(a, width), packs(b, width), packs(c, width), packs(d, width), packs(e, width)]
}

/// What is derived of a point and of a neighbour on each side.
#[inline(always)]
fn three(rows: [&[f64]; 3], width: usize) -> [[&Pack; DERIVED]; 3] {
    let [a, b, c] = rows;
    [packs(a, width), packs(b, width), packs(c, width)]
}

/// Adds what changes along a direction, in which the momentum is value `N`, by a point's two neighbours on each side and
/// what is derived of the nearest. `weights` are those of [`Cell::spreading`].
#[inline(always)]
fn add_direction<const N: usize>(
    along: &Coefficients,
    weights: &[Pack; 5],
    flow: [[&Pack; VALUES]; 5],
    derived: [[&Pack; DERIVED]; 3],
    sum: &mut [Pack; VALUES],
) {
    let (stress, stress_along, first) = (along.stress(), along.stress_along(), along.first);
    let [of_kinetic, of_velocity, of_energy] = along.dissipated();
    for l in 0..PACK {
        let (before, here, after) =
            (|m: usize| derived[0][m][l], |m: usize| derived[1][m][l], |m: usize| derived[2][m][l]);
        let second = |m: usize| after(m) - 2.0 * here(m) + before(m);
        // Per volume: the pressure is what energy there is beside it.
        let kinetic = [before(KINETIC) * flow[1][0][l], after(KINETIC) * flow[3][0][l]];
        let [less, own, more] = [flow[1][4][l], flow[2][4][l], flow[3][4][l]];
        let mut change = [0.0; VALUES];
        for m in 0..VALUES {
            let [a, b, c, d, e] = [flow[0][m][l], flow[1][m][l], flow[2][m][l], flow[3][m][l], flow[4][m][l]];
            change[m] = weights[0][l] * a
                + weights[1][l] * b
                + weights[2][l] * c
                + weights[3][l] * d
                + weights[4][l] * e;
        }
        change[0] -= first * (flow[3][N][l] - flow[1][N][l]);
        for m in 1..4 {
            let viscous = if m == N { stress_along } else { stress };
            change[m] += viscous * second(m) - first * (flow[3][m][l] * after(N) - flow[1][m][l] * before(N));
        }
        change[N] -= first * (GAMMA - 1.0) * ((more - kinetic[1]) - (less - kinetic[0]));
        change[4] += of_kinetic * second(KINETIC)
            + of_velocity * (after(N) * after(N) - 2.0 * here(N) * here(N) + before(N) * before(N))
            + of_energy * (more * after(VOLUME) - 2.0 * own * here(VOLUME) + less * before(VOLUME))
            - first
                * ((GAMMA * more - (GAMMA - 1.0) * kinetic[1]) * after(N)
                    - (GAMMA * less - (GAMMA - 1.0) * kinetic[0]) * before(N));
        for m in 0..VALUES {
            sum[m][l] += change[m];
        }
    }
}
