//! Calls in a loop, as the Intel MPI Benchmarks time them: the loop's time over its number of calls, at the slowest rank.
//! Calls may overlap, so that this is less than the time of one call. Those of `pingpong` cannot: each begins and ends at
//! rank 0, and has a time of its own.

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
    let (mut times, mut in_loops) = (Vec::new(), Vec::new());
    loop {
        let mut continues = [i32::from(times.len() < FEWEST || Instant::now() < end)];
        rank.world().bcast(0, &mut continues)?;
        if continues == [0] {
            let measured = Measured {
                times: Times { together: times, ..Times::default() },
                in_loops: if function == Function::PingPong { in_loops } else { Vec::new() },
                clock_error: 0,
            };
            return Ok(if rank.id() == 0 { measured } else { Measured::default() });
        }
        rank.world().barrier()?;
        let begin = Instant::now();
        let mut began = begin;
        for _ in 0..number {
            calls.call(rank)?;
            let ended = Instant::now();
            in_loops.push((ended - began).as_nanos() as i64);
            began = ended;
        }
        let mut time = [begin.elapsed().as_nanos() as i64 / number];
        rank.world().allreduce(&mut time, ReduceOp::Max)?;
        times.push(time[0]);
    }
}
