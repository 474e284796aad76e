//! A timer of the kernel that sends a signal (timer_create(2)).

use std::io;
use std::ptr;
use std::time::Duration;

use crate::errno::check;

/// Who gets the signal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Receiver {
    /// This process.
    Process,
    /// The calling thread.
    Thread,
}

/// Sends a signal at set times. Time in which the machine sleeps does not count. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Timer {
    timer: libc::timer_t,
}

// SAFETY: a timer belongs to the process, and the kernel takes its number from any thread.
unsafe impl Send for Timer {}

impl Timer {
    /// One that is not set yet.
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub(super) fn new(signal: libc::c_int, receiver: Receiver) -> io::Result<Self> {
        // SAFETY: a sigevent is plain data, for which zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_signo = signal;
        event.sigev_notify = libc::SIGEV_SIGNAL;
        if let Receiver::Thread = receiver {
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            // SAFETY: takes nothing, and returns this thread's number.
            event.sigev_notify_thread_id = unsafe { libc::gettid() };
        }
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both are valid throughout the call.
        check(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) })?;
        Ok(Timer { timer })
    }

    /// Sets it anew: the signal comes after `first`, and then every `each`, or once if that is zero.
    ///
    /// # Errors
    /// If the kernel refuses, which it does for a time of more than 2⁶³ s.
    pub(super) fn set(&self, first: Duration, each: Duration) -> io::Result<()> {
        let time = |time: Duration| libc::timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let value = libc::itimerspec { it_interval: time(each), it_value: time(first) };
        // SAFETY: the timer is ours, and the times are valid; the old ones are not asked for.
        check(unsafe { libc::timer_settime(self.timer, 0, &value, ptr::null_mut()) }).map(drop)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours, and is not used after this.
        unsafe { libc::timer_delete(self.timer) };
    }
}
