//! A watchdog timer: one of the kernel that kills this process unless it is renewed.

use std::io;
use std::ptr;
use std::time::Duration;

use crate::errno::check;

/// Kills this process, also one that is stopped or hangs, when it has not been renewed for a time (timer_create(2)).
/// Dropping it disarms it.
#[derive(Debug)]
pub struct WatchdogTimer {
    timer: libc::timer_t,
    after: Duration,
}

// SAFETY: a timer belongs to the process, and the kernel takes its number from any thread.
unsafe impl Send for WatchdogTimer {}

impl WatchdogTimer {
    /// Arms it.
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub fn arm(after: Duration) -> io::Result<Self> {
        // SAFETY: a sigevent is plain data, for which zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGKILL;
        let mut timer: libc::timer_t = ptr::null_mut();
        // Time in which the machine sleeps does not count.
        // SAFETY: both are valid throughout the call.
        check(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) })?;
        let watchdog = WatchdogTimer { timer, after };
        watchdog.renew()?;
        Ok(watchdog)
    }

    /// Starts its time anew.
    ///
    /// # Errors
    /// If the kernel refuses, which it does for a time of more than 2⁶³ s.
    pub fn renew(&self) -> io::Result<()> {
        let value = libc::timespec {
            tv_sec: self.after.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: self.after.subsec_nanos().into(),
        };
        let once =
            libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the timer is ours, and the new time is valid; the old one is not asked for.
        check(unsafe { libc::timer_settime(self.timer, 0, &once, ptr::null_mut()) }).map(drop)
    }
}

impl Drop for WatchdogTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours, and is not used after this.
        unsafe { libc::timer_delete(self.timer) };
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
