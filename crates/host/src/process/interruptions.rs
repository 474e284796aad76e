//! A signal at regular intervals, which does nothing but end a system call of this thread that waits (signal(7)).

use std::io;
use std::ptr;
use std::time::Duration;

use super::timer::{Receiver, Timer};
use crate::errno::check;

/// Ends waits of the thread that has begun it. One that comes just before a wait ends none: the next one does. It takes
/// SIGALRM, for the whole process. Dropping it ends it.
#[derive(Debug)]
pub struct Interruptions {
    timer: Timer,
    interval: Duration,
}

impl Interruptions {
    /// Begins, for the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses a timer.
    pub fn every(interval: Duration) -> io::Result<Self> {
        handle()?;
        let interruptions = Interruptions { timer: Timer::new(libc::SIGALRM, Receiver::Thread)?, interval };
        interruptions.restart()?;
        Ok(interruptions)
    }

    /// Starts the interval anew: whoever does so often enough is not interrupted.
    ///
    /// # Errors
    /// If the kernel refuses, which it does for an interval of more than 2⁶³ s.
    pub fn restart(&self) -> io::Result<()> {
        self.timer.set(self.interval, self.interval)
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
