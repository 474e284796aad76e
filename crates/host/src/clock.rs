//! CPU time, run delay, steal, preemptions and page faults.
//!
//! Sources: clock_gettime(2), getrusage(2), `Documentation/scheduler/sched-stats.rst`
//! (schedstat) and proc_stat(5). What this kernel does not report is `None`.

use std::fs;
use std::time::Duration;

/// Nanoseconds of CPU time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds of CPU time that all threads of this process have used.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to. With
    // these clocks, which every Linux has, the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A task's scheduling statistics since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedStat {
    /// Nanoseconds on a CPU.
    pub run_ns: u64,
    /// Nanoseconds runnable, but waiting for a CPU (run delay).
    pub delay_ns: u64,
    /// Time slices run.
    pub slices: u64,
}

/// The calling thread's scheduling statistics.
pub fn thread_schedstat() -> Option<SchedStat> {
    parse_schedstat(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Parses the text of a task's `schedstat`.
pub fn parse_schedstat(text: &str) -> Option<SchedStat> {
    let mut fields = text.split_ascii_whitespace().map(|f| f.parse().ok());
    Some(SchedStat { run_ns: fields.next()??, delay_ns: fields.next()??, slices: fields.next()?? })
}

/// Context switches and page faults of a thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SwitchesAndFaults {
    /// Times that it gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Times that it was preempted.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

/// Context switches and page faults of the calling thread (`RUSAGE_THREAD`).
pub fn switches_and_faults() -> Option<SwitchesAndFaults> {
    // SAFETY: rusage is plain integers, for which all-zero bytes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid rusage that the call only writes to.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (result == 0).then_some(SwitchesAndFaults {
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    })
}

/// CPU time that the hypervisor gave to others while this machine had work, summed over
/// CPUs since boot. In steps of one clock tick (usually 10 ms).
pub fn stolen_time() -> Option<Duration> {
    let ticks = parse_steal(&fs::read_to_string("/proc/stat").ok()?)?;
    // SAFETY: sysconf reads a constant and touches no memory of ours.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    (per_second > 0).then(|| Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// The eighth number of the `cpu` line: user nice system idle iowait irq softirq *steal*.
fn parse_steal(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("cpu "))?.split_ascii_whitespace().nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_reads_three_numbers_and_refuses_less() {
        let read = parse_schedstat("12 34 5\n");
        assert_eq!(read, Some(SchedStat { run_ns: 12, delay_ns: 34, slices: 5 }));
        assert_eq!(parse_schedstat("12 34"), None);
        assert_eq!(parse_schedstat("a b c"), None);
    }

    #[test]
    fn steal_is_the_eighth_number_of_the_sum_line() {
        assert_eq!(parse_steal("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0 0 0 0 0 0 0 99 0 0\n"), Some(8));
        assert_eq!(parse_steal("cpu0 0 0 0 0 0 0 0 99 0 0\n"), None);
        assert_eq!(parse_steal("cpu  1 2 3\n"), None);
    }

    #[test]
    fn sleeping_takes_no_cpu_time() {
        let cpu = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(20));
        assert!(thread_cpu_ns() - cpu < 10_000_000);
    }

    #[test]
    fn computing_takes_cpu_time() {
        let began = thread_cpu_ns();
        let mut sum = 0u64;
        while thread_cpu_ns() - began < 1_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(sum > 0);
    }

    #[test]
    fn waiting_counts_as_a_voluntary_switch() {
        let before = switches_and_faults().expect("every Linux has RUSAGE_THREAD");
        std::thread::sleep(Duration::from_millis(2));
        let after = switches_and_faults().expect("every Linux has RUSAGE_THREAD");
        assert!(after.voluntary_switches > before.voluntary_switches);
    }
}
