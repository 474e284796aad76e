//! What ends this process if it does not answer: a timer of the kernel, which has to be renewed.

use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_host::process::{Interruptions, WatchdogTimer, cannot};

use super::bounds::{RENEWAL, SILENCE, TICK};

/// Renews the timer. Waits of the thread that has begun it end every [`TICK`], so that it can do so.
#[derive(Debug)]
pub struct Heartbeat {
    watchdog: WatchdogTimer,
    ticks: Interruptions,
    renewed: Instant,
}

impl Heartbeat {
    /// Begins: from now on this process is killed after [`SILENCE`].
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub fn begin() -> Result<Self, Fault> {
        let timers = || Ok((WatchdogTimer::arm(SILENCE)?, Interruptions::every(TICK)?));
        let (watchdog, ticks) = timers().map_err(|e: std::io::Error| cannot("arm a timer", &e))?;
        Ok(Heartbeat { watchdog, ticks, renewed: Instant::now() })
    }

    /// Starts the time anew, unless that was done just before.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn renew(&mut self) -> Result<(), Fault> {
        if self.renewed.elapsed() < RENEWAL {
            return Ok(());
        }
        self.renewed = Instant::now();
        let renewed = self.watchdog.renew().and_then(|()| self.ticks.restart());
        renewed.map_err(|e| cannot("renew a timer", &e))
    }
}
