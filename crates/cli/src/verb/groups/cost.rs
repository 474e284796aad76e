//! What a command that runs on uses itself.

use std::time::Instant;

use crosstalk_host::clock::process_cpu_ns;

/// What this command itself uses.
pub struct Cost {
    began: Instant,
    /// Nanoseconds of CPU time that it had used then.
    used: u64,
}

impl Cost {
    /// Counts from now on.
    pub fn from_now() -> Self {
        Cost { began: Instant::now(), used: process_cpu_ns() }
    }

    /// Processors that it uses, on average.
    pub fn processors(&self) -> f64 {
        let used = process_cpu_ns().saturating_sub(self.used) as f64 * 1e-9;
        used / self.began.elapsed().as_secs_f64().max(1e-9)
    }
}
