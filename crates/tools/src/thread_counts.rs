//! What the kernel counts of threads: why they took longer than they computed.
//!
//! | metric | unit | what (of all threads) |
//! |---|---|---|
//! | `cpu_time` | s | that they ran (`/proc/thread-self/schedstat`, sched-stats.rst) |
//! | `run_delay` | s | that they were ready to run, while others ran |
//! | `displaced` | switches | involuntary context switches (`nonvoluntary_ctxt_switches`, proc_pid_status(5)) |
//! | `minor_faults`, `major_faults` | faults | page faults without and with a read from a device (proc_pid_stat(5)) |
//! | `time_compute`, `time_queue` | s | the first two, over the number of threads; label `node` |
//! | `time_wait` | s | the rest of the run time; a thread that has finished waits for the others; label `node` |

use crosstalk_core::record::{Better, Metric, Origin, Reading};
use std::fs;
use std::ops::{Add, Sub};

/// What the kernel counts of one thread or several: context switches and page faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Nanoseconds that it ran.
    pub cpu: u64,
    /// Nanoseconds that it waited for a processor.
    pub delay: u64,
    /// Involuntary context switches.
    pub displaced: u64,
    /// Page faults without a read from a device.
    pub minor: u64,
    /// Page faults with a read from a device.
    pub major: u64,
}

impl ThreadCounts {
    /// The counts of the calling thread since it began. A count that the kernel does not report is zero.
    pub fn current() -> ThreadCounts {
        let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/{file}")).unwrap_or_default();
        parse(&read("schedstat"), &read("stat"), &read("status"))
    }

    /// As readings, of `threads` threads that took `seconds`.
    pub fn readings(&self, threads: usize, seconds: f64) -> Vec<Reading> {
        let mut readings = self.sums();
        // Where the kernel reports no CPU time, there is nothing to split.
        if self.cpu > 0 {
            readings.extend(self.split(threads, seconds));
        }
        readings
    }

    /// The parts of the mean thread's time.
    fn split(&self, threads: usize, seconds: f64) -> Vec<Reading> {
        let each = |nanoseconds: u64| nanoseconds as f64 * 1e-9 / threads as f64;
        let (compute, queue) = (each(self.cpu), each(self.delay));
        let values = [compute, queue, (seconds - compute - queue).max(0.0)];
        let part = |(name, value)| Reading::value(name, value, Origin::Measured).label("node", 0);
        PARTS.into_iter().zip(values).map(part).collect()
    }

    fn sums(&self) -> Vec<Reading> {
        let values = [
            self.cpu as f64 * 1e-9,
            self.delay as f64 * 1e-9,
            self.displaced as f64,
            self.minor as f64,
            self.major as f64,
        ];
        sums().iter().zip(values).map(|(m, value)| Reading::value(&m.name, value, Origin::Measured)).collect()
    }
}

/// The metrics of these counts.
pub fn metrics() -> Vec<Metric> {
    sums().into_iter().chain(PARTS.map(|name| Metric::new(name, "s", Better::Neither))).collect()
}

/// The parts of the time.
const PARTS: [&str; 3] = ["time_compute", "time_queue", "time_wait"];

fn sums() -> Vec<Metric> {
    vec![
        Metric::new("cpu_time", "s", Better::Lower),
        Metric::new("run_delay", "s", Better::Lower),
        Metric::new("displaced", "switches", Better::Lower),
        Metric::new("minor_faults", "faults", Better::Neither),
        Metric::new("major_faults", "faults", Better::Lower),
    ]
}

impl Add for ThreadCounts {
    type Output = ThreadCounts;

    fn add(self, other: ThreadCounts) -> ThreadCounts {
        ThreadCounts {
            cpu: self.cpu + other.cpu,
            delay: self.delay + other.delay,
            displaced: self.displaced + other.displaced,
            minor: self.minor + other.minor,
            major: self.major + other.major,
        }
    }
}

impl Sub for ThreadCounts {
    type Output = ThreadCounts;

    fn sub(self, before: ThreadCounts) -> ThreadCounts {
        ThreadCounts {
            cpu: self.cpu.saturating_sub(before.cpu),
            delay: self.delay.saturating_sub(before.delay),
            displaced: self.displaced.saturating_sub(before.displaced),
            minor: self.minor.saturating_sub(before.minor),
            major: self.major.saturating_sub(before.major),
        }
    }
}

impl std::iter::Sum for ThreadCounts {
    fn sum<I: Iterator<Item = ThreadCounts>>(counts: I) -> ThreadCounts {
        counts.fold(ThreadCounts::default(), Add::add)
    }
}

fn parse(schedstat: &str, stat: &str, status: &str) -> ThreadCounts {
    let number = |words: &str, at: usize| words.split_whitespace().nth(at).and_then(|word| word.parse().ok());
    // The name, in parentheses, may hold blanks and parentheses; minflt is the 8th word after it.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let displaced = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    ThreadCounts {
        cpu: number(schedstat, 0).unwrap_or(0),
        delay: number(schedstat, 1).unwrap_or(0),
        displaced: displaced.and_then(|number| number.trim().parse().ok()).unwrap_or(0),
        minor: number(after_name, 7).unwrap_or(0),
        major: number(after_name, 9).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_read_whatever_the_name_of_the_thread() {
        let stat = "77 (a) b (c) R 1 77 77 0 -1 4194304 120 0 3 0 5 6 0 0 20 0 1 0 100 0 0\n";
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4\n";
        let counts = parse("1000 200 7\n", stat, status);
        assert_eq!(counts, ThreadCounts { cpu: 1000, delay: 200, displaced: 4, minor: 120, major: 3 });
        assert_eq!(parse("", "", ""), ThreadCounts::default());
    }

    #[test]
    fn the_parts_of_the_time_are_the_mean_threads_and_add_up() {
        let counts = ThreadCounts { cpu: 3_000_000_000, delay: 500_000_000, ..ThreadCounts::default() };
        let readings = counts.readings(2, 2.0);
        let of = |name: &str| readings.iter().find(|r| r.metric == name).and_then(Reading::number);
        assert_eq!(PARTS.map(of), [Some(1.5), Some(0.25), Some(0.25)]);
        assert_eq!(of("cpu_time"), Some(3.0));
        // The clocks differ a little: a part is never below zero.
        let short = counts.readings(2, 1.0);
        assert_eq!(short.last().and_then(Reading::number), Some(0.0));
        let unknown = ThreadCounts::default().readings(2, 1.0);
        assert!(unknown.iter().all(|reading| reading.labels.is_empty()), "{unknown:?}");
    }

    #[test]
    fn a_thread_that_computes_has_cpu_time() {
        let before = ThreadCounts::current();
        let mut sum = 0_u64;
        for number in 0..20_000_000_u64 {
            sum = std::hint::black_box(sum ^ number);
        }
        let counts = ThreadCounts::current() - before;
        if counts == ThreadCounts::default() {
            eprintln!("skipped: this kernel has no /proc/thread-self/schedstat");
            return;
        }
        assert!(counts.cpu > 1_000_000, "{counts:?} of {sum}");
    }

    #[test]
    fn every_count_has_its_metric() {
        let names: Vec<String> = metrics().into_iter().map(|metric| metric.name).collect();
        let reported: Vec<String> = ThreadCounts { cpu: 1, ..ThreadCounts::default() }
            .readings(1, 1.0)
            .into_iter()
            .map(|reading| reading.metric)
            .collect();
        assert_eq!(names, reported);
    }

    proptest! {
        #[test]
        fn no_input_panics(a: String, b: String, c: String) {
            parse(&a, &b, &c);
        }
    }
}
