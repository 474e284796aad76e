//! What is verified: norms, and the integral over a surface (RNR-94-007, section 3).

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;
use std::ops::Range;

use super::field::Field;
use super::pencil::{HALO, Pencil};
use crate::flow::exact::exact_at;
use crate::flow::norms::root_mean_square;
use crate::flow::{GAMMA, VALUES};

/// The root mean square of each value over the cube's inner points.
///
/// # Errors
/// If ranks are gone.
pub(super) fn norm(rank: &mut Rank, pencil: &Pencil, field: &Field) -> Result<[f64; VALUES], Fault> {
    let [xi, eta] = pencil.inner();
    let mut sums = [0.0; VALUES];
    for plane in pencil.planes() {
        for row in eta.clone() {
            for (value, sum) in sums.iter_mut().enumerate() {
                *sum += field.line(value, row, plane)[xi.clone()].iter().map(|x| x * x).sum::<f64>();
            }
        }
    }
    root_mean_square(rank, pencil.points, sums)
}

/// The same of the distance from the exact solution.
///
/// # Errors
/// If ranks are gone.
pub(super) fn error(rank: &mut Rank, pencil: &Pencil, u: &Field) -> Result<[f64; VALUES], Fault> {
    let [xi, eta] = pencil.inner();
    let mut sums = [0.0; VALUES];
    for plane in pencil.planes() {
        for row in eta.clone() {
            for i in xi.clone() {
                let at = [pencil.first[0] + i - HALO, pencil.first[1] + row - HALO, plane];
                let exact = exact_at(at, pencil.points);
                let point = u.point([i, row, plane]);
                for (sum, (exact, found)) in sums.iter_mut().zip(exact.iter().zip(point)) {
                    *sum += (exact - found) * (exact - found);
                }
            }
        }
    }
    root_mean_square(rank, pencil.points, sums)
}

/// The integral of pressure over the six faces of a box within the cube, by the trapezoidal rule.
///
/// # Errors
/// If ranks are gone.
pub(super) fn surface(rank: &mut Rank, pencil: &Pencil, u: &Field) -> Result<f64, Fault> {
    let points = pencil.points;
    let bounds = [1..points - 1, 1..points - 2, 2..points - 1];
    let mut sum = [faces(pencil, u, &bounds)];
    rank.world().allreduce(&mut sum, ReduceOp::Sum)?;
    let distance = 1.0 / (points - 1) as f64;
    Ok(0.25 * distance * distance * sum[0])
}

/// A rank's part of the sum over the faces of the box of these points of the cube: each point as often as it is the corner of
/// a square on a face.
fn faces(pencil: &Pencil, u: &Field, bounds: &[Range<usize>; 3]) -> f64 {
    let [xi, eta] = pencil.own();
    let mut sum = 0.0;
    for k in bounds[2].clone() {
        for j in eta.clone() {
            for i in xi.clone() {
                let corners = corners([pencil.first[0] + i - HALO, pencil.first[1] + j - HALO, k], bounds);
                if corners > 0.0 {
                    sum += corners * pressure(u.point([i, j, k]));
                }
            }
        }
    }
    sum
}

/// Of how many squares on the faces of a box a point is a corner.
fn corners(point: [usize; 3], bounds: &[Range<usize>; 3]) -> f64 {
    if point.iter().zip(bounds).any(|(at, bounds)| !bounds.contains(at)) {
        return 0.0;
    }
    let ends: [bool; 3] =
        std::array::from_fn(|axis| point[axis] == bounds[axis].start || point[axis] + 1 == bounds[axis].end);
    // On a face, a point within the extent of an axis has a square on either side.
    let squares = ends.map(|end| if end { 1.0 } else { 2.0 });
    let on = |axis: usize| if ends[axis] { squares[(axis + 1) % 3] * squares[(axis + 2) % 3] } else { 0.0 };
    on(0) + on(1) + on(2)
}

fn pressure(u: [f64; VALUES]) -> f64 {
    (GAMMA - 1.0) * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_have_four_corners_each() {
        let bounds = [1..5, 1..4, 2..5];
        let mut sum = 0.0;
        for i in 0..7 {
            for j in 0..7 {
                for k in 0..7 {
                    sum += corners([i, j, k], &bounds);
                }
            }
        }
        // 3 × 2, 3 × 2 and 2 × 2 squares, on two faces each.
        assert_eq!(sum, 4.0 * 2.0 * (6.0 + 6.0 + 4.0));
    }
}
