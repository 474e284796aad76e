//! The residual of the steady state: differences of fluxes, viscosity and dissipation, less the forcing
//! (RNR-94-007, section 3.3).
//!
//! What fluxes and viscosity need besides the five values is derived from them once for each point, plane by plane: three
//! planes of it are enough.

use std::ops::Range;

use super::coefficients::{across, weights};
use super::field::Field;
use super::pencil::{HALO, Pencil};
use crate::flow::{ALONG, CONDUCTION, GAMMA, VALUES, VISCOSITY};

/// Planes of derived values: one on either side of the current one.
const DERIVED_PLANES: usize = 3;
/// Derived values: three velocities, from 0, then these.
const PRESSURE: usize = 3;
/// What conduction and viscosity act on in the energy's equation, without the part of the velocity along the gradient.
const HEAT: usize = 4;

/// The operator, and what it derives.
#[derive(Debug)]
pub(super) struct Residual {
    pencil: Pencil,
    derived: Field,
    /// Weights along ξ, from low to high, for each inner point.
    along_xi: [Vec<f64>; 5],
}

impl Residual {
    pub(super) fn new(pencil: &Pencil) -> Self {
        let [xi, _] = pencil.inner();
        let of = |i: usize| weights(pencil.points, pencil.first[0] + i - HALO, 0);
        Residual {
            pencil: *pencil,
            derived: Field::with_planes(pencil, DERIVED_PLANES),
            along_xi: std::array::from_fn(|at| xi.clone().map(|i| of(i)[at]).collect()),
        }
    }

    /// Computes the residual of `u` within the cube. The halo of `u` is up to date.
    pub(super) fn compute(&mut self, u: &Field, forcing: &Field, residual: &mut Field) {
        let [xi, eta] = self.pencil.inner();
        let planes = self.pencil.planes();
        (0..planes.start + 1).for_each(|plane| self.derive(u, plane));
        for plane in planes {
            self.derive(u, plane + 1);
            for row in eta.clone() {
                let at = Row { u, derived: &self.derived, xi: xi.clone(), row, plane };
                let weights = self.weights(row, plane);
                at.add::<0>(forcing, residual, &weights);
                at.add::<1>(forcing, residual, &weights);
                at.add::<2>(forcing, residual, &weights);
                at.add::<3>(forcing, residual, &weights);
                at.add::<4>(forcing, residual, &weights);
            }
        }
    }

    fn weights(&self, row: usize, plane: usize) -> Weights<'_> {
        let Pencil { points, first, .. } = self.pencil;
        let [once, twice] = across(points);
        let (eta, zeta) = (weights(points, first[1] + row - HALO, 1), weights(points, plane, 2));
        Weights {
            xi: self.along_xi.each_ref().map(Vec::as_slice),
            across: [eta, zeta],
            flux: 0.5 * once,
            viscosity: VISCOSITY * twice,
        }
    }

    /// Derives a plane's values, within the cube and next to it.
    fn derive(&mut self, u: &Field, plane: usize) {
        let [xi, eta] = self.pencil.inner();
        let xi = xi.start - 1..xi.end + 1;
        for row in eta.start - 1..eta.end + 1 {
            let [density, x, y, z, energy] =
                [0, 1, 2, 3, 4].map(|value| &u.line(value, row, plane)[xi.clone()]);
            let lines = self.derived.lines_mut(row, plane % DERIVED_PLANES);
            derive_row([density, x, y, z, energy], lines.map(|line| &mut line[xi.clone()]));
        }
    }
}

/// Derives the values of a row.
fn derive_row(from: [&[f64]; VALUES], into: [&mut [f64]; VALUES]) {
    let count = from[0].len();
    let [density, x, y, z, energy] = from.map(|line| &line[..count]);
    let [u, v, w, pressure, heat] = into.map(|line| &mut line[..count]);
    for i in 0..count {
        let volume = 1.0 / density[i];
        let velocity = [x[i] * volume, y[i] * volume, z[i] * volume];
        let square = velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2];
        [u[i], v[i], w[i]] = velocity;
        pressure[i] = (GAMMA - 1.0) * (energy[i] - 0.5 * density[i] * square);
        heat[i] = 0.5 * (1.0 - CONDUCTION) * square + CONDUCTION * energy[i] * volume;
    }
}

