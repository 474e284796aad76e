//! The numbers of the scheme (RNR-94-007, section 3.2). Steps are as long in all directions, and a diffusion coefficient
//! is the same for all five values, so that three sets of numbers say all.

use crate::flow::differences::{DIFFUSION, per_distance};
use crate::flow::{ALONG, CONDUCTION, VISCOSITY};

/// The numbers of a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coefficients {
    /// The added diffusion.
    pub(crate) diffusion: f64,
    /// One over the square of the distance between points.
    pub(crate) second: f64,
    /// One over twice that distance.
    pub(crate) first: f64,
    /// The time step.
    pub(crate) step: f64,
}

impl Coefficients {
    /// Of each direction, of a cube of `points`³ and of this time step.
    pub(crate) fn new(points: usize, step: f64) -> [Self; 3] {
        let [once, twice] = per_distance(points);
        DIFFUSION.map(|diffusion| Coefficients { diffusion, second: twice, first: once / 2.0, step })
    }

    /// Viscous stress across the direction, by the second difference of a velocity.
    pub(crate) fn stress(&self) -> f64 {
        VISCOSITY * self.second
    }

    /// How much more stress there is along the direction.
    pub(crate) fn stress_along(&self) -> f64 {
        ALONG * self.stress()
    }

    /// Energy that stress and heat spread: by second differences of the kinetic energy, of the square of the velocity along
    /// the direction, and of the whole energy, each per mass.
    pub(crate) fn dissipated(&self) -> [f64; 3] {
        [1.0 - CONDUCTION, 1.0 / 6.0, CONDUCTION].map(|share| share * self.stress())
    }
}
