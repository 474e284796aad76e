//! Signals that a process sends to itself and catches.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::errno::check;

/// A signal that this program does not use otherwise.
const SIGNAL: libc::c_int = libc::SIGUSR2;

/// How often the handler ran.
static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// Counts, and installs itself again, as programs did when a signal reset its handler (signal(2), System V).
extern "C" fn count(_: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
    // It cannot fail: it could be installed before.
    let _ = install();
}

fn install() -> io::Result<libc::sigaction> {
    // SAFETY: a sigaction of zeros is valid: no flags, and an empty mask.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    new.sa_sigaction = count as *const () as usize;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: both are valid. The handler adds to an atomic number and calls sigaction, which are both
    // async-signal-safe (signal-safety(7)).
    check(unsafe { libc::sigaction(SIGNAL, &new, &mut old) })?;
    Ok(old)
}

/// Sends `SIGUSR2` to this process `times` times and catches it each time. Returns how often it was caught, which
/// can be less only in a process with several threads. What the signal did before, it does again afterwards.
///
/// # Errors
/// If the kernel refuses to install a handler or to send the signal.
pub fn catch_own_signals(times: u64) -> io::Result<u64> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let old = install()?;
    let before = CAUGHT.load(Ordering::Relaxed);
    // SAFETY: getpid takes nothing and always succeeds.
    let own = unsafe { libc::getpid() };
    // SAFETY: kill takes two integers.
    let sent = (0..times).try_for_each(|_| check(unsafe { libc::kill(own, SIGNAL) }).map(|_| ()));
    let caught = CAUGHT.load(Ordering::Relaxed) - before;
    // SAFETY: `old` is what the kernel has returned for this signal.
    check(unsafe { libc::sigaction(SIGNAL, &old, std::ptr::null_mut()) })?;
    sent.map(|()| caught)
}
