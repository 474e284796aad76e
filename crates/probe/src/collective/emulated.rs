//! A call in virtual time, where all clocks are exact.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::calls::Calls;
use super::function::Function;

/// The seconds of one call: from its common begin to its end at the last rank. Known to rank 0 only.
///
/// # Errors
/// If something else arrives than was sent, or ranks are gone.
pub fn time(function: Function, size: usize, rank: &mut Rank) -> Result<Option<f64>, Fault> {
    let (id, ranks) = (rank.id(), rank.size());
    let mut calls = Calls::new(function, size, id, ranks);
    rank.restart_clock()?;
    calls.call(rank)?;
    let own = rank.now()?.0;
    calls.check(id, ranks)?;
    let all = rank.world().gather(0, &[own])?;
    Ok(all.map(|ends| ends.into_iter().fold(0.0, f64::max)))
}
