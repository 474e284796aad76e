//! The implicit operator at a point: its diagonal block, and what it adds to the equations of the next points
//! (RNR-94-007, section 3).
//!
//! The Jacobians of the fluxes are never formed: their products with a vector v are written out in terms of the velocities.
//! With the disturbance of a velocity, aₘ = vₘ − uₘ·v₁, viscosity is diagonal, so that the diagonal block is
//! solved value by value.

use crate::flow::differences::{DIFFUSION, per_distance};
use crate::flow::{ALONG, CONDUCTION, GAMMA, VALUES, VISCOSITY};

/// The over-relaxation factor.
pub(super) const RELAXATION: f64 = 1.2;

/// The state of a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    density: f64,
    /// One over it.
    volume: f64,
    velocity: [f64; 3],
    /// Energy over density.
    energy: f64,
}

impl State {
    #[inline(always)]
    pub(super) fn new(point: [f64; VALUES]) -> Self {
        let volume = 1.0 / point[0];
        State {
            density: point[0],
            volume,
            velocity: [point[1] * volume, point[2] * volume, point[3] * volume],
            energy: point[4] * volume,
        }
    }

    /// The disturbances of velocities and specific energy that belong to a vector, times the density.
    #[inline(always)]
    pub(super) fn disturbance(&self, v: [f64; VALUES]) -> [f64; 4] {
        let [x, y, z] = self.velocity;
        [v[1] - x * v[0], v[2] - y * v[0], v[3] - z * v[0], v[4] - self.energy * v[0]]
    }

    #[inline(always)]
    fn along(&self, a: [f64; 4]) -> f64 {
        let [x, y, z] = self.velocity;
        x * a[0] + y * a[1] + z * a[2]
    }
}

/// The operator's coefficients. All grids are cubes, so that they are the same in each direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Implicit {
    /// What the diagonal has without viscosity, and one over it.
    diagonal: f64,
    inverse: f64,
    /// Viscosity on the diagonal, and conduction.
    viscous: f64,
    conducted: f64,
    /// The following ones are relaxed. Of fluxes: less for the lower triangle, more for the upper one.
    flux: f64,
    /// Of viscosity and conduction, towards a neighbour.
    viscosity: f64,
    conduction: f64,
    /// Of the artificial diffusion in each direction.
    diffusion: [f64; 3],
}

impl Implicit {
    /// The lower or upper triangle, for so many points and this step.
    pub(super) fn new(points: usize, step: f64, upper: bool) -> Self {
        let [once, twice] = per_distance(points);
        let diagonal = 1.0 + 2.0 * step * twice * DIFFUSION.iter().sum::<f64>();
        let relaxed = RELAXATION * step;
        let conduction = VISCOSITY * CONDUCTION;
        Implicit {
            diagonal,
            inverse: 1.0 / diagonal,
            viscous: 2.0 * step * twice * VISCOSITY * (ALONG + 2.0),
            conducted: 2.0 * step * twice * conduction * 3.0,
            flux: relaxed * once * 0.5 * if upper { 1.0 } else { -1.0 },
            viscosity: relaxed * twice * VISCOSITY,
            conduction: relaxed * twice * conduction,
            diffusion: DIFFUSION.map(|diffusion| relaxed * twice * diffusion),
        }
    }

    /// Solves the diagonal block for a right side. Returns the solution, and its disturbance.
    #[inline(always)]
    pub(super) fn solve(&self, at: &State, right: [f64; VALUES]) -> ([f64; VALUES], [f64; 4]) {
        let viscous = at.density / (self.diagonal * at.density + self.viscous);
        let conducted = at.density / (self.diagonal * at.density + self.conducted);
        let [x, y, z, e] = at.disturbance(right);
        let [x, y, z] = [x * viscous, y * viscous, z * viscous];
        let work = (self.viscous - self.conducted) * at.volume * at.along([x, y, z, 0.0]);
        let e = (e - work) * conducted;
        let density = right[0] * self.inverse;
        let [u, v, w] = at.velocity;
        let solution = [density, x + u * density, y + v * density, z + w * density, e + at.energy * density];
        (solution, [x, y, z, e])
    }

    /// What a point adds to the equations of its next ones in each direction, of its solution `v` and the disturbance of
    /// that: the flux's Jacobian, and viscosity, times `v`.
    #[inline(always)]
    pub(super) fn outgoing(&self, at: &State, v: [f64; VALUES], a: [f64; 4]) -> [[f64; VALUES]; 3] {
        let [x, y, z] = at.velocity;
        let square = 0.5 * (x * x + y * y + z * z);
        let enthalpy = GAMMA * at.energy - (GAMMA - 1.0) * square;
        let pressure = (GAMMA - 1.0) * (v[4] + square * v[0] - x * v[1] - y * v[2] - z * v[3]);
        let stress = self.viscosity * at.volume;
        let conducted = self.conduction * at.volume;
        let change = Change {
            v,
            a,
            enthalpy,
            pressure,
            heat: v[4] + pressure - enthalpy * v[0],
            stress,
            work: (stress - conducted) * at.along(a) + conducted * a[3],
        };
        [self.towards::<0>(at, &change), self.towards::<1>(at, &change), self.towards::<2>(at, &change)]
    }

