//! The numbers of the scheme (RNR-94-007, section 3.2). Steps are as long in all directions, and a diffusion coefficient
//! is the same for all five values, so that three sets of numbers say all.

use crate::flow::{ALONG, CONDUCTION, VISCOSITY};

/// The share of the fourth difference that is subtracted, to keep the flow smooth: a quarter of the largest diffusion.
pub(crate) const DISSIPATION: f64 = 0.25;
/// Diffusion in each direction, which the scheme adds to all values.
const DIFFUSION: [f64; 3] = [0.75, 0.75, 1.0];

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
        let intervals = (points - 1) as f64;
        DIFFUSION.map(|diffusion| Coefficients {
            diffusion,
            second: intervals * intervals,
            first: intervals / 2.0,
            step,
        })
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

/// The weights of a point's two neighbours before, of itself, and of the two after in its fourth difference. Next to the
/// boundary some are left out. `point` is the number along a line of `points`.
pub(crate) fn fourth_difference(point: usize, points: usize) -> [f64; 5] {
    match point {
        1 => [0.0, 0.0, 5.0, -4.0, 1.0],
        2 => [0.0, -4.0, 6.0, -4.0, 1.0],
        _ if point + 3 == points => [1.0, -4.0, 6.0, -4.0, 0.0],
        _ if point + 2 == points => [1.0, -4.0, 5.0, 0.0, 0.0],
        _ => [1.0, -4.0, 6.0, -4.0, 1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_has_no_fourth_difference_within() {
        let values = [0.0f64, 1.0, 2.0, 3.0, 4.0].map(|x| x * x * x - 2.0 * x * x + 5.0);
        let weighted = fourth_difference(5, 12).into_iter().zip(values).map(|(weight, value)| weight * value);
        assert_eq!(weighted.sum::<f64>(), 0.0);
    }

    #[test]
    fn no_weight_is_beyond_the_boundary_or_on_it_twice_removed() {
        for (point, outside) in [(1, [0, 1]), (2, [0, 0]), (9, [4, 4]), (10, [3, 4])] {
            let weights = fourth_difference(point, 12);
            assert!(outside.iter().all(|neighbour| weights[*neighbour] == 0.0), "{point}: {weights:?}");
        }
    }
}