/// Coefficients of a row.
struct Weights<'a> {
    /// Diffusion and dissipation along ξ, for each point.
    xi: [&'a [f64]; 5],
    /// The same along η and ζ.
    across: [[f64; 5]; 2],
    flux: f64,
    viscosity: f64,
}

/// A row within the cube.
struct Row<'a> {
    u: &'a Field,
    derived: &'a Field,
    /// Its inner points.
    xi: Range<usize>,
    row: usize,
    plane: usize,
}

/// Lines of one value: of the row itself, and of those next to it in each direction.
#[derive(Clone, Copy)]
struct Cross<'a> {
    centre: &'a [f64],
    low: [&'a [f64]; 3],
    high: [&'a [f64]; 3],
}

impl<'a> Cross<'a> {
    /// The lines next to the row, at lower and at higher indices, of this length.
    #[inline(always)]
    fn sides(self, count: usize) -> ([&'a [f64]; 3], [&'a [f64]; 3]) {
        (self.low.map(|line| &line[..count]), self.high.map(|line| &line[..count]))
    }
}

impl<'a> Row<'a> {
    /// One value of the state, `distance` points away in each direction.
    fn state(&self, value: usize, distance: usize) -> Cross<'a> {
        let Row { u, row, plane, .. } = *self;
        let last = u.planes() - 1;
        Cross {
            centre: self.cut(u.line(value, row, plane), 0),
            low: [
                self.cut(u.line(value, row, plane), -(distance as isize)),
                self.cut(u.line(value, row - distance, plane), 0),
                // Beyond the surface its weight is zero.
                self.cut(u.line(value, row, plane.saturating_sub(distance)), 0),
            ],
            high: [
                self.cut(u.line(value, row, plane), distance as isize),
                self.cut(u.line(value, row + distance, plane), 0),
                self.cut(u.line(value, row, (plane + distance).min(last)), 0),
            ],
        }
    }

    /// One of the derived values, at this row and next to it.
    fn derived(&self, value: usize) -> Cross<'a> {
        let Row { derived, row, .. } = *self;
        let plane = |step: usize| (self.plane + step - 1) % DERIVED_PLANES;
        let line = derived.line(value, row, plane(1));
        Cross {
            centre: self.cut(line, 0),
            low: [
                self.cut(line, -1),
                self.cut(derived.line(value, row - 1, plane(1)), 0),
                self.cut(derived.line(value, row, plane(0)), 0),
            ],
            high: [
                self.cut(line, 1),
                self.cut(derived.line(value, row + 1, plane(1)), 0),
                self.cut(derived.line(value, row, plane(2)), 0),
            ],
        }
    }

    /// The inner part of a line, moved by `shift`.
    fn cut(&self, line: &'a [f64], shift: isize) -> &'a [f64] {
        let begin = self.xi.start.wrapping_add_signed(shift);
        &line[begin..begin + self.xi.len()]
    }

    /// Computes one value's residual.
    fn add<const VALUE: usize>(&self, forcing: &Field, residual: &mut Field, weights: &Weights) {
        let velocities = [0, 1, 2].map(|axis| self.derived(axis));
        let own = if VALUE == 0 || VALUE == 4 { self.derived(HEAT) } else { velocities[VALUE - 1] };
        let lines = Lines {
            near: self.state(VALUE, 1),
            far: self.state(VALUE, 2),
            velocities,
            pressure: self.derived(PRESSURE),
            own,
            forcing: self.cut(forcing.line(VALUE, self.row, self.plane), 0),
        };
        let out = &mut residual.line_mut(VALUE, self.row, self.plane)[self.xi.clone()];
        add_line::<VALUE>(out, &lines, weights);
    }
}

/// What a value's residual is computed from.
struct Lines<'a> {
    /// The value, here and next to it.
    near: Cross<'a>,
    /// The value, two points away.
    far: Cross<'a>,
    velocities: [Cross<'a>; 3],
    pressure: Cross<'a>,
    /// What viscosity acts on.
    own: Cross<'a>,
    forcing: &'a [f64],
}

