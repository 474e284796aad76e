//! The end of every wait: a deadline, or that the attempt is cancelled.

use crosstalk_core::Fault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a waiting rank checks whether it was cancelled.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(50);

/// When operations end with a fault.
pub(crate) struct Deadline<'c> {
    pub(crate) until: Instant,
    pub(crate) cancelled: &'c AtomicBool,
}

impl Deadline<'_> {
    /// How long to wait before the next check. A fault if the deadline has passed.
    /// `doing` says what is waited for.
    pub(crate) fn remaining(&self, doing: &dyn Fn() -> String) -> Result<Duration, Fault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::interrupted().at(doing()));
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::attempt(format!("the deadline passed while {}", doing()))
                .remedy("allow more time, or make the input smaller"));
        }
        Ok(left.min(CANCEL_POLL))
    }
}
