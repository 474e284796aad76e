//! The threads that do the work, and the CPU time that they get.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::Sink;
use rustix::process::setpriority_process;

use super::mix::rounds;
use super::spec::Spec;
use crate::thread_counts::ThreadCounts;

/// How often the state of the threads is polled.
const POLL: Duration = Duration::from_millis(5);

/// The lowest priority (nice(1)).
const LOWEST: i32 = 19;

/// Background work that keeps a resource busy, ready to begin.
pub struct Burner {
    /// What it uses, and with how many threads.
    pub spec: Spec,
    /// Where it writes files.
    pub scratch: PathBuf,
}

impl Burner {
    /// Works until `cancelled`, and reports the CPU time and the rounds from when it was steady.
    ///
    /// # Errors
    /// Where the work fails, or `out` does.
    pub fn burn(self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        self.burn_and_count(&Totals::default(), out, cancelled)
    }

    fn burn_and_count(
        self,
        totals: &Totals,
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<(), Fault> {
        let threads = self.spec.threads;
        let over = AtomicBool::new(false);
        let stop = || cancelled.load(Ordering::Relaxed) || over.load(Ordering::Relaxed);
        let work = |number: usize| {
            let worked = self.work(number, totals, &stop);
            if worked.is_err() {
                over.store(true, Ordering::Relaxed);
            }
            worked
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || work(number))).collect();
            while totals.at_work.load(Ordering::Relaxed) < threads && !stop() {
                thread::sleep(POLL);
            }
            let (began, rounds, cpu) = (Instant::now(), totals.rounds(), totals.cpu());
            let steady = if stop() { Ok(()) } else { out.steady() };
            while !stop() && steady.is_ok() {
                thread::sleep(POLL);
            }
            let seconds = began.elapsed().as_secs_f64();
            let (rounds, cpu) = (totals.rounds() - rounds, totals.cpu() - cpu);
            over.store(true, Ordering::Relaxed);
            let panicked = |_| Err(Fault::attempt("a thread of the background work panicked"));
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(panicked))?;
            steady?;
            out.take(Reading::value("donated", cpu as f64 * 1e-9 / seconds, Origin::Measured), 1)?;
            out.take(Reading::value("donated_rounds", rounds as f64 / seconds, Origin::Measured), rounds)
        })
    }

    /// What one thread does.
    fn work(&self, number: usize, totals: &Totals, stop: &dyn Fn() -> bool) -> Result<(), Fault> {
        let mix = self.spec.mix;
        if self.spec.lowest {
            // A priority is a thread's own on Linux (setpriority(2), NOTES).
            let _ = setpriority_process(None, LOWEST);
        }
        let path = self.scratch.join(format!("burner-{number}"));
        let failed =
            |e: io::Error| Fault::attempt(format!("the background work `{}` fails: {e}", mix.name()));
        let mut round = rounds(mix, &path).map_err(failed)?;
        totals.count(stop, || round().map_err(failed))
    }
}

/// What all threads have done.
#[derive(Default)]
struct Totals {
    rounds: AtomicU64,
    /// Nanoseconds that they ran.
    cpu: AtomicU64,
    /// Threads that have done a round.
    at_work: AtomicUsize,
}

impl Totals {
    fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    fn cpu(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed)
    }

    /// Does one thread's rounds until it is to stop, and counts all but the first.
    fn count(
        &self,
        stop: &dyn Fn() -> bool,
        mut round: impl FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        round()?;
        self.at_work.fetch_add(1, Ordering::Relaxed);
        let mut before = ThreadCounts::current().cpu;
        while !stop() {
            round()?;
            let now = ThreadCounts::current().cpu;
            self.cpu.fetch_add(now - before, Ordering::Relaxed);
            self.rounds.fetch_add(1, Ordering::Relaxed);
            before = now;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burner::mix::Mix;
    use crosstalk_host::cpu::allowed;

    /// Cancels the work once it has done some rounds after it was steady.
    struct CancelAfterRounds<'a> {
        totals: &'a Totals,
        cancelled: &'a AtomicBool,
        readings: Vec<Reading>,
    }

    impl Sink for CancelAfterRounds<'_> {
        fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
            self.readings.push(reading);
            Ok(())
        }

        fn steady(&mut self) -> Result<(), Fault> {
            let enough = self.totals.rounds() + 3;
            while self.totals.rounds() < enough {
                thread::sleep(POLL);
            }
            self.cancelled.store(true, Ordering::Relaxed);
            Ok(())
        }
    }

    fn spec(mix: Mix, threads: usize) -> Spec {
        Spec { threads, mix, lowest: true }
    }

    #[test]
    fn two_threads_work_until_they_are_cancelled_and_report_their_cpu_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (totals, cancelled) = (Totals::default(), AtomicBool::new(false));
        let mut sink = CancelAfterRounds { totals: &totals, cancelled: &cancelled, readings: Vec::new() };
        let spec = spec(Mix::Cpu, 2);
        let burner = Burner { spec, scratch: folder.path().into() };
        burner.burn_and_count(&totals, &mut sink, &cancelled).expect("works");
        let reported: Vec<(&str, f64)> =
            sink.readings.iter().map(|r| (r.metric.as_str(), r.number().expect("a number"))).collect();
        let [("donated", cores), ("donated_rounds", rate)] = reported[..] else {
            panic!("{reported:?}");
        };
        assert!(cores > 0.0 && cores < 1.2 * allowed().len() as f64, "{cores} processors");
        assert!(rate > 0.0, "{rate} rounds a second");
    }

    #[test]
    fn no_thread_uses_nothing() {
        let cancelled = AtomicBool::new(false);
        let totals = Totals::default();
        let mut sink = CancelAtOnce(&cancelled, Vec::new());
        let spec = spec(Mix::Cpu, 0);
        Burner { spec, scratch: "/there/is/none".into() }
            .burn_and_count(&totals, &mut sink, &cancelled)
            .expect("works");
        let reported: Vec<Option<f64>> = sink.1.iter().map(Reading::number).collect();
        assert_eq!(reported, [Some(0.0); 2]);
    }

    /// Cancels the work as soon as it is steady.
    struct CancelAtOnce<'a>(&'a AtomicBool, Vec<Reading>);

    impl Sink for CancelAtOnce<'_> {
        fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
            self.1.push(reading);
            Ok(())
        }

        fn steady(&mut self) -> Result<(), Fault> {
            self.0.store(true, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_cannot_be_written_to_fails_by_name() {
        let spec = spec(Mix::Disk, 1);
        let burner = Burner { spec, scratch: "/there/is/none".into() };
        let cancelled = AtomicBool::new(false);
        let fault = burner.burn(&mut Vec::new(), &cancelled).expect_err("has no folder");
        assert!(fault.message.contains("disk"), "{fault}");
    }
}