/// Computes one value's residual along a row.
#[inline(always)]
fn add_line<const VALUE: usize>(out: &mut [f64], from: &Lines, weights: &Weights) {
    let count = out.len();
    let (low, high) = from.near.sides(count);
    let (far_low, far_high) = from.far.sides(count);
    let (own_low, own_high) = from.own.sides(count);
    let (pressure_low, pressure_high) = from.pressure.sides(count);
    let speed_low = [0, 1, 2].map(|axis| &from.velocities[axis].low[axis][..count]);
    let speed_high = [0, 1, 2].map(|axis| &from.velocities[axis].high[axis][..count]);
    let speed = from.velocities.map(|cross| &cross.centre[..count]);
    let (centre, own, forcing) =
        (&from.near.centre[..count], &from.own.centre[..count], &from.forcing[..count]);
    let xi = weights.xi.map(|line| &line[..count]);
    let [eta, zeta] = weights.across;
    let (flux, viscosity) = (weights.flux, weights.viscosity);
    let work = 0.5 * (ALONG - 1.0);
    for i in 0..count {
        let along = [
            [xi[0][i], xi[1][i], xi[3][i], xi[4][i]],
            [eta[0], eta[1], eta[3], eta[4]],
            [zeta[0], zeta[1], zeta[3], zeta[4]],
        ];
        let mut spread = (xi[2][i] + eta[2] + zeta[2]) * centre[i];
        let (mut flows, mut viscous) = (0.0, 0.0);
        for axis in 0..3 {
            let w = along[axis];
            spread += w[0] * far_low[axis][i]
                + w[1] * low[axis][i]
                + w[2] * high[axis][i]
                + w[3] * far_high[axis][i];
            let (before, after) = (speed_low[axis][i], speed_high[axis][i]);
            if VALUE == 4 {
                flows += (high[axis][i] + pressure_high[axis][i]) * after
                    - (low[axis][i] + pressure_low[axis][i]) * before;
                let squares = after * after + before * before - 2.0 * speed[axis][i] * speed[axis][i];
                viscous += own_low[axis][i] + own_high[axis][i] - 2.0 * own[i] + work * squares;
            } else {
                flows += high[axis][i] * after - low[axis][i] * before;
                if VALUE == axis + 1 {
                    flows += pressure_high[axis][i] - pressure_low[axis][i];
                }
                if VALUE > 0 {
                    let factor = if VALUE == axis + 1 { ALONG } else { 1.0 };
                    viscous += factor * (own_low[axis][i] + own_high[axis][i] - 2.0 * own[i]);
                }
            }
        }
        out[i] = spread + viscosity * viscous - flux * flows - forcing[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: usize = 12;

    /// The residual of a state, which is given by the share along ξ, η and ζ, at a point far from the surface.
    fn residual(state: impl Fn([f64; 3]) -> [f64; VALUES], at: usize) -> [f64; VALUES] {
        let pencil = Pencil::new(POINTS, 0, 1).expect("fits");
        let (mut u, mut out) = (Field::new(&pencil), Field::new(&pencil));
        let [columns, rows] = pencil.own();
        for k in 0..POINTS {
            for j in rows.clone() {
                for i in columns.clone() {
                    let share = [i - HALO, j - HALO, k].map(|index| pencil.coordinate(index));
                    u.set([i, j, k], state(share));
                }
            }
        }
        Residual::new(&pencil).compute(&u, &Field::new(&pencil), &mut out);
        out.point([at + HALO, at + HALO, at])
    }

    fn close(found: [f64; VALUES], expected: [f64; VALUES]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-10, "{found} {expected}");
        }
    }

    #[test]
    fn a_uniform_flow_is_steady_up_to_the_surface() {
        for at in 3..POINTS - 3 {
            close(residual(|_| [1.2, 0.3, -0.4, 0.5, 2.5], at), [0.0; VALUES]);
        }
    }

    #[test]
    fn density_at_rest_diffuses_and_moves_nothing() {
        // Diffusion of ξ² + η² + ζ² is twice the sum of 0.75, 0.75 and 1; pressure is even.
        let found = residual(|s| [1.0 + s.map(|s| s * s).iter().sum::<f64>(), 0.0, 0.0, 0.0, 1.0], 5);
        close([found[0], found[1], found[2], found[3], 0.0], [5.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_shear_flow_is_slowed_by_viscosity_and_heats() {
        // The momentum along ξ is η²: viscosity and diffusion act on its curvature of 2, and nothing else on momentum.
        let found = residual(|[_, eta, _]| [1.0, eta * eta, 0.0, 0.0, 3.0 + 0.5 * eta.powi(4)], 6);
        close([found[1], 0.0, found[3], 0.0, 0.0], [2.0 * (VISCOSITY + 0.75), 0.0, 0.0, 0.0, 0.0]);
        assert!(found[4] > 0.0);
    }
}
