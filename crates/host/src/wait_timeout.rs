//! A timeout for system calls that have none, such as read(2) from a pipe.
//!
//! While a thread waits in such a call, a watcher thread sends it a signal now and then. The
//! signal does nothing, but the call ends with `EINTR` (signal(7)), and the thread can decide
//! whether to continue. Shorter calls are not interrupted.

use std::io;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A signal that is ignored by default, and that this program does not use otherwise.
const SIGNAL: libc::c_int = libc::SIGURG;

/// Waits of the calling thread end after a timeout, until this value is dropped.
#[derive(Debug)]
pub struct WaitTimeout {
    state: Arc<State>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    /// Twice the number of waits that have ended, plus one while a wait goes on.
    waits: AtomicU64,
    over: AtomicBool,
}

extern "C" fn nothing(_: libc::c_int) {}

/// Installs a handler, so that the signal ends system calls instead of being ignored.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a sigaction of zeros is valid: no flags, so that calls are not restarted, and an
        // empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = nothing as *const () as usize;
        // SAFETY: the handler does nothing, which is safe whatever it interrupts.
        unsafe { libc::sigaction(SIGNAL, &action, std::ptr::null_mut()) };
    });
}

impl WaitTimeout {
    /// Waits of the calling thread end after `timeout`, or up to twice that.
    pub fn begin(timeout: Duration) -> Self {
        install();
        let state = Arc::new(State::default());
        // SAFETY: gettid and getpid always succeed.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        let watched = Arc::clone(&state);
        let watcher = thread::spawn(move || {
            let mut last = 0;
            while !watched.over.load(Ordering::Acquire) {
                thread::park_timeout(timeout);
                let now = watched.waits.load(Ordering::Acquire);
                if now % 2 == 1 && now == last {
                    // SAFETY: sends a signal that has a handler. If the thread has ended, that is an
                    // error, and nothing happens.
                    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) };
                }
                last = now;
            }
        });
        WaitTimeout { state, watcher: Some(watcher) }
    }

    /// Runs `call`, which ends with `EINTR` if it takes longer than the timeout.
    #[inline]
    pub fn while_waiting<R>(&self, call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        // No other thread writes it, so that plain stores suffice.
        let waits = self.state.waits.load(Ordering::Relaxed);
        self.state.waits.store(waits + 1, Ordering::Relaxed);
        let result = call();
        self.state.waits.store(waits + 2, Ordering::Relaxed);
        result
    }
}

impl Drop for WaitTimeout {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Release);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // The watcher does nothing that could fail.
            let _ = watcher.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::time::Instant;

    fn pipe() -> (File, File) {
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two descriptors that the call makes.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        // SAFETY: both are new, and nobody else's.
        ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) })).into()
    }

    #[test]
    fn a_read_from_an_empty_pipe_ends() {
        let (mut reader, _writer) = pipe();
        let nudged = WaitTimeout::begin(Duration::from_millis(20));
        let began = Instant::now();
        let end = nudged.while_waiting(|| reader.read(&mut [0; 8])).expect_err("there is nothing");
        assert_eq!(end.kind(), ErrorKind::Interrupted);
        assert!((15..2000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    }

    #[test]
    fn available_bytes_are_read() {
        let (mut reader, mut writer) = pipe();
        writer.write_all(b"x").expect("fits");
        let nudged = WaitTimeout::begin(Duration::from_millis(20));
        assert_eq!(nudged.while_waiting(|| reader.read(&mut [0; 8])).expect("reads"), 1);
    }
}
