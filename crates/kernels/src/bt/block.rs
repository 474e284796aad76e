//! Blocks of 5 by 5 numbers: the Jacobians of a flow, and Gauss's elimination. Momentum along the line is value 1.
#![allow(clippy::needless_range_loop, reason = "rows and columns of several blocks are numbered alike")]

use crate::adi::coefficients::Coefficients;
use crate::flow::{ALONG, CONDUCTION, GAMMA, VALUES, VISCOSITY};

/// A block, row by row.
pub(super) type Block = [[f64; VALUES]; VALUES];

/// The Jacobians of a point's fluxes along a line, for a time step: of what is carried along, times the first
/// difference's factor, and of stress, heat and diffusion, times the second difference's (RNR-94-007, section 3.4).
#[inline(always)]
pub(super) fn jacobians(along: &Coefficients, flow: [f64; VALUES]) -> (Block, Block) {
    let (first, second) = (along.step * along.first, along.step * along.second);
    let volume = 1.0 / flow[0];
    let (u, v, w, energy) = (flow[1] * volume, flow[2] * volume, flow[3] * volume, flow[4] * volume);
    let kinetic = 0.5 * (u * u + v * v + w * w);
    // What pressure is of the energy that is not kinetic.
    let share = GAMMA - 1.0;
    let carried = [
        [0.0, first, 0.0, 0.0, 0.0],
        [
            first * (share * kinetic - u * u),
            first * (2.0 - share) * u,
            -first * share * v,
            -first * share * w,
            first * share,
        ],
        [-first * u * v, first * v, first * u, 0.0, 0.0],
        [-first * u * w, first * w, 0.0, first * u, 0.0],
        [
            first * (2.0 * share * kinetic - GAMMA * energy) * u,
            first * (GAMMA * energy - share * (kinetic + u * u)),
            -first * share * u * v,
            -first * share * u * w,
            first * GAMMA * u,
        ],
    ];
    let across = second * VISCOSITY * volume;
    let (lengthwise, heat) = (ALONG * across, CONDUCTION * across);
    let diffusion = second * along.diffusion;
    let (more, less) = (lengthwise - heat, across - heat);
    let spread = [
        [diffusion, 0.0, 0.0, 0.0, 0.0],
        [-lengthwise * u, lengthwise + diffusion, 0.0, 0.0, 0.0],
        [-across * v, 0.0, across + diffusion, 0.0, 0.0],
        [-across * w, 0.0, 0.0, across + diffusion, 0.0],
        [
            -more * u * u - less * (v * v + w * w) - heat * energy,
            more * u,
            less * v,
            less * w,
            heat + diffusion,
        ],
    ];
    (carried, spread)
}

/// Combines two blocks number by number.
#[inline(always)]
pub(super) fn combine(a: &Block, b: &Block, of: impl Fn(f64, f64) -> f64) -> Block {
    let mut combined = [[0.0; VALUES]; VALUES];
    for m in 0..VALUES {
        for n in 0..VALUES {
            combined[m][n] = of(a[m][n], b[m][n]);
        }
    }
    combined
}

/// Subtracts a column of a product: `column` of the block that is multiplied by `lower`, which is as sparse as Jacobians
/// are.
#[inline(always)]
pub(super) fn subtract(lower: &Block, column: [f64; VALUES], from: [f64; VALUES]) -> [f64; VALUES] {
    let [a, b, c, d, e] = column;
    let full = |row: &[f64; VALUES]| row[0] * a + row[1] * b + row[2] * c + row[3] * d + row[4] * e;
    [
        from[0] - (lower[0][0] * a + lower[0][1] * b),
        from[1] - full(&lower[1]),
        from[2] - (lower[2][0] * a + lower[2][1] * b + lower[2][2] * c),
        from[3] - (lower[3][0] * a + lower[3][1] * b + lower[3][3] * d),
        from[4] - full(&lower[4]),
    ]
}

/// Multiplies `right` and `vector` by the inverse of `block`, by Gauss and Jordan's elimination. Its diagonal is large enough
/// that rows need no exchange.
#[inline(always)]
pub(super) fn solve(block: &mut Block, right: &mut Block, vector: &mut [f64; VALUES]) {
    eliminate::<0>(block, right, vector);
    eliminate::<1>(block, right, vector);
    eliminate::<2>(block, right, vector);
    eliminate::<3>(block, right, vector);
    eliminate::<4>(block, right, vector);
}

#[inline(always)]
fn eliminate<const P: usize>(block: &mut Block, right: &mut Block, vector: &mut [f64; VALUES]) {
    let scale = 1.0 / block[P][P];
    for n in P + 1..VALUES {
        block[P][n] *= scale;
    }
    for n in 0..VALUES {
        right[P][n] *= scale;
    }
    vector[P] *= scale;
    for m in 0..VALUES {
        if m != P {
            let factor = block[m][P];
            for n in P + 1..VALUES {
                block[m][n] -= factor * block[P][n];
            }
            for n in 0..VALUES {
                right[m][n] -= factor * right[P][n];
            }
            vector[m] -= factor * vector[P];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solved_system_is_the_one_that_was_multiplied() {
        let block: Block = std::array::from_fn(|m| {
            std::array::from_fn(|n| if m == n { 9.0 } else { ((3 * m + 5 * n) % 7) as f64 - 2.0 })
        });
        let solution = [1.0, -2.0, 3.0, 0.5, -0.25];
        let mut vector = block.map(|row| row.iter().zip(solution).map(|(a, b)| a * b).sum::<f64>());
        let (mut left, mut right) = (block, block);
        solve(&mut left, &mut right, &mut vector);
        for m in 0..VALUES {
            assert!((vector[m] - solution[m]).abs() < 1e-12);
            for n in 0..VALUES {
                assert!((right[m][n] - f64::from(u8::from(m == n))).abs() < 1e-12);
            }
        }
    }

    /// What is carried along a line, by the report: flux and pressure.
    fn flux([density, along, b, c, energy]: [f64; VALUES]) -> [f64; VALUES] {
        let u = along / density;
        let pressure = (GAMMA - 1.0) * (energy - 0.5 * (along * along + b * b + c * c) / density);
        [along, along * u + pressure, b * u, c * u, (energy + pressure) * u]
    }

    #[test]
    fn jacobians_are_derivatives_of_fluxes() {
        let along = Coefficients { diffusion: 0.75, second: 1.0, first: 1.0, step: 1.0 };
        let flow = [1.5, 0.7, -0.4, 0.3, 6.0];
        let (carried, _) = jacobians(&along, flow);
        for n in 0..VALUES {
            let shifted = |by: f64| {
                let mut there = flow;
                there[n] += by;
                flux(there)
            };
            let (less, more) = (shifted(-1e-6), shifted(1e-6));
            for m in 0..VALUES {
                let slope = (more[m] - less[m]) / 2e-6;
                assert!((carried[m][n] - slope).abs() < 1e-8, "{m} {n}: {} {slope}", carried[m][n]);
            }
        }
    }
}
