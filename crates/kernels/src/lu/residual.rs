//! The residual of the steady state: differences of fluxes, viscosity and dissipation, less the forcing
//! (RNR-94-007, section 3).
//!
//! What fluxes and viscosity need besides the five values is derived from them once for each point, plane by plane: three
//! planes of it are enough.

use super::field::Field;
use super::pencil::{HALO, Pencil};
use super::row::{DERIVED_PLANES, Row, Weights};
use crate::flow::differences::{per_distance, spreading};
use crate::flow::{CONDUCTION, GAMMA, VALUES, VISCOSITY};

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
        let of = |i: usize| spreading(pencil.first[0] + i - HALO, pencil.points, 0);
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
                let at = Row { xi: xi.clone(), row, plane };
                at.compute([u, forcing], &self.derived, residual, &self.weights(row, plane));
            }
        }
    }

    fn weights(&self, row: usize, plane: usize) -> Weights<'_> {
        let Pencil { points, first, .. } = self.pencil;
        let [once, twice] = per_distance(points);
        let (eta, zeta) = (spreading(first[1] + row - HALO, points, 1), spreading(plane, points, 2));
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
                    let share = [i - HALO, j - HALO, k].map(|index| index as f64 / (POINTS - 1) as f64);
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
