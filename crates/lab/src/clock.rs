//! The clock for the time stamps of the journal.

use std::time::{SystemTime, UNIX_EPOCH};

/// A wall clock. Tests have one that they set.
pub trait Clock {
    /// Unix time in seconds.
    fn now(&self) -> f64;
}

/// The machine's own clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
    }
}
