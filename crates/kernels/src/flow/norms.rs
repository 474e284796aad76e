//! Norms of fields over the cube, beside the official ones.

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use super::VALUES;
use crate::check::Check;

/// How far results may be from the official ones.
pub(crate) const TOLERANCE: f64 = 1e-8;

/// The root mean square of each value over the points within a cube of `points` along each side, of a rank's own sums of
/// squares.
///
/// # Errors
/// If ranks are gone.
pub(crate) fn root_mean_square(
    rank: &mut Rank,
    points: usize,
    mut sums: [f64; VALUES],
) -> Result<[f64; VALUES], Fault> {
    rank.world().allreduce(&mut sums, ReduceOp::Sum)?;
    let within = (points - 2).pow(3) as f64;
    Ok(sums.map(|sum| (sum / within).sqrt()))
}

/// Checks the norm of each value: `what` names the norm.
pub(crate) fn compare(what: &str, found: [f64; VALUES], official: [f64; VALUES]) -> Vec<Check> {
    let pairs = found.into_iter().zip(official).enumerate();
    let check = |(value, (found, official))| {
        Check::new(format!("{what} of value {}", value + 1), found, official, TOLERANCE)
    };
    pairs.map(check).collect()
}
