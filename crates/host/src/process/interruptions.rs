//! A signal at regular intervals, which does nothing but end a system call of this thread that waits (signal(7)).

use std::io;
use std::ptr;
use std::time::Duration;

use crate::errno::check;

/// Ends waits of the thread that has begun it (timer_create(2)). One that comes just before a wait ends none: the next
/// one does. It takes SIGALRM, for the whole process. Dropping it ends it.
#[derive(Debug)]
pub struct Interruptions {
    timer: libc::timer_t,
    interval: Duration,
}

impl Interruptions {
    /// Begins, for the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub fn every(interval: Duration) -> io::Result<Self> {
        handle()?;
        // SAFETY: a sigevent is plain data, for which zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        // SAFETY: takes nothing, and returns this thread's number.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both are valid throughout the call.
        check(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) })?;
        let interruptions = Interruptions { timer, interval };
        interruptions.restart()?;
        Ok(interruptions)
    }

    /// Starts the interval anew: whoever does so often enough is not interrupted.
    ///
    /// # Errors
    /// If the kernel refuses, which it does for an interval of more than 2⁶³ s.
    pub fn restart(&self) -> io::Result<()> {
        let each = libc::timespec {
            tv_sec: self.interval.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: self.interval.subsec_nanos().into(),
        };
        let value = libc::itimerspec { it_interval: each, it_value: each };
        // SAFETY: the timer is ours, and the times are valid; the old ones are not asked for.
        check(unsafe { libc::timer_settime(self.timer, 0, &value, ptr::null_mut()) }).map(drop)
    }
}

impl Drop for Interruptions {
    fn drop(&mut self) {
        // SAFETY: the timer is ours, and is not used after this.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// A handler, so that the signal ends no process, and a wait is not begun again.
fn handle() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a sigaction is plain data, for which zero is valid: no flags, and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the action is valid, and its handler does nothing that a handler may not.
    check(unsafe { libc::sigaction(libc::SIGALRM, &action, ptr::null_mut()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};

    #[test]
    fn a_wait_ends() {
        let (mut reader, _writer) = io::pipe().expect("every kernel has pipes");
        let interruptions = Interruptions::every(Duration::from_millis(1)).expect("every kernel has timers");
        let fault = reader.read(&mut [0]).expect_err("nobody writes");
        assert_eq!(fault.kind(), ErrorKind::Interrupted);
        drop(interruptions);
    }
}
