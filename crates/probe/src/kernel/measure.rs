//! All four measurements.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::{PinnedThread, allowed};

use super::system_call::system_call;
use super::timer::time_wake_from_sleep;
use super::wake_up::wake_up;
use crate::clock;
use crate::readings::Readings;
use crosstalk_work::peer::Deadline;

/// How long a probe of the kernel measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// How long each measurement takes.
    pub duration: Seconds,
}

/// Measures all four; wake-ups only if there are two processors.
///
/// # Errors
/// Where the kernel refuses; interrupted; at the deadline.
pub fn measure(spec: Spec, until: &Deadline) -> Result<Readings, Fault> {
    let cpus = allowed();
    // The thread that sleeps and the one that wakes it have a processor each.
    let (waker, sleeper) = (cpus.first().copied().unwrap_or(0), cpus.last().copied().unwrap_or(0));
    let mut readings = vec![system_call(spec.duration, until)?];
    let mut add = |metric: &str, histogram: Histogram| {
        let n = histogram.count();
        readings.push((Reading::histogram(metric, histogram, Origin::Measured), n));
    };
    add("timer", time_wake_from_sleep(spec.duration, until)?);
    if waker != sleeper {
        add("wake_up", wake_up(waker, sleeper, spec.duration, until)?);
        let computing = AtomicBool::new(true);
        let times = thread::scope(|scope| {
            let hog = scope.spawn(|| {
                let _pinned = PinnedThread::begin(sleeper)?;
                while computing.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                Ok::<(), Fault>(())
            });
            let times = wake_up(waker, sleeper, spec.duration, until);
            computing.store(false, Ordering::Relaxed);
            hog.join().map_err(|_| Fault::attempt("the computing thread panicked"))?.and(times)
        })?;
        add("scheduling", times);
    }
    readings.push((Reading::value("own_overhead", clock::timing_overhead(), Origin::Measured), 1));
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::Observation;

    #[test]
    fn waking_a_thread_takes_longer_than_a_system_call() {
        let never = AtomicBool::new(false);
        let until = Deadline::new(Seconds(60.0), &never);
        let readings = measure(Spec { duration: Seconds(0.3) }, &until).expect("measures");
        let call = readings[0].0.number().expect("a number");
        assert!(call > 0.0, "{call}");
        let metrics: Vec<&str> = readings.iter().map(|(reading, _)| reading.metric.as_str()).collect();
        assert!(metrics.contains(&"timer") && metrics.ends_with(&["own_overhead"]), "{metrics:?}");
        if allowed().len() < 2 {
            eprintln!("skipped: waking a thread takes two processors");
            return;
        }
        assert!(metrics.contains(&"wake_up") && metrics.contains(&"scheduling"), "{metrics:?}");
        let median = |metric: &str| {
            let reading = readings.iter().find(|(reading, _)| reading.metric == metric);
            match reading.map(|(reading, _)| &reading.observation) {
                Some(Observation::Histogram(h)) => h.quantile(0.5).expect("some") * 1e-9,
                other => panic!("{other:?}"),
            }
        };
        assert!(median("wake_up") > call && median("scheduling") > call);
    }
}
