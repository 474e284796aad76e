//! Timing batches of one thing until their median is known.

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_work::peer::Deadline;

use crate::clock;
use crate::settle::median;

/// The median of batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// Seconds of one of the things in a batch.
    pub each: f64,
    /// How many batches were timed.
    pub batches: u64,
}

/// Times batches for `duration`, and on until they are enough for a median: on a machine that others load, one
/// batch can take longer than all of a short duration. `batch` runs one, and returns its seconds per thing; `what`
/// names what is waited for.
///
/// # Errors
/// An interruption; an attempt fault at the deadline.
pub fn time_batches(
    duration: Seconds,
    until: &Deadline,
    what: &str,
    mut batch: impl FnMut() -> f64,
) -> Result<Timed, Fault> {
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut times = Vec::new();
    loop {
        times.push(batch());
        until.check(what)?;
        if clock::now() >= end
            && let Some(each) = median(&times)
        {
            return Ok(Timed { each, batches: times.len() as u64 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::FaultKind;
    use std::sync::atomic::AtomicBool;

    /// What the batches of no duration at all give, of which the n-th takes n seconds.
    fn timed(limit: f64) -> Result<Timed, Fault> {
        let never = AtomicBool::new(false);
        let mut n = 0.0;
        time_batches(Seconds(0.0), &Deadline::new(Seconds(limit), &never), "the batches", || {
            n += 1.0;
            n
        })
    }

    #[test]
    fn a_duration_that_one_batch_uses_up_still_has_a_median() {
        // Six are the fewest for a median (`crosstalk_stats::quantile`).
        assert_eq!(timed(60.0), Ok(Timed { each: 3.0, batches: 6 }));
    }

    #[test]
    fn the_deadline_ends_them() {
        let fault = timed(0.0).expect_err("is over");
        assert_eq!(fault.kind, FaultKind::Attempt);
        assert!(fault.message.contains("the batches"), "{fault}");
    }
}
