//! The time from waking a thread until it runs.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::PinnedThread;

use super::timer::SLEEP_NS;
use crate::clock;
use crosstalk_work::peer::Deadline;

/// An event that a thread sleeps on. Times are nanoseconds of the probes' clock.
struct Event {
    descriptor: OwnedFd,
    /// When it was signalled; zero: the thread is to end.
    signalled: AtomicU64,
    /// When the thread ran; zero: not yet.
    woken: AtomicU64,
}

/// The times from waking a thread on processor `sleeper` until it runs, in nanoseconds.
///
/// # Errors
/// Where the kernel refuses; interrupted.
pub fn wake_up(
    waker: usize,
    sleeper: usize,
    duration: Seconds,
    until: &Deadline,
) -> Result<Histogram, Fault> {
    let descriptor =
        eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Fault::environment(format!("no eventfd: {e}")))?;
    let event = Event { descriptor, signalled: AtomicU64::new(0), woken: AtomicU64::new(0) };
    thread::scope(|scope| {
        let thread = scope.spawn(|| sleep_repeatedly(sleeper, &event));
        let times = (|| {
            let _pinned = PinnedThread::begin(waker)?;
            let end = clock::now() + (duration.0 * 1e9) as u64;
            let mut times = Histogram::default();
            while clock::now() < end && !thread.is_finished() {
                thread::sleep(Duration::from_nanos(SLEEP_NS));
                let now = clock::now();
                event.woken.store(0, Ordering::Relaxed);
                event.signalled.store(now, Ordering::Release);
                signal(&event.descriptor)?;
                times.record(await_wake_up(&event, || thread.is_finished(), until)?.saturating_sub(now));
            }
            Ok(times)
        })();
        event.signalled.store(0, Ordering::Release);
        signal(&event.descriptor)?;
        let slept = thread.join().map_err(|_| Fault::attempt("the sleeping thread panicked"))?;
        slept.and(times)
    })
}

fn signal(event: &OwnedFd) -> Result<(), Fault> {
    write(event, &1_u64.to_ne_bytes())
        .map(drop)
        .map_err(|e| Fault::attempt(format!("cannot wake a thread: {e}")))
}

/// Sleeps until the event, stores when it ran, and sleeps again, until it is to end.
fn sleep_repeatedly(cpu: usize, event: &Event) -> Result<(), Fault> {
    let _pinned = PinnedThread::begin(cpu)?;
    let mut count = [0; 8];
    loop {
        read(&event.descriptor, &mut count)
            .map_err(|e| Fault::attempt(format!("cannot sleep on an eventfd: {e}")))?;
        let now = clock::now();
        if event.signalled.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        event.woken.store(now, Ordering::Release);
    }
}

/// Waits until the thread has run, and returns when. Sleeps in small steps: this thread is not timed.
fn await_wake_up(event: &Event, gone: impl Fn() -> bool, until: &Deadline) -> Result<u64, Fault> {
    loop {
        match event.woken.load(Ordering::Acquire) {
            0 if gone() => return Err(Fault::attempt("the sleeping thread has ended")),
            0 => {
                until.check("a thread to wake up")?;
                thread::sleep(Duration::from_micros(20));
            }
            woken => return Ok(woken),
        }
    }
}
