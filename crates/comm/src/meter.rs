//! How much CPU time this thread has computed between two operations.
//!
//! The kernel's per-thread clock (clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`)
//! stands still while the thread waits for a core or for a message. Reading it
//! costs a system call (0.1 to 0.6 µs), part of which falls into the window it
//! measures. So an empty window has a length, which is measured at the start
//! and subtracted from every window. What then remains but is shorter than two
//! readings is not resolved: it may as well be a cold cache after the thread
//! was switched in, and counts as nothing. What is dropped that way is summed
//! up, so that the fidelity monitor can tell a program that computes in
//! windows too small to measure.
//!
//! Network interrupts: on loopback and veth the kernel handles a packet in the
//! sender's own system call, thus outside of the windows. Interrupt handlers
//! that do strike within one are charged to it (the kernel does so unless
//! built to account for them); they are what remains as noise.

use crosstalk_host::clock::{thread_cpu_ns, thread_usage};
use std::cell::Cell;

/// Empty windows measured at the start.
const TRIALS: usize = 401;

/// So many times an empty window is not resolved: what a window measures
/// beyond an empty one when it, and the program's return and call around it,
/// run from cold caches.
const COLD: u64 = 2;

/// A window shorter than this, in nanoseconds, in which the thread was switched
/// out against its will measures the switch and the cold caches after it more
/// than the program. With slices of milliseconds that befalls at most one in
/// hundreds of such windows.
const SWITCH: u64 = 20_000;

/// Measures windows of computing. All in nanoseconds.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The clock at the begin of the window.
    begin: u64,
    /// What an empty window measures.
    empty: u64,
    /// Involuntary switches at the begin of the window.
    switches: u64,
    /// Readings of the clock within the window, which are not computing either.
    readings: Cell<u64>,
}

/// A window that has ended. All in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Computed.
    pub(crate) computed: u64,
    /// Measured beyond an empty window, but counted as nothing.
    pub(crate) dropped: u64,
    /// What measuring took, and was subtracted.
    pub(crate) overhead: u64,
    /// Involuntary switches within.
    pub(crate) switches: u64,
}

impl Meter {
    /// Measures empty windows, and begins the first one.
    pub(crate) fn calibrated() -> Self {
        let mut meter = Meter { begin: 0, empty: 0, switches: 0, readings: Cell::new(0) };
        let mut trials = [0; TRIALS];
        for trial in &mut trials {
            meter.begin();
            *trial = thread_cpu_ns() - meter.begin;
        }
        trials.sort_unstable();
        meter.empty = trials[TRIALS / 2];
        meter.begin();
        meter
    }

    /// Begins a window.
    pub(crate) fn begin(&mut self) {
        self.readings.set(0);
        self.switches = switches();
        // The first reading after a system call that slept is a slow one.
        thread_cpu_ns();
        self.begin = thread_cpu_ns();
    }

    /// Ends the window.
    pub(crate) fn end(&mut self) -> Window {
        let net = self.measure();
        let switches = switches() - self.switches;
        let overhead = (self.readings.get() + 1) * self.empty;
        let resolved = net >= COLD * self.empty && (switches == 0 || net >= SWITCH);
        let (computed, dropped) = if resolved { (net, 0) } else { (0, net) };
        Window { computed, dropped, overhead, switches }
    }

    /// Ends the window where it can be told from an empty one; else it goes on. One
    /// look decides both: a second one may see what the first did not.
    pub(crate) fn end_if_resolved(&mut self) -> Option<Window> {
        let window = self.end();
        if window.computed > 0 {
            return Some(window);
        }
        self.readings.set(self.readings.get() + 1);
        None
    }

    /// Nanoseconds computed since the window began, which goes on.
    pub(crate) fn so_far(&self) -> u64 {
        let net = self.measure();
        self.readings.set(self.readings.get() + 1);
        if net < COLD * self.empty { 0 } else { net }
    }

    /// The readings that fall into the window cost about an empty window each.
    fn measure(&self) -> u64 {
        (thread_cpu_ns() - self.begin).saturating_sub((self.readings.get() + 1) * self.empty)
    }
}

fn switches() -> u64 {
    thread_usage().map_or(0, |usage| usage.involuntary_switches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn an_empty_window_is_empty_and_a_full_one_is_not() {
        let mut meter = Meter::calibrated();
        let empty = (0..100).filter(|_| {
            meter.begin();
            meter.end().computed == 0
        });
        assert!(empty.count() >= 80);
        meter.begin();
        let begin = thread_cpu_ns();
        while thread_cpu_ns() < begin + 2_000_000 {}
        let expected = thread_cpu_ns() - begin;
        let found = meter.end().computed;
        assert!(found.abs_diff(expected) < expected / 50, "{found} ns instead of {expected}");
    }

    #[test]
    fn looking_at_the_clock_is_not_computing() {
        // An interrupt may fall into one window, but what a look costs is in all. Each has a meter of its own:
        // looks cost less or more while others load the machine, and then a calibration from before is off.
        let mut windows: Vec<_> = (0..9)
            .map(|_| {
                let mut meter = Meter::calibrated();
                meter.begin();
                let seen = (0..1000).map(|_| meter.so_far()).max().unwrap_or(0);
                seen.max(meter.end().computed) as f64 / meter.empty as f64
            })
            .collect();
        windows.sort_unstable_by(f64::total_cmp);
        assert!(windows[4] < 1000.0 / 4.0, "1000 looks count as {} of them", windows[4]);
    }

    #[test]
    fn sleeping_is_not_computing() {
        let mut meter = Meter::calibrated();
        meter.begin();
        thread::sleep(Duration::from_millis(20));
        assert!(meter.end().computed < 1_000_000);
    }
}