    /// The same in one direction.
    #[inline(always)]
    fn towards<const AXIS: usize>(&self, at: &State, change: &Change) -> [f64; VALUES] {
        let Change { v, a, enthalpy, pressure, heat, stress, work } = *change;
        let [x, y, z] = at.velocity;
        let (speed, mass) = (at.velocity[AXIS], v[AXIS + 1]);
        let mut flux = [
            mass,
            x * mass + speed * a[0],
            y * mass + speed * a[1],
            z * mass + speed * a[2],
            enthalpy * mass + speed * heat,
        ];
        flux[AXIS + 1] += pressure;
        let more = (ALONG - 1.0) * stress * a[AXIS];
        let mut viscous = [0.0, stress * a[0], stress * a[1], stress * a[2], work + more * speed];
        viscous[AXIS + 1] += more;
        let diffusion = self.diffusion[AXIS];
        [
            self.flux * flux[0] - diffusion * v[0],
            self.flux * flux[1] - viscous[1] - diffusion * v[1],
            self.flux * flux[2] - viscous[2] - diffusion * v[2],
            self.flux * flux[3] - viscous[3] - diffusion * v[3],
            self.flux * flux[4] - viscous[4] - diffusion * v[4],
        ]
    }
}

/// What a vector changes at a point.
#[derive(Debug, Clone, Copy)]
struct Change {
    v: [f64; VALUES],
    /// Its disturbance.
    a: [f64; 4],
    /// Of the point.
    enthalpy: f64,
    pressure: f64,
    /// Energy and pressure, less what the change of density carries.
    heat: f64,
    /// Viscosity over density.
    stress: f64,
    /// What viscosity and conduction change of the energy, the same in each direction.
    work: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [usize; 3] = [0, 1, 2];
    const POINT: [f64; VALUES] = [1.3, 0.4, -0.7, 0.9, 3.1];
    const VECTOR: [f64; VALUES] = [0.5, -0.3, 0.8, 0.2, -0.6];

    /// The flux along an axis (RNR-94-007, section 3), without viscosity.
    fn flux(u: [f64; VALUES], axis: usize) -> [f64; VALUES] {
        let pressure = (GAMMA - 1.0) * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
        let speed = u[axis + 1] / u[0];
        let mut flux = u.map(|value| value * speed);
        flux[axis + 1] += pressure;
        flux[4] += pressure * speed;
        flux
    }

    /// What viscosity acts on: velocities, and energy with its work, along an axis.
    fn viscous(u: [f64; VALUES], axis: usize) -> [f64; VALUES] {
        let v = [u[1] / u[0], u[2] / u[0], u[3] / u[0]];
        let square: f64 = v.iter().map(|v| v * v).sum();
        let mut all = [0.0, v[0], v[1], v[2], 0.5 * (1.0 - CONDUCTION) * square + CONDUCTION * u[4] / u[0]];
        all[axis + 1] *= ALONG;
        all[4] += v[axis] * v[axis] / 6.0;
        all
    }

    /// A derivative in the direction of a vector, by differences.
    fn derivative(of: impl Fn([f64; VALUES]) -> [f64; VALUES], along: [f64; VALUES]) -> [f64; VALUES] {
        let small = 1e-5;
        let at = |h: f64| of(std::array::from_fn(|m| POINT[m] + h * along[m]));
        let (more, less) = (at(small), at(-small));
        std::array::from_fn(|m| (more[m] - less[m]) / (2.0 * small))
    }

    fn close(found: [f64; VALUES], expected: [f64; VALUES]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-7 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    #[test]
    fn what_goes_out_is_the_derivative_of_fluxes_and_viscosity() {
        let (points, step) = (9, 0.01);
        let [once, twice] = per_distance(points);
        let state = State::new(POINT);
        for (upper, sign) in [(false, -1.0), (true, 1.0)] {
            let operator = Implicit::new(points, step, upper);
            let found = operator.outgoing(&state, VECTOR, state.disturbance(VECTOR));
            for axis in AXES {
                let (flux, viscous) =
                    (derivative(|u| flux(u, axis), VECTOR), derivative(|u| viscous(u, axis), VECTOR));
                close(
                    found[axis],
                    std::array::from_fn(|m| {
                        let spread = VISCOSITY * viscous[m] + DIFFUSION[axis] * VECTOR[m];
                        RELAXATION * step * (sign * 0.5 * once * flux[m] - twice * spread)
                    }),
                );
            }
        }
    }

    #[test]
    fn the_diagonal_block_is_solved() {
        let (points, step) = (9, 0.01);
        let [_, twice] = per_distance(points);
        let (found, a) = Implicit::new(points, step, false).solve(&State::new(POINT), VECTOR);
        assert_eq!(
            State::new(POINT).disturbance(found).map(|a| (a * 1e12).round()),
            a.map(|a| (a * 1e12).round())
        );
        let mut product = found;
        for axis in AXES {
            let viscous = derivative(|u| viscous(u, axis), found);
            for m in 0..VALUES {
                product[m] += 2.0 * step * twice * (VISCOSITY * viscous[m] + DIFFUSION[axis] * found[m]);
            }
        }
        close(product, VECTOR);
    }
}
