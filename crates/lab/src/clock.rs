//! The time a journal is stamped with.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time. A test's clock tells what the test says.
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
