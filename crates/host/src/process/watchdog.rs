//! A watchdog timer: one of the kernel that kills this process unless it is renewed.

use std::io;
use std::time::Duration;

use super::timer::{Receiver, Timer};

/// Kills this process, also one that is stopped or hangs, when it has not been renewed for a time. Dropping it disarms it.
#[derive(Debug)]
pub struct WatchdogTimer {
    timer: Timer,
    after: Duration,
}

impl WatchdogTimer {
    /// Arms it.
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub fn arm(after: Duration) -> io::Result<Self> {
        let watchdog = WatchdogTimer { timer: Timer::new(libc::SIGKILL, Receiver::Process)?, after };
        watchdog.renew()?;
        Ok(watchdog)
    }

    /// Starts its time anew.
    ///
    /// # Errors
    /// If the kernel refuses, which it does for a time of more than 2⁶³ s.
    pub fn renew(&self) -> io::Result<()> {
        self.timer.set(self.after, Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_renewed_and_disarmed() {
        let watchdog = WatchdogTimer::arm(Duration::from_secs(100)).expect("every kernel has timers");
        watchdog.renew().expect("is armed");
        drop(watchdog);
        // What it does to a stopped process is tested with `groups watch`: here it would end the tests.
    }
}
