//! The processor's time-stamp counter as a clock, the cheapest one to read.
//!
//! It is used if the kernel keeps time by it (`current_clocksource` is `tsc`). Then it
//! runs at a constant rate, never stops, and is the same on every processor
//! (`Documentation/timers/timekeeping.rst`). Otherwise `CLOCK_MONOTONIC` is used.

use std::fs;
use std::time::Duration;

/// A clock that counts ticks: the processor's time-stamp counter, or the kernel's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TickClock {
    counter: bool,
    per_second: f64,
}

/// Readings of both clocks at one moment. Of several tries the one counts that took the shortest
/// time, so that it was not interrupted.
fn both(counter: TickClock, kernels: TickClock) -> (u64, u64) {
    const TRIES: usize = 16;
    let tries = (0..TRIES).map(|_| {
        let (before, at, after) = (counter.now(), kernels.now(), counter.now());
        (after - before, before + (after - before) / 2, at)
    });
    let (_, ticks, at) = tries.min().unwrap_or_default();
    (ticks, at)
}

/// Whether the processor has the instruction that [`TickClock::now`] uses (CPUID 8000_0001h, EDX 27).
/// A hypervisor may hide it from its guests.
fn has_instruction() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        const RDTSCP: u32 = 1 << 27;
        __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).edx & RDTSCP != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The time over which the counter is compared with the kernel's clock.
const CALIBRATION: Duration = Duration::from_millis(50);

impl TickClock {
    /// The best clock of this machine. Takes 50 ms.
    pub fn best() -> Self {
        let nanoseconds = TickClock { counter: false, per_second: 1e9 };
        let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        if !has_instruction() || !source.is_ok_and(|source| source.trim() == "tsc") {
            return nanoseconds;
        }
        let (counter, kernels) = (TickClock { counter: true, ..nanoseconds }, nanoseconds);
        let (from, began) = both(counter, kernels);
        std::thread::sleep(CALIBRATION);
        let (to, ended) = both(counter, kernels);
        TickClock { per_second: (to - from) as f64 * 1e9 / (ended - began) as f64, ..counter }
    }

    /// The clock's name, for reports.
    pub fn name(self) -> &'static str {
        if self.counter { "time-stamp counter" } else { "CLOCK_MONOTONIC" }
    }

    /// The frequency of the time-stamp counter in hertz; `None` if the kernel's clock is used.
    pub fn counter_frequency(self) -> Option<f64> {
        self.counter.then_some(self.per_second)
    }

    /// The current tick. Earlier instructions have been executed by then.
    #[inline]
    pub fn now(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.counter {
            let mut processor = 0;
            // SAFETY: `find` has seen that the processor has the instruction, which only writes to
            // what it is given.
            return unsafe { std::arch::x86_64::__rdtscp(&raw mut processor) };
        }
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid timespec that the call only writes to.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// Converts ticks to nanoseconds, rounded.
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        (ticks as f64 * 1e9 / self.per_second).round() as u64
    }

    /// Converts a time to ticks.
    pub fn ticks_of(self, time: Duration) -> u64 {
        (time.as_secs_f64() * self.per_second) as u64
    }

    /// Seconds that reading the clock takes: the median of batches.
    pub fn reading_cost(self) -> f64 {
        const READS: u64 = 1000;
        let mut costs: Vec<u64> = (0..31)
            .map(|_| {
                let began = self.now();
                (1..READS).for_each(|_| {
                    std::hint::black_box(self.now());
                });
                self.now() - began
            })
            .collect();
        costs.sort_unstable();
        costs[costs.len() / 2] as f64 / READS as f64 / self.per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn it_agrees_with_the_standard_clock() {
        let ticks = TickClock::best();
        let (from, began) = (ticks.now(), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let (theirs, to) = (began.elapsed().as_nanos() as u64, ticks.now());
        let ours = ticks.nanoseconds(to - from);
        // An interruption between the readings of the two clocks may take up to 5 ms.
        assert!(ours.abs_diff(theirs) < 5_000_000, "{ours} against {theirs} ns by {}", ticks.name());
        let cost = ticks.reading_cost();
        assert!(cost > 0.0 && cost < 1e-3, "{cost} s");
    }

    #[test]
    fn nanoseconds_and_ticks_are_each_other_s_inverse() {
        let ticks = TickClock { counter: true, per_second: 2.5e9 };
        assert_eq!(ticks.nanoseconds(75), 30);
        assert_eq!(ticks.ticks_of(Duration::from_micros(2)), 5000);
    }
}
