//! Timing the hand-overs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_host::cpu::PinnedThread;

use super::spec::Spec;
use crate::clock;
use crate::readings::Readings;
use crate::settle::median;
use crosstalk_work::peer::Deadline;

/// The round trips of a cache line in one batch.
pub const ROUNDS: usize = 1000;

/// Measures every pair of cores.
///
/// # Errors
/// Where a thread cannot be pinned; interrupted.
pub fn measure(spec: &Spec, until: &Deadline) -> Result<Readings, Fault> {
    let overhead = clock::timing_overhead() / (2 * ROUNDS) as f64;
    let mut readings = Vec::new();
    for (from, to) in spec.pairs() {
        until.check("the cores to be measured")?;
        let batches = between(from, to, spec.batches, until)?;
        let each = median(&batches).ok_or_else(|| Fault::attempt("too few batches for a median"))?;
        let labelled = |metric, value| {
            Reading::value(metric, value, Origin::Measured).label("from", from).label("to", to)
        };
        readings.push((labelled("hand_over", each), batches.len() as u64));
        readings.push((labelled("own_overhead", overhead), 1));
    }
    Ok(readings)
}

/// A flag on cache lines of its own; lines are fetched in pairs.
#[repr(align(128))]
struct Flag(AtomicBool);

/// Seconds of a hand-over between two cores, batch by batch.
fn between(from: usize, to: usize, batches: usize, until: &Deadline) -> Result<Vec<f64>, Fault> {
    let (flag, over) = (Flag(AtomicBool::new(false)), AtomicBool::new(false));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _pinned = PinnedThread::begin(to).inspect_err(|_| over.store(true, Ordering::Relaxed))?;
            for _ in 0..(batches + 1) * ROUNDS {
                if !toggle(&flag, true, || over.load(Ordering::Relaxed)) {
                    break;
                }
            }
            Ok::<(), Fault>(())
        });
        let times = (|| {
            let _pinned = PinnedThread::begin(from)?;
            let mut times = Vec::with_capacity(batches);
            // The first batch does not count: the other core may still be waking.
            for batch in 0..=batches {
                let begin = clock::now();
                for _ in 0..ROUNDS {
                    if !toggle(&flag, false, || {
                        over.load(Ordering::Relaxed) || until.is_cancelled() || until.is_over()
                    }) {
                        return until.check("the cores to be measured").map(|()| times);
                    }
                }
                if batch > 0 {
                    times.push((clock::now() - begin) as f64 * 1e-9 / (2 * ROUNDS) as f64);
                }
                until.check("the cores to be measured")?;
            }
            Ok(times)
        })();
        over.store(true, Ordering::Relaxed);
        let other = other.join().map_err(|_| Fault::attempt("the other core's thread panicked"))?;
        other.and(times)
    })
}

/// Waits until the flag is `from`, and toggles it; `false` if the wait is over.
#[inline]
fn toggle(flag: &Flag, from: bool, is_over: impl Fn() -> bool) -> bool {
    let mut tries = 0_u32;
    while flag.0.compare_exchange(from, !from, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        tries = tries.wrapping_add(1);
        // Checked rarely, because it is on another line.
        if tries.is_multiple_of(1 << 12) && is_over() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;
    use crosstalk_host::cpu::allowed;

    #[test]
    fn a_hand_over_takes_longer_than_a_core_s_own_toggle() {
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("skipped: one processor is allowed here");
            return;
        }
        let never = AtomicBool::new(false);
        let spec = Spec { cpus: cpus[..2].to_vec(), batches: 30 };
        let readings = measure(&spec, &Deadline::new(Seconds(60.0), &never)).expect("measures");
        let time = readings[0].0.number().expect("a number");
        let flag = Flag(AtomicBool::new(false));
        let begin = clock::now();
        (0..ROUNDS).for_each(|round| assert!(toggle(&flag, round % 2 == 1, || true)));
        let own = (clock::now() - begin) as f64 * 1e-9 / ROUNDS as f64;
        assert!(time > own, "{time} s, and {own} s on one core");
    }

    #[test]
    fn a_cancelled_measurement_ends() {
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("skipped: one processor is allowed here");
            return;
        }
        let cancelled = AtomicBool::new(true);
        assert!(between(cpus[0], cpus[1], 1_000_000, &Deadline::new(Seconds(60.0), &cancelled)).is_err());
    }
}
