//! Calls in real time: as many as there is time for, each in a window of its own.

use std::time::{Duration, Instant};

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use super::calls::Calls;
use super::clocks;
use super::function::Function;
use super::windows::{FEWEST, Measured, Times, Windows, times, wait_until};

/// The most windows between two comparisons of the clocks.
const MOST: i64 = 500;
/// So many calls that began late are enough, where too few began together.
const PATIENCE: usize = 60;
/// Added to a call's time, in nanoseconds: ranks wake up, and receive the windows.
const SLACK: i64 = 250_000;
/// A window is twice as long as a call at first, and at most four times that.
const ROOM: i64 = 2;
const LONGER: i64 = 4;

/// Whether there are calls enough, or too many were late.
fn has_enough(times: &Times) -> bool {
    times.together.len() >= FEWEST || times.late.len() >= PATIENCE
}

/// Times calls for about `duration`. The result is known to rank 0 only; others get an empty one.
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
    let mut length = ROOM * calls.usual_time(rank)? + SLACK;
    let longest = LONGER * length;
    let mut measured = Measured::default();
    loop {
        // Clocks drift apart: they are compared before each series of windows.
        let clock = clocks::compare(rank)?;
        let mut error = [clock.error];
        rank.world().allreduce(&mut error, ReduceOp::Max)?;
        let left = end.saturating_duration_since(Instant::now());
        let count = match left.as_nanos() as i64 / length {
            0 if has_enough(&measured.times) => 0,
            count => count.clamp(FEWEST as i64, MOST),
        };
        let mut numbers = Windows { begin: clock.now() + length + SLACK, length, count }.numbers();
        rank.world().bcast(0, &mut numbers)?;
        let windows = Windows::from_numbers(numbers);
        if windows.count == 0 {
            return Ok(measured);
        }
        let mut own: Vec<i64> = Vec::with_capacity(2 * windows.count as usize);
        for index in 0..windows.count {
            calls.renew(rank.id());
            own.push(wait_until(windows.begin_of(index), clock));
            calls.call(rank)?;
            own.push(clock.now());
        }
        if let Some(all) = rank.world().gather(0, &own)? {
            let all: Vec<[i64; 2]> = all.chunks_exact(2).map(|call| [call[0], call[1]]).collect();
            let times = times(windows, &all);
            // Windows were too short for most calls.
            length = if times.late.len() > times.together.len() { longest.min(2 * length) } else { length };
            measured.times.together.extend(times.together);
            measured.times.late.extend(times.late);
            measured.clock_error = measured.clock_error.max(2 * error[0]);
        }
    }
}
