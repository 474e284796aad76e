//! A sweep: the solution of the lower or upper block triangular system, plane by plane (RNR-94-007, section 3).
//!
//! A point needs the solutions of three others: those before it in ξ, η and ζ. Points on a diagonal of a plane do not need
//! each other. So several rows, the *lanes*, are solved at once, each one point behind the row before it: at step
//! t, lane l is at its point t − l. What a point adds to the equations of its next ones is computed at the point itself, and
//! handed on: along the lane, to the next lane, and to the next plane. Packed by steps, all lanes' numbers are consecutive.

use std::ops::Range;

use super::field::Field;
use super::implicit::{Implicit, State};
use super::pencil::Pencil;
use crate::flow::VALUES;

/// Rows that are solved at once.
const LANES: usize = 8;

/// Values of the points that are solved at once.
type Lanes = [[f64; LANES]; VALUES];

/// Nothing.
const ZERO: Lanes = [[0.0; LANES]; VALUES];

/// Points at rest, where there are none.
const REST: Lanes = {
    let mut rest = ZERO;
    rest[0] = [1.0; LANES];
    rest
};

/// A sweep of the lower triangle, from low to high indices, or of the upper one, from high to low.
#[derive(Debug)]
pub(super) struct Sweep<const UPPER: bool> {
    pencil: Pencil,
    operator: Implicit,
    /// The pseudo-time step.
    step: f64,
    /// Of a block of rows, by steps: the state, the right side, and the solution.
    state: Vec<Lanes>,
    right: Vec<Lanes>,
    solution: Vec<Lanes>,
    /// What comes along ξ into each row, along η into each column, and along ζ into each block, by steps.
    xi: Vec<[f64; VALUES]>,
    eta: Vec<[f64; VALUES]>,
    zeta: Vec<Lanes>,
}

impl<const UPPER: bool> Sweep<UPPER> {
    /// A sweep with this pseudo-time step.
    pub(super) fn new(pencil: &Pencil, step: f64) -> Self {
        let [columns, rows] = pencil.inner().map(|range| range.len());
        let steps = columns + LANES - 1;
        let blocks = rows.div_ceil(LANES);
        Sweep {
            pencil: *pencil,
            operator: Implicit::new(pencil.points, step, UPPER),
            step,
            state: vec![REST; steps],
            right: vec![ZERO; steps],
            solution: vec![ZERO; steps],
            xi: vec![[0.0; VALUES]; blocks * LANES],
            eta: vec![[0.0; VALUES]; columns],
            zeta: vec![ZERO; blocks * steps],
        }
    }

    /// Begins a sweep: nothing comes from the cube's surface.
    pub(super) fn begin(&mut self) {
        self.zeta.fill(ZERO);
    }

    /// The planes in the order of the sweep.
    pub(super) fn planes(&self) -> impl Iterator<Item = usize> + use<UPPER> {
        let planes = self.pencil.planes();
        let (first, last) = (planes.start, planes.end - 1);
        (first..=last).map(move |plane| if UPPER { last + first - plane } else { plane })
    }

    /// Solves a plane: `v` becomes the solution. The upper sweep adds `factor` times that to `u`.
    pub(super) fn plane(&mut self, u: &mut Field, v: &mut Field, plane: usize, factor: f64) {
        self.take_edges(u, v, plane);
        for block in 0..self.xi.len() / LANES {
            self.pack(u, v, block, plane);
            self.solve_block(block);
            self.unpack(u, v, block, plane, factor);
        }
    }

    /// Solves a block of rows that is packed.
    fn solve_block(&mut self, block: usize) {
        let steps = self.state.len();
        let packed = self.state.iter().zip(&self.right).zip(&mut self.solution);
        let zeta = &mut self.zeta[block * steps..(block + 1) * steps];
        let edge = &self.xi[block * LANES..(block + 1) * LANES];
        let (mut xi, mut eta) = (ZERO, ZERO);
        for (t, (((state, right), solution), zeta)) in packed.zip(zeta).enumerate() {
            begin_lane(&mut xi, edge, t);
            next_lanes(&mut eta, self.eta.get(t));
            solve::<UPPER>(&self.operator, self.step, state, right, [&mut xi, &mut eta, zeta], solution);
            if let Some(last) = (t + 1).checked_sub(LANES) {
                self.eta[last] = eta.map(|lanes| lanes[LANES - 1]);
            }
        }
    }

    /// The row of a lane of a block; `None` beyond the last one.
    fn row(&self, block: usize, lane: usize) -> Option<usize> {
        let [_, rows] = self.pencil.inner();
        let at = block * LANES + lane;
        (at < rows.len()).then(|| if UPPER { rows.end - 1 - at } else { rows.start + at })
    }

