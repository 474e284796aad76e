//! Own work: primes, looked for as sysbench's CPU test does.
//!
//! An event is to test every number from 3 up to the limit by dividing it by the numbers up to
//! its square root; events are dealt to threads as they come for them. sysbench's results hold
//! because this does the same divisions, not because it finds primes well.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | from the first event's beginning to the last one's end |
//! | `event_rate` | /s | events in that time |
//! | `event_time` | s | distribution: one event |
//!
//! and what happened to its threads meanwhile (`cpu_time` … `time_wait`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_core::value::Params;
use crosstalk_host::cpu::allowed;

use super::witness::{self, Counts};
use crosstalk_work::Declared;
use crosstalk_work::alone;
use crosstalk_work::threads;

/// Those of sysbench's test, too.
pub(crate) const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "threads",
        "1",
        "a number, or `quarter`, `half`, `all`, `twice`, `four times` the processors",
    ),
    Parameter::new("limit", "10000", "the largest number that is tested (sysbench's cpu-max-prime)"),
    Parameter::new("events", "1000", "how often all numbers are tested"),
]]);

/// The workload.
pub const PRIMES: Declared<Spec> = Declared {
    name: "primes",
    title: "Own work: primes, as sysbench's CPU test looks for them",
    parameters: PARAMETERS,
    read: Spec::read,
    deploy: |spec| {
        let own = [
            Metric::new("run_time", "s", Better::Lower),
            Metric::new("event_rate", "/s", Better::Higher),
            Metric::new("event_time", "s", Better::Lower),
        ];
        Deployment {
            nodes: 1,
            timing: Timing::Real,
            metrics: own.into_iter().chain(witness::metrics()).collect(),
            effort: spec.effort(),
        }
    },
    needs: |_| vec![Need::found("processors", "this machine's")],
    prepare: |spec, _: &Part| -> Result<Box<dyn Prepared>, Fault> {
        Ok(alone(move |out, cancelled| spec.run(out, cancelled)))
    },
};

/// Seconds of a division on the yardstick, over how many of them an event's numbers take beside
/// limit to the power of 3/2.
const DIVISION: f64 = 8e-10;

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub(crate) threads: usize,
    pub(crate) limit: u64,
    pub(crate) events: u64,
}

/// What a thread did.
struct Done {
    times: Histogram,
    counts: Counts,
    /// Primes that an event found; all find the same.
    found: Option<u64>,
}

impl Spec {
    fn run(&self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        let next = AtomicU64::new(0);
        let began = Instant::now();
        let done: Vec<Done> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads).map(|_| scope.spawn(|| self.work(&next, cancelled))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let taken = began.elapsed().as_secs_f64();
        if cancelled.load(Ordering::Relaxed) {
            return Err(Fault::interrupted());
        }
        let mut found = done.iter().filter_map(|done| done.found);
        let first = found.next();
        if done.len() < self.threads || found.any(|other| Some(other) != first) {
            return Err(Fault::attempt("its threads do not find the same primes"));
        }
        let mut times = Histogram::default();
        done.iter().for_each(|done| times.merge(&done.times));
        let (events, counts) = (times.count(), done.iter().map(|done| done.counts).sum::<Counts>());
        out.take(Reading::value("run_time", taken, Origin::Measured), 1)?;
        out.take(Reading::value("event_rate", events as f64 / taken, Origin::Measured), events)?;
        out.take(Reading::histogram("event_time", times, Origin::Measured), events)?;
        counts.readings(self.threads, taken).into_iter().try_for_each(|reading| out.take(reading, 1))
    }

    /// From a workload's parameters.
    pub(crate) fn read(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        Ok(Spec {
            threads: threads(params, "threads", 1)?,
            limit: params.bounded("limit", 10_000, 3, 100_000_000)?,
            events: params.bounded("events", 1000, 1, 1 << 40)?,
        })
    }

    /// About how long it takes.
    pub(crate) fn effort(&self) -> Effort {
        let cores = self.threads.min(allowed().len().max(1)) as f64;
        Effort::computing(self.events as f64 * (self.limit as f64).powf(1.5) * DIVISION / cores)
    }

    fn work(&self, next: &AtomicU64, cancelled: &AtomicBool) -> Done {
        let before = Counts::own();
        let mut done = Done { times: Histogram::default(), counts: before, found: None };
        while next.fetch_add(1, Ordering::Relaxed) < self.events && !cancelled.load(Ordering::Relaxed) {
            let began = Instant::now();
            done.found = Some(primes(self.limit));
            done.times.record(began.elapsed().as_nanos() as u64);
        }
        done.counts = Counts::own() - before;
        done
    }
}

/// How many primes there are from 3 up to below `limit`.
fn primes(limit: u64) -> u64 {
    let mut found = 0;
    // Without it the compiler may find out that every event is the same.
    for number in 3..std::hint::black_box(limit) {
        let root = (number as f64).sqrt() as u64;
        found += u64::from((2..=root).all(|divisor| !number.is_multiple_of(divisor)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Value;
    use crosstalk_host::cpu::allowed;

    fn spec(params: &Params) -> Spec {
        (PRIMES.read)(params).expect("is one")
    }

    #[test]
    fn all_threads_are_the_same_as_so_many_and_twice_is_not() {
        let all = allowed().len() as i64;
        let of = |threads: Value| Params::default().with("threads", threads);
        assert!(PRIMES.same(&of("all".into()), &of(all.into())));
        assert!(!PRIMES.same(&of("all".into()), &of("twice".into())));
    }

    #[test]
    fn primes_are_counted() {
        // π(100) is 25, π(10,000) 1,229; 2 is not looked at.
        assert_eq!([3, 4, 10, 100, 10_000].map(primes), [0, 1, 3, 24, 1228]);
    }

    #[test]
    fn every_event_is_done_once_by_whichever_thread() {
        for threads in [1, 3] {
            let spec =
                spec(&Params::default().with("threads", threads).with("limit", 200).with("events", 500));
            let mut told = Vec::new();
            spec.run(&mut told, &AtomicBool::new(false)).expect("runs");
            let times = told.iter().find(|reading| reading.metric == "event_time").expect("is told");
            assert!(
                matches!(&times.observation, crosstalk_core::record::Observation::Histogram(h) if h.count() == 500)
            );
            let number = |name: &str| {
                told.iter().find(|r| r.metric == name).and_then(Reading::number).expect("is told")
            };
            assert!((number("event_rate") * number("run_time") - 500.0).abs() < 1e-6);
        }
    }

    #[test]
    fn who_is_told_to_stop_stops() {
        let spec = spec(&Params::default().with("events", 1 << 30));
        let fault = spec.run(&mut Vec::new(), &AtomicBool::new(true)).expect_err("is cancelled");
        assert_eq!(fault, Fault::interrupted());
    }
}
