//! How long threads that are ready wait for a processor: the run-queue latency, as `perf sched latency` and bcc's
//! `runqlat` call it.
//!
//! The kernel counts for each thread how often it got a processor, and how long it was ready to run and waited before
//! (`/proc/PID/task/TID/schedstat`, sched-stats.rst). A pressure is the share of the time in which anybody waited; this
//! is how long one wait took. Nothing is traced, so it costs threads nothing.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crosstalk_host::clock::{SchedStat, parse_schedstat};

/// So many threads of a group count at most, those of its oldest processes first: reading takes some microseconds each.
const MOST: usize = 256;

/// What the kernel has counted for threads since each began, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatches(BTreeMap<u32, SchedStat>);

impl Dispatches {
    /// Reads those of these processes.
    pub fn read(processes: &[u32]) -> Self {
        let threads = processes.iter().flat_map(|pid| {
            let folder = fs::read_dir(format!("/proc/{pid}/task"));
            folder.into_iter().flatten().flatten()
        });
        let stat = |thread: fs::DirEntry| {
            let number = thread.file_name().to_str()?.parse().ok()?;
            Some((number, parse_schedstat(&fs::read_to_string(thread.path().join("schedstat")).ok()?)?))
        };
        Dispatches(threads.take(MOST).filter_map(stat).collect())
    }

    /// The mean wait of all times since `before` that a thread got a processor; `None` if none did. Threads that came
    /// or ended meanwhile do not count.
    pub fn delay_since(&self, before: &Dispatches) -> Option<Duration> {
        let (mut waited, mut times) = (0, 0);
        for (thread, now) in &self.0 {
            let Some(before) = before.0.get(thread) else { continue };
            // Another one may have its number.
            let Some(more) = now.slices.checked_sub(before.slices) else { continue };
            waited += now.delay_ns.saturating_sub(before.delay_ns);
            times += more;
        }
        (times > 0).then(|| Duration::from_nanos(waited / times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn dispatches(threads: &[(u32, u64, u64)]) -> Dispatches {
        let stat = |(thread, delay_ns, slices): &(u32, u64, u64)| {
            (*thread, SchedStat { run_ns: 0, delay_ns: *delay_ns, slices: *slices })
        };
        Dispatches(threads.iter().map(stat).collect())
    }

    #[test]
    fn the_delay_is_the_mean_of_all_times_that_a_thread_got_a_processor() {
        let before = dispatches(&[(1, 1_000, 10), (2, 0, 0), (3, 5_000, 50)]);
        // Thread 3 has ended, and thread 4 began.
        let after = dispatches(&[(1, 1_300, 12), (2, 100, 2), (4, 9_000, 9)]);
        assert_eq!(after.delay_since(&before), Some(Duration::from_nanos(100)));
        assert_eq!(before.delay_since(&after), None, "the numbers are others' by now");
        assert_eq!(after.delay_since(&after), None, "nobody ran");
    }

    #[test]
    fn own_threads_are_read() {
        let own = || Dispatches::read(&[std::process::id()]);
        if own().0.is_empty() {
            eprintln!("skipped: this kernel has no schedstat of threads");
            return;
        }
        let (stop, before) = (AtomicBool::new(false), own());
        thread::scope(|scope| {
            // This one is woken again and again, so that it gets a processor again and again.
            let waker = scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            });
            while own().delay_since(&before).is_none() {
                thread::park_timeout(Duration::from_micros(100));
            }
            stop.store(true, Ordering::SeqCst);
            waker.join().expect("ends");
        });
        assert!(Dispatches::read(&[]).0.is_empty());
    }
}