    /// Takes what comes from neighbouring ranks: from the layer of points before the first ones.
    fn take_edges(&mut self, u: &Field, v: &Field, plane: usize) {
        let Pencil { north, south, west, east, .. } = self.pencil;
        let (in_xi, in_eta) = if UPPER { (south, east) } else { (north, west) };
        let [columns, rows] = self.pencil.inner();
        let before = |own: &Range<usize>| if UPPER { own.end } else { own.start - 1 };
        let operator = self.operator;
        let outgoing = |i: usize, j: usize, axis: usize| {
            let (state, v) = (State::new(u.point([i, j, plane])), v.point([i, j, plane]));
            operator.outgoing(&state, v, state.disturbance(v))[axis]
        };
        if in_xi.is_some() {
            for (at, xi) in self.xi.iter_mut().take(rows.len()).enumerate() {
                let row = if UPPER { rows.end - 1 - at } else { rows.start + at };
                *xi = outgoing(before(&columns), row, 0);
            }
        }
        self.eta.fill([0.0; VALUES]);
        if in_eta.is_some() {
            for (at, eta) in self.eta.iter_mut().enumerate() {
                let column = if UPPER { columns.end - 1 - at } else { columns.start + at };
                *eta = outgoing(column, before(&rows), 1);
            }
        }
    }

    /// Packs a block's rows by steps.
    fn pack(&mut self, u: &Field, v: &Field, block: usize, plane: usize) {
        let [columns, _] = self.pencil.inner();
        for lane in 0..LANES {
            let row = self.row(block, lane);
            for value in 0..VALUES {
                let state = self.state[lane..].iter_mut().map(|lanes| &mut lanes[value][lane]);
                let right = self.right[lane..].iter_mut().map(|lanes| &mut lanes[value][lane]);
                let Some(row) = row else {
                    state.for_each(|number| *number = REST[value][lane]);
                    right.for_each(|number| *number = 0.0);
                    continue;
                };
                let (u, v) = (
                    &u.line(value, row, plane)[columns.clone()],
                    &v.line(value, row, plane)[columns.clone()],
                );
                copy::<UPPER>(u, state);
                copy::<UPPER>(v, right);
            }
        }
    }

    /// Takes the solution of a block apart into rows.
    fn unpack(&self, u: &mut Field, v: &mut Field, block: usize, plane: usize, factor: f64) {
        let [columns, _] = self.pencil.inner();
        for lane in 0..LANES {
            let Some(row) = self.row(block, lane) else { return };
            for value in 0..VALUES {
                let solution = self.solution[lane..].iter().map(|lanes| lanes[value][lane]);
                let v = &mut v.line_mut(value, row, plane)[columns.clone()];
                if UPPER {
                    let u = &mut u.line_mut(value, row, plane)[columns.clone()];
                    for ((v, u), solution) in v.iter_mut().zip(u).rev().zip(solution) {
                        *v = solution;
                        *u += factor * solution;
                    }
                } else {
                    v.iter_mut().zip(solution).for_each(|(v, solution)| *v = solution);
                }
            }
        }
    }
}

/// Copies a row's numbers in the order of the sweep.
#[inline(always)]
fn copy<'a, const UPPER: bool>(line: &[f64], into: impl Iterator<Item = &'a mut f64>) {
    if UPPER {
        line.iter().rev().zip(into).for_each(|(number, into)| *into = *number);
    } else {
        line.iter().zip(into).for_each(|(number, into)| *into = *number);
    }
}

/// At step `t`, lane t is at its first point: what comes in along ξ comes from the edge.
#[inline(always)]
fn begin_lane(xi: &mut Lanes, edge: &[[f64; VALUES]], t: usize) {
    if let Some(edge) = edge.get(t) {
        for (lanes, edge) in xi.iter_mut().zip(edge) {
            lanes[t] = *edge;
        }
    }
}

/// Hands what goes out along η to the next lanes. The first one takes it from the row before the block.
#[inline(always)]
fn next_lanes(eta: &mut Lanes, before: Option<&[f64; VALUES]>) {
    for (value, lanes) in eta.iter_mut().enumerate() {
        lanes.copy_within(..LANES - 1, 1);
        lanes[0] = before.map_or(0.0, |before| before[value]);
    }
}

