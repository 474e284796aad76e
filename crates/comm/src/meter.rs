//! How much CPU time this thread has computed between two operations.
//!
//! The kernel's per-thread clock (clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`)
//! stands still while the thread waits for a core or for a message. Reading it
//! costs a system call, part of which falls into the window it measures; an
//! empty window therefore has a length, which is measured at the start and
//! subtracted. A window that cannot be told from an empty one counts as empty.
//!
//! Network interrupts: on loopback and veth the kernel handles a packet in the
//! sender's own system call, thus outside of the windows.

use std::cell::Cell;

/// Windows measured to calibrate.
const TRIALS: usize = 501;

/// The CPU time of the calling thread, nanoseconds.
pub(crate) fn thread_cpu() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live timespec that the call fills in; this clock
    // exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Measures windows of computing.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The clock at the begin of the window.
    begin: u64,
    /// What an empty window measures: the median.
    overhead: u64,
    /// What all but 1 % of the empty windows stay below.
    resolution: u64,
    /// Readings of the clock within the window, which are not computing either.
    readings: Cell<u64>,
}

impl Meter {
    /// Measures empty windows, and begins the first one.
    pub(crate) fn calibrated() -> Self {
        let mut empty: Vec<u64> = (0..TRIALS)
            .map(|_| {
                let begin = thread_cpu();
                thread_cpu() - begin
            })
            .collect();
        empty.sort_unstable();
        let (overhead, resolution) = (empty[TRIALS / 2], empty[TRIALS * 99 / 100]);
        Meter { begin: thread_cpu(), overhead, resolution, readings: Cell::new(0) }
    }

    /// Begins a window.
    pub(crate) fn begin(&mut self) {
        self.readings.set(0);
        self.begin = thread_cpu();
    }

    /// Nanoseconds computed since the window began.
    pub(crate) fn elapsed(&self) -> u64 {
        let readings = self.readings.replace(self.readings.get() + 1);
        let gross = thread_cpu() - self.begin;
        if gross <= self.resolution + readings * self.overhead {
            return 0;
        }
        gross - (readings + 1) * self.overhead
    }

    /// What measuring a window costs and subtracts, nanoseconds.
    pub(crate) fn overhead(&self) -> u64 {
        self.overhead
    }
}
