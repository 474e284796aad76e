//! How late a timer is.

use rustix::thread::{clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::units::Seconds;

use crate::clock;
use crosstalk_work::peer::Deadline;

/// How long a thread sleeps, in nanoseconds: long enough for its processor to run something else.
pub const SLEEP_NS: u64 = 500_000;

/// How late a sleeping thread wakes, in nanoseconds.
///
/// # Errors
/// Where it is interrupted.
pub fn time_wake_from_sleep(duration: Seconds, until: &Deadline) -> Result<Histogram, Fault> {
    let slack = current_timer_slack();
    // If the kernel refuses, the slack is part of the result.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let late = lateness(duration, until);
    let _ = set_current_timer_slack(slack.ok().and_then(NonZeroU64::new));
    late
}

fn lateness(duration: Seconds, until: &Deadline) -> Result<Histogram, Fault> {
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut late = Histogram::default();
    let mut now = clock::now();
    while now < end {
        let due = now + SLEEP_NS;
        let when = Timespec { tv_sec: (due / 1_000_000_000) as i64, tv_nsec: (due % 1_000_000_000) as _ };
        // A signal may end the sleep early: that does not count.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &when);
        now = clock::now();
        if now >= due {
            late.record(now - due);
        }
        until.check("the timer to be timed")?;
    }
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_timer_that_is_late_is_timed() {
        let never = AtomicBool::new(false);
        let late = time_wake_from_sleep(Seconds(0.1), &Deadline::new(Seconds(10.0), &never)).expect("times");
        assert!(late.count() > 0 && late.quantile(1.0).is_some_and(|ns| ns > 0.0), "{late:?}");
    }
}