/// Solves the points of one step. What comes in along each axis is replaced by what goes out.
fn solve<const UPPER: bool>(
    operator: &Implicit,
    scale: f64,
    state: &Lanes,
    right: &Lanes,
    [xi, eta, zeta]: [&mut Lanes; 3],
    solution: &mut Lanes,
) {
    for lane in 0..LANES {
        let of = |lanes: &Lanes| -> [f64; VALUES] {
            [lanes[0][lane], lanes[1][lane], lanes[2][lane], lanes[3][lane], lanes[4][lane]]
        };
        let at = State::new(of(state));
        let (x, y, z, right) = (of(xi), of(eta), of(zeta), of(right));
        let mut sums = [0.0; VALUES];
        for m in 0..VALUES {
            sums[m] = x[m] + y[m] + z[m];
            if !UPPER {
                sums[m] = scale * right[m] - sums[m];
            }
        }
        let (mut v, mut a) = operator.solve(&at, sums);
        if UPPER {
            for m in 0..VALUES {
                v[m] = right[m] - v[m];
            }
            a = at.disturbance(v);
        }
        let [along_xi, along_eta, along_zeta] = operator.outgoing(&at, v, a);
        for m in 0..VALUES {
            solution[m][lane] = v[m];
            xi[m][lane] = along_xi[m];
            eta[m][lane] = along_eta[m];
            zeta[m][lane] = along_zeta[m];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many points within the cube as are no multiple of the lanes.
    const POINTS: usize = 13;
    const STEP: f64 = 0.01;

    fn close(found: [f64; VALUES], expected: [f64; VALUES], at: [usize; 3]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-13, "{at:?}: {found} {expected}");
        }
    }

    /// A state, and a right side within the cube.
    fn fields(pencil: &Pencil) -> (Field, Field) {
        let (mut u, mut v) = (Field::new(pencil), Field::new(pencil));
        let [columns, rows] = pencil.own();
        let [inner_columns, inner_rows] = pencil.inner();
        for k in 0..POINTS {
            for j in rows.clone() {
                for i in columns.clone() {
                    let wave = ((3 * i + 5 * j + 7 * k) as f64).sin();
                    u.set([i, j, k], [1.0 + 0.2 * wave, 0.3, 0.2 * wave, -0.1, 2.0 + 0.5 * wave]);
                    let inner =
                        inner_columns.contains(&i) && inner_rows.contains(&j) && pencil.planes().contains(&k);
                    if inner {
                        v.set([i, j, k], [wave, 0.5 - wave, 0.1 * i as f64, 0.2 * j as f64, 0.3 * k as f64]);
                    }
                }
            }
        }
        (u, v)
    }

    /// Sweeps, and checks each point's equation with those of the points before it.
    fn check<const UPPER: bool>() {
        let pencil = Pencil::new(POINTS, 0, 1).expect("fits");
        let (u, right) = fields(&pencil);
        let (mut updated, mut v) = (u.clone(), right.clone());
        let mut sweep = Sweep::<UPPER>::new(&pencil, STEP);
        sweep.begin();
        sweep.planes().for_each(|plane| sweep.plane(&mut updated, &mut v, plane, 0.5));
        let operator = Implicit::new(POINTS, STEP, UPPER);
        let [columns, rows] = pencil.inner();
        for k in pencil.planes() {
            for j in rows.clone() {
                for i in columns.clone() {
                    let mut incoming = [0.0; VALUES];
                    for axis in 0..3 {
                        let mut before = [i, j, k];
                        before[axis] = if UPPER { before[axis] + 1 } else { before[axis] - 1 };
                        let (state, solved) = (State::new(u.point(before)), v.point(before));
                        let outgoing = operator.outgoing(&state, solved, state.disturbance(solved))[axis];
                        incoming.iter_mut().zip(outgoing).for_each(|(sum, outgoing)| *sum += outgoing);
                    }
                    let (at, right) = ([i, j, k], right.point([i, j, k]));
                    let state = State::new(u.point(at));
                    let expected: [f64; VALUES] = if UPPER {
                        let (less, _) = operator.solve(&state, incoming);
                        std::array::from_fn(|m| right[m] - less[m])
                    } else {
                        operator.solve(&state, std::array::from_fn(|m| STEP * right[m] - incoming[m])).0
                    };
                    close(v.point(at), expected, at);
                    let change = if UPPER { 0.5 } else { 0.0 };
                    let (u, v) = (u.point(at), v.point(at));
                    close(updated.point(at), std::array::from_fn(|m| u[m] + change * v[m]), at);
                }
            }
        }
    }

    #[test]
    fn each_point_satisfies_its_equation_in_the_lower_triangle() {
        check::<false>();
    }

    #[test]
    fn each_point_satisfies_its_equation_in_the_upper_triangle() {
        check::<true>();
    }
}
