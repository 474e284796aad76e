//! The limit of every wait: a deadline, or an earlier cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;

/// A deadline that can be cancelled. Every wait ends soon after either.
#[derive(Debug, Clone, Copy)]
pub struct Deadline<'a> {
    deadline: Instant,
    cancelled: &'a AtomicBool,
}

/// How often a wait checks whether it was cancelled.
pub const TICK: Duration = Duration::from_millis(100);

impl<'a> Deadline<'a> {
    /// `limit` from now, or as soon as `cancelled` is true.
    pub fn new(limit: Seconds, cancelled: &'a AtomicBool) -> Self {
        // A year stands for "no limit": `Instant` cannot hold any duration.
        let limit = Duration::from_secs_f64(limit.0.clamp(0.0, 365.0 * 86_400.0));
        Deadline { deadline: Instant::now() + limit, cancelled }
    }

    /// The same, but at most `limit` from now.
    #[must_use]
    pub fn at_most(self, limit: Duration) -> Self {
        Deadline { deadline: self.deadline.min(Instant::now() + limit), ..self }
    }

    /// Whether it was cancelled. Cheap enough to check for every message.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Turns a failure into an interruption where it was cancelled: the peer may have seen that first, and
    /// closed.
    pub fn interruption_or<T>(&self, outcome: Result<T, Fault>) -> Result<T, Fault> {
        outcome.map_err(|fault| if self.is_cancelled() { Fault::interrupted() } else { fault })
    }

    /// The remaining time.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether the deadline has passed.
    pub fn is_over(&self) -> bool {
        self.time_left().is_zero()
    }

    /// Continues while there is time; `what` names what is waited for.
    ///
    /// # Errors
    /// An interruption where it was cancelled; an attempt fault at the deadline.
    pub fn check(&self, what: &str) -> Result<(), Fault> {
        if self.is_cancelled() {
            return Err(Fault::interrupted());
        }
        if self.is_over() {
            return Err(Fault::attempt(format!("the time was up while waiting for {what}"))
                .remedy("see whether what is waited for hangs; in a study, --deadline allows more time"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::FaultKind;

    #[test]
    fn a_limit_of_zero_is_over_at_once_and_names_what_was_awaited() {
        let flag = AtomicBool::new(false);
        let fault = Deadline::new(Seconds(0.0), &flag).check("the reply").expect_err("is over");
        assert!(fault.message.contains("the reply"), "{fault}");
    }

    #[test]
    fn a_cancelled_wait_is_an_interruption() {
        let flag = AtomicBool::new(true);
        let fault = Deadline::new(Seconds(60.0), &flag).check("the reply").expect_err("is cancelled");
        assert_eq!(fault.kind, FaultKind::Interrupted);
    }

    #[test]
    fn what_fails_once_cancelled_is_an_interruption() {
        let flag = AtomicBool::new(false);
        let until = Deadline::new(Seconds(60.0), &flag);
        let gone: Result<(), Fault> = Err(Fault::attempt("gone"));
        assert_eq!(until.interruption_or(gone.clone()), gone);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(until.interruption_or(gone), Err(Fault::interrupted()));
        assert_eq!(until.interruption_or(Ok(1)), Ok(1));
    }

    #[test]
    fn a_narrower_limit_wins_and_a_wider_one_does_not() {
        let flag = AtomicBool::new(false);
        let until = Deadline::new(Seconds(5.0), &flag);
        assert!(until.at_most(Duration::from_secs(1)).time_left() <= Duration::from_secs(1));
        assert!(until.at_most(Duration::from_secs(99)).time_left() <= Duration::from_secs(5));
    }
}
