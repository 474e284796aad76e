//! Measures the CPU time of this thread between two operations.
//!
//! The kernel's per-thread clock (clock_gettime(2), `CLOCK_THREAD_CPUTIME_ID`)
//! does not advance while the thread waits for a core or for a message. Reading it
//! costs a system call (0.1 to 0.6 µs), part of which falls into the window that it
//! measures. So an empty window has a length. It is measured at the start and
//! subtracted from every window. A remainder shorter than two readings is not
//! resolved: it may be a cold cache after the thread was switched in. Nor is one
//! shorter than four where the thread has rested and not computed since. It is dropped,
//! and the sum of what was dropped is reported to the fidelity monitor.
//!
//! On loopback and veth the kernel handles a packet in the sender's system call,
//! outside of the windows. Interrupt handlers within a window are charged to it,
//! unless the kernel is built to account for them. They remain as noise.

use crosstalk_host::clock::{SwitchesAndFaults, switches_and_faults, thread_cpu_ns};

/// Number of empty windows that are measured at the start.
const TRIALS: usize = 401;

/// A window below this many times an empty one is not resolved. From cold caches, an
/// empty window and the calls around it may take that much longer.
const UNRESOLVED_FACTOR: u64 = 2;

/// The same after the clock was restarted or the thread slept, until it computes: all it
/// runs is cold. After a pause of 5 ms, up to 2.9 times on a virtual Zen 4 whose empty one
/// takes 0.65 µs (decision 80).
const RESTED_FACTOR: u64 = 4;

/// In nanoseconds. A shorter window in which the thread was preempted measures mostly the
/// switch and the cold caches after it. With time slices of milliseconds at most one in
/// hundreds of such windows is affected.
const SHORT_WINDOW: u64 = 20_000;

/// Measures windows of computing. All in nanoseconds.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The clock at the beginning of the window.
    begin: u64,
    /// The measured length of an empty window.
    empty: u64,
    /// The thread's switches at the beginning of the window.
    switches: SwitchesAndFaults,
    /// Whether the thread has not computed since it rested.
    rested: bool,
    /// Readings of the clock within the window, whose cost is subtracted.
    readings: u64,
}

/// A window that has ended. All in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Time of computing.
    pub(crate) computed: u64,
    /// Time beyond an empty window that was too short to count.
    pub(crate) dropped: u64,
    /// Time of measuring, which was subtracted.
    pub(crate) overhead: u64,
    /// Involuntary switches within the window.
    pub(crate) switches: u64,
}

impl Meter {
    /// Measures empty windows, and begins the first one.
    pub(crate) fn calibrated() -> Self {
        let mut meter = Meter { begin: 0, empty: 0, switches: switches(), rested: false, readings: 0 };
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

    /// Notes that the clock was restarted: the thread may have slept, or come to another core.
    pub(crate) fn rest(&mut self) {
        self.rested = true;
    }

    /// Begins a window.
    pub(crate) fn begin(&mut self) {
        self.readings = 0;
        self.switches = switches();
        // The first reading after a system call that slept takes longer.
        thread_cpu_ns();
        self.begin = thread_cpu_ns();
    }

    /// Ends the window.
    pub(crate) fn end(&mut self) -> Window {
        let net = self.measure();
        let now = switches();
        let switches = now.involuntary_switches - self.switches.involuntary_switches;
        self.rested |= now.voluntary_switches > self.switches.voluntary_switches;
        let factor = if self.rested { RESTED_FACTOR } else { UNRESOLVED_FACTOR };
        let overhead = (self.readings + 1) * self.empty;
        let resolved = net >= factor * self.empty && (switches == 0 || net >= SHORT_WINDOW);
        self.rested &= !resolved;
        let (computed, dropped) = if resolved { (net, 0) } else { (0, net) };
        Window { computed, dropped, overhead, switches }
    }

    /// Ends the window if it is resolved; else the window continues. One reading decides
    /// both, as a second reading may differ.
    pub(crate) fn end_if_resolved(&mut self) -> Option<Window> {
        let window = self.end();
        if window.computed > 0 {
            return Some(window);
        }
        self.readings += 1;
        None
    }

    /// Each reading within the window costs about an empty window.
    fn measure(&self) -> u64 {
        (thread_cpu_ns() - self.begin).saturating_sub((self.readings + 1) * self.empty)
    }
}

/// All zero where the kernel does not count them.
fn switches() -> SwitchesAndFaults {
    switches_and_faults().unwrap_or_default()
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
    fn reading_the_clock_is_not_computing() {
        // The median excludes windows with an interrupt. Each window has a meter of its own: a reading costs
        // more or less while others load the machine, so that an earlier calibration would be wrong.
        let mut windows: Vec<_> = (0..9)
            .map(|_| {
                let mut meter = Meter::calibrated();
                meter.begin();
                for _ in 0..1000 {
                    meter.measure();
                    meter.readings += 1;
                }
                meter.end().computed as f64 / meter.empty as f64
            })
            .collect();
        windows.sort_unstable_by(f64::total_cmp);
        assert!(windows[4] < 1000.0 / 4.0, "1000 readings count as {} of them", windows[4]);
    }

    #[test]
    fn after_rest_a_window_must_be_twice_as_long_until_one_counts() {
        // An empty window is taken as 1 ms, which noise does not reach. One of them is subtracted.
        const EMPTY: u64 = 1_000_000;
        let counts = |meter: &mut Meter, empties: u64, sleep: bool| {
            meter.begin();
            if sleep {
                thread::sleep(Duration::from_millis(1));
            }
            let end = thread_cpu_ns() + empties * EMPTY;
            while thread_cpu_ns() < end {}
            meter.end().computed > 0
        };
        let mut meter = Meter { empty: EMPTY, ..Meter::calibrated() };
        assert!(counts(&mut meter, 4, false));
        meter.rest();
        let after_rest = [4, 4, 6, 4].map(|empties| counts(&mut meter, empties, false));
        assert_eq!(after_rest, [false, false, true, true]);
        assert!(!counts(&mut meter, 4, true), "it has slept");
        assert!(!counts(&mut meter, 4, false), "it has not computed since");
    }

    #[test]
    fn sleeping_is_not_computing() {
        let mut meter = Meter::calibrated();
        meter.begin();
        thread::sleep(Duration::from_millis(20));
        assert!(meter.end().computed < 1_000_000);
    }
}
