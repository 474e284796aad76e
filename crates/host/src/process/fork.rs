//! Children that are copies of this process (fork(2)) and run one function.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::time::Duration;

use crosstalk_core::Fault;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::children::{Fork, copy, fork, refuse_threads};
use super::shortage::cannot;
use super::signal::{is_there, kill_now};
use super::usage::{Usage, nothing};
use super::wait::wait_readable;

/// The exit code of a child whose function panicked.
pub const PANICKED: u8 = 101;

/// A child that is a copy of this process. It is killed, and waited for, when this value is dropped before it
/// has ended.
#[derive(Debug)]
pub struct Forked {
    pid: u32,
    ended: bool,
}

/// How a child has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Its exit code, or the signal that ended it.
    pub status: ExitStatus,
    /// What it has used, with the children that it had waited for.
    pub usage: Usage,
}

/// Copies this process. The copy runs `child` and ends with the exit code that it returns, or [`PANICKED`]. It
/// returns to none of the caller's code: destructors of the caller's values do not run in it.
///
/// # Errors
/// An environment fault if this process has more than one thread, or the kernel refuses.
pub fn fork_child(child: impl FnOnce() -> u8) -> Result<Forked, Fault> {
    match fork().map_err(|e| cannot("fork", &e))? {
        Fork::Parent(pid) => Ok(Forked { pid, ended: false }),
        Fork::Child => end(child),
    }
}

/// Copies this process `times` times. Each copy runs `child` and has ended before the next is made. Returns what
/// they ended with, in order.
///
/// # Errors
/// As [`fork_child`], or if a child is still there after it was waited for.
pub fn fork_in_turn(times: usize, child: impl Fn() -> u8) -> Result<Vec<ExitStatus>, Fault> {
    refuse_threads().map_err(|e| cannot("fork", &e))?;
    let mut ends = Vec::with_capacity(times);
    for _ in 0..times {
        // SAFETY: this process has one thread, and nothing in this loop starts another.
        match unsafe { copy() }.map_err(|e| cannot("fork", &e))? {
            Fork::Parent(pid) => {
                let mut forked = Forked { pid, ended: false };
                ends.push(forked.end().map_err(|e| cannot("wait for a child", &e))?.status);
                if is_there(pid) {
                    return Err(Fault::attempt(format!(
                        "process {pid} is still there after it was waited for"
                    )));
                }
            }
            Fork::Child => end(&child),
        }
    }
    Ok(ends)
}

/// Runs the function of a child and ends the process.
fn end(child: impl FnOnce() -> u8) -> ! {
    // A panic must not reach the caller's code, which is the parent's. Nothing of the child is used after it.
    let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(PANICKED);
    // SAFETY: takes an integer and does not return. Unlike exit(3) it runs no handlers of the parent.
    unsafe { libc::_exit(code.into()) }
}

impl Forked {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// Waits until it ends; returns `None` if `timeout` passes first. Without a timeout it waits without end.
    ///
    /// # Errors
    /// An environment fault if the kernel cannot wait for it.
    ///
    /// # Panics
    /// If it was waited for already.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Ended>, Fault> {
        assert!(!self.ended, "a child ends once");
        let fault = |e: io::Error| cannot("wait for a child", &e);
        if timeout.is_some() {
            let pid = Pid::from_raw(self.pid.cast_signed()).expect("the kernel's ids are above zero");
            let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| fault(e.into()))?;
            if wait_readable(&[&handle], timeout).map_err(fault)? == [false] {
                return Ok(None);
            }
        }
        self.end().map(Some).map_err(fault)
    }

    /// Waits until it ends.
    fn end(&mut self) -> io::Result<Ended> {
        let (mut status, mut usage) = (0, nothing());
        loop {
            // SAFETY: status and usage are valid for writing.
            let pid = unsafe { libc::wait4(self.pid.cast_signed(), &mut status, 0, &mut usage) };
            if pid != -1 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.ended = true;
        Ok(Ended { status: ExitStatus::from_raw(status), usage: usage.into() })
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        if !self.ended {
            kill_now(self.pid);
            // If the kernel knows no such child, there is nothing to wait for.
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    //! The tests' process has several threads, so it refuses; `crates/host/tests/fork.rs` forks.
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_copied() {
        let (quit, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv().is_ok());
        let fault = fork_child(|| 0).expect_err("it has threads");
        assert!(fault.message.contains("threads"), "{fault}");
        assert!(fork_in_turn(2, || 0).is_err());
        drop(quit);
        thread.join().expect("ends");
    }
}
