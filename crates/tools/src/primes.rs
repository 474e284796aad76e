//! Foreground work: the search for primes of sysbench's CPU test.
//!
//! An event tests every number from 3 up to the limit: it divides it by the numbers up to its
//! square root. Each thread takes the next event when it has done one. The divisions are the same
//! as sysbench's, so that results can be compared; there are faster ways to find primes.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `run_time` | s | from the first event's beginning to the last one's end |
//! | `event_rate` | /s | events in that time |
//! | `event_time` | s | distribution: one event |
//!
//! And the counts of its threads, `cpu_time` to `time_wait` ([`crate::thread_counts`]).

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

use super::thread_counts::{self, ThreadCounts};
use crosstalk_work::{Declared, prepare_alone, threads};

/// The parameters, which sysbench's test shares.
pub(crate) const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "threads",
        "1",
        "a number, or `quarter`, `half`, `all`, `twice`, `four times` the processors",
    ),
    Parameter::new("limit", "10000", "the largest number that is tested (sysbench's cpu-max-prime)"),
    Parameter::new("events", "1000", "number of events"),
]]);

/// The workload `primes`: counts primes by trial division, as `sysbench cpu` does.
pub const PRIMES: Declared<Spec> = Declared {
    name: "primes",
    title: "Foreground work: the prime search of sysbench's CPU test",
    parameters: PARAMETERS,
    read: Spec::read,
    deploy: |spec| {
        let run = [
            Metric::new("run_time", "s", Better::Lower).above_zero(),
            Metric::new("event_rate", "/s", Better::Higher),
            Metric::new("event_time", "s", Better::Lower).above_zero(),
        ];
        Deployment {
            nodes: 1,
            timing: Timing::Real,
            metrics: run.into_iter().chain(thread_counts::metrics()).collect(),
            effort: spec.effort(),
        }
    },
    needs: |_| vec![Need::found("processors", "this machine's")],
    prepare: |spec, _: &Part| -> Result<Box<dyn Prepared>, Fault> {
        Ok(prepare_alone(move |out, cancelled| spec.run(out, cancelled)))
    },
};

/// Seconds of an event on the reference machine, over the limit to the power of 3/2.
const DIVISION: f64 = 8e-10;

/// How many primes to count, with how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub(crate) threads: usize,
    pub(crate) limit: u64,
    pub(crate) events: u64,
}

/// What a thread did.
struct ThreadResult {
    times: Histogram,
    counts: ThreadCounts,
    /// Primes that an event found; all events find the same.
    found: Option<u64>,
}

impl Spec {
    fn run(&self, out: &mut dyn Sink, cancelled: &AtomicBool) -> Result<(), Fault> {
        let next = AtomicU64::new(0);
        let began = Instant::now();
        let done: Vec<ThreadResult> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads).map(|_| scope.spawn(|| self.work(&next, cancelled))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let seconds = began.elapsed().as_secs_f64();
        if cancelled.load(Ordering::Relaxed) {
            return Err(Fault::interrupted());
        }
        let mut found = done.iter().filter_map(|done| done.found);
        let first = found.next();
        if done.len() < self.threads || found.any(|other| Some(other) != first) {
            return Err(Fault::attempt("the threads do not find the same primes"));
        }
        let mut times = Histogram::default();
        done.iter().for_each(|done| times.merge(&done.times));
        let (events, counts) = (times.count(), done.iter().map(|done| done.counts).sum::<ThreadCounts>());
        out.take(Reading::value("run_time", seconds, Origin::Measured), 1)?;
        out.take(Reading::value("event_rate", events as f64 / seconds, Origin::Measured), events)?;
        out.take(Reading::histogram("event_time", times, Origin::Measured), events)?;
        counts.readings(self.threads, seconds).into_iter().try_for_each(|reading| out.take(reading, 1))
    }

    /// From a workload's parameters.
    pub(crate) fn read(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        Ok(Spec {
            threads: threads(params, "threads", 1)?,
            limit: params.bounded("limit", 10_000, 3, 100_000_000)?,
            events: params.bounded("events", 1000, 1, 1 << 40)?,
        })
    }

    /// The estimated run time.
    pub(crate) fn effort(&self) -> Effort {
        let cores = self.threads.min(allowed().len().max(1)) as f64;
        Effort::computing(self.events as f64 * (self.limit as f64).powf(1.5) * DIVISION / cores)
    }

    fn work(&self, next: &AtomicU64, cancelled: &AtomicBool) -> ThreadResult {
        let before = ThreadCounts::current();
        let mut done = ThreadResult { times: Histogram::default(), counts: before, found: None };
        while next.fetch_add(1, Ordering::Relaxed) < self.events && !cancelled.load(Ordering::Relaxed) {
            let began = Instant::now();
            done.found = Some(primes(self.limit));
            done.times.record(began.elapsed().as_nanos() as u64);
        }
        done.counts = ThreadCounts::current() - before;
        done
    }
}

/// How many primes there are from 3 up to below `limit`.
fn primes(limit: u64) -> u64 {
    let mut found = 0;
    // Without black_box the compiler may compute one event only.
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
        (PRIMES.read)(params).expect("is valid")
    }

    #[test]
    fn all_is_the_same_as_the_number_of_processors_and_twice_is_not() {
        let all = allowed().len() as i64;
        let of = |threads: Value| Params::default().with("threads", threads);
        assert!(PRIMES.same(&of("all".into()), &of(all.into())));
        assert!(!PRIMES.same(&of("all".into()), &of("twice".into())));
    }

    #[test]
    fn primes_are_counted() {
        // π(100) is 25, π(10,000) 1,229; 2 is not tested.
        assert_eq!([3, 4, 10, 100, 10_000].map(primes), [0, 1, 3, 24, 1228]);
    }

    #[test]
    fn every_event_is_done_once() {
        for threads in [1, 3] {
            let spec =
                spec(&Params::default().with("threads", threads).with("limit", 200).with("events", 500));
            let mut readings = Vec::new();
            spec.run(&mut readings, &AtomicBool::new(false)).expect("runs");
            let times = readings.iter().find(|reading| reading.metric == "event_time").expect("is reported");
            assert!(
                matches!(&times.observation, crosstalk_core::record::Observation::Histogram(h) if h.count() == 500)
            );
            let number = |name: &str| {
                readings.iter().find(|r| r.metric == name).and_then(Reading::number).expect("is reported")
            };
            assert!((number("event_rate") * number("run_time") - 500.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_cancelled_search_is_interrupted() {
        let spec = spec(&Params::default().with("events", 1 << 30));
        let fault = spec.run(&mut Vec::new(), &AtomicBool::new(true)).expect_err("is cancelled");
        assert_eq!(fault, Fault::interrupted());
    }
}
