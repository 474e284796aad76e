//! Calls in a loop, as the Intel MPI Benchmarks time them: the loop's time over its number of calls, at the slowest rank.
//! Calls may overlap, so that this is less than the time of one call.

use std::time::{Duration, Instant};

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use super::calls::Calls;
use super::function::Function;
use super::windows::{FEWEST, Measured, Times};

/// How long a loop takes, about, in nanoseconds. Between two loops ranks meet at a barrier.
const LOOP: i64 = 5_000_000;

/// Times loops for about `duration`; of each, the nanoseconds of a call. Known to rank 0 only.
///
/// # Errors
/// If something else arrives than was sent, or ranks are gone.
pub fn measure(
    function: Function,
    size: usize,
    duration: Duration,
    rank: &mut Rank,
) -> Result<Measured, Fault> {
    let end = Instant::now() + duration;
    let mut calls = Calls::checked(function, size, rank)?;
    let number = (LOOP / calls.usual_time(rank)?.max(1)).clamp(1, 10_000);
    let mut times = Vec::new();
    loop {
        let mut continues = [i32::from(times.len() < FEWEST || Instant::now() < end)];
        rank.world().bcast(0, &mut continues)?;
        if continues == [0] {
            let times = if rank.id() == 0 { times } else { Vec::new() };
            return Ok(Measured { times: Times { together: times, ..Times::default() }, clock_error: 0 });
        }
        rank.world().barrier()?;
        let begin = Instant::now();
        for _ in 0..number {
            calls.call(rank)?;
        }
        let mut time = [begin.elapsed().as_nanos() as i64 / number];
        rank.world().allreduce(&mut time, ReduceOp::Max)?;
        times.push(time[0]);
    }
}
