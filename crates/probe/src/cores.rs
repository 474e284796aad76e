//! How long it takes a core to hand a cache line to another one.
//!
//! Two threads, each held on a core, take turns at one flag: each waits until the
//! other has turned it, and turns it back by compare-and-swap. Half of a round is
//! one hand-over.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `hand_over` | s | from one core to the other: the median of batches of rounds; labels `from`, `to` |
//! | `own_overhead` | s | what timing a batch adds to one hand-over |

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_core::value::{Params, Value};
use crosstalk_host::cpu::{Pinned, allowed};

use super::settle::median;
use super::{Readings, alone, clock};
use crosstalk_work::Declared;
use crosstalk_work::peer::Until;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("cpus", "all that are allowed", "processors between which lines are handed over: a list"),
    Parameter::new("batches", "300", "of 1,000 rounds, for each pair"),
]]);

/// Rounds in a batch.
const ROUNDS: usize = 1000;

/// The probe.
pub const CORES: Declared<Spec> = Declared {
    name: "cores",
    title: "How long a core takes to hand a cache line to another, for every pair",
    parameters: PARAMETERS,
    read: Spec::new,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("hand_over", "s", Better::Lower),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        // About 100 ns a hand-over.
        alone::deployment(metrics, spec.pairs().count() as f64 * spec.batches as f64 * ROUNDS as f64 * 2e-7)
    },
    needs: |_| vec![Need::found("processors", format!("{:?} are allowed", allowed()))],
    prepare,
};

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    cpus: Vec<usize>,
    batches: usize,
}

impl Spec {
    fn new(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let allowed = allowed();
        let wrong = |found: &Value| {
            let known: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            Fault::usage(format!(
                "expected at least two different processors that are allowed, found `{found}`"
            ))
            .of_parameter("cpus")
            .remedy(format!("choose among: {}", known.join(", ")))
        };
        let cpus = match params.get("cpus") {
            None => allowed.clone(),
            Some(list @ Value::List(cpus)) => {
                let number = |value: &Value| match value {
                    Value::Int(n) if allowed.iter().any(|cpu| *cpu as i64 == *n) => Ok(*n as usize),
                    _ => Err(wrong(list)),
                };
                cpus.iter().map(number).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(wrong(other)),
        };
        let twice = cpus.iter().enumerate().any(|(place, cpu)| cpus[..place].contains(cpu));
        if twice || params.get("cpus").is_some() && cpus.len() < 2 {
            return Err(wrong(params.get("cpus").unwrap_or(&Value::Int(0))));
        }
        Ok(Spec { cpus, batches: params.bounded("batches", 300, 6, 1_000_000)? as usize })
    }

    /// Every two, once.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cpus = &self.cpus;
        (0..cpus.len()).flat_map(move |a| (a + 1..cpus.len()).map(move |b| (cpus[a], cpus[b])))
    }
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if spec.cpus.len() < 2 {
        return Err(Fault::environment("one processor is allowed here: there is nothing to hand over to")
            .remedy("allow a second one: taskset, or the container's set of processors"));
    }
    alone::prepare(part, move |until| measure(&spec, until))
}

fn measure(spec: &Spec, until: &Until) -> Result<Readings, Fault> {
    let overhead = clock::overhead() / (2 * ROUNDS) as f64;
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

/// A flag on cache lines of its own: neighbours are fetched in pairs.
#[repr(align(128))]
struct Flag(AtomicBool);

/// Seconds of a hand-over between two cores, batch by batch.
fn between(from: usize, to: usize, batches: usize, until: &Until) -> Result<Vec<f64>, Fault> {
    let (flag, gone) = (Flag(AtomicBool::new(false)), AtomicBool::new(false));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _pinned = Pinned::begin(to).inspect_err(|_| gone.store(true, Ordering::Relaxed))?;
            for _ in 0..(batches + 1) * ROUNDS {
                if !turn(&flag, true, || gone.load(Ordering::Relaxed)) {
                    break;
                }
            }
            Ok::<(), Fault>(())
        });
        let times = (|| {
            let _pinned = Pinned::begin(from)?;
            let mut times = Vec::with_capacity(batches);
            // The first batch is not counted: the other core may still come up.
            for batch in 0..=batches {
                let begin = clock::now();
                for _ in 0..ROUNDS {
                    if !turn(&flag, false, || {
                        gone.load(Ordering::Relaxed) || until.cancelled() || until.is_over()
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
        gone.store(true, Ordering::Relaxed);
        let other = other.join().map_err(|_| Fault::attempt("the other core's thread broke off"))?;
        other.and(times)
    })
}

/// Waits until the flag shows `shows`, and turns it. `false`: it is to wait no longer.
#[inline]
fn turn(flag: &Flag, shows: bool, enough: impl Fn() -> bool) -> bool {
    let mut tries = 0_u32;
    while flag.0.compare_exchange(shows, !shows, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        tries = tries.wrapping_add(1);
        // Looked at now and then: the line is another one.
        if tries.is_multiple_of(1 << 12) && enough() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;

    #[test]
    fn every_pair_is_measured_once() {
        let spec = Spec { cpus: vec![0, 2, 5], batches: 6 };
        assert_eq!(spec.pairs().collect::<Vec<_>>(), [(0, 2), (0, 5), (2, 5)]);
    }

    #[test]
    fn a_hand_over_takes_longer_than_a_cycle_and_less_than_a_wake_up() {
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("skipped: one processor is allowed here");
            return;
        }
        let never = AtomicBool::new(false);
        let spec = Spec { cpus: cpus[..2].to_vec(), batches: 30 };
        let readings = measure(&spec, &Until::new(Seconds(60.0), &never)).expect("measures");
        let time = readings[0].0.number().expect("a number");
        assert!((1e-9..20e-6).contains(&time), "{time}");
    }

    #[test]
    fn processors_must_be_there_and_differ() {
        let refusal = |cpus: Vec<i64>| {
            let list = Value::List(cpus.into_iter().map(Value::Int).collect());
            Spec::new(&Params::default().with("cpus", list)).expect_err("refused")
        };
        let first = allowed()[0];
        for bad in [vec![0, 0], vec![0], vec![], vec![0, 100_000], vec![0, -1]] {
            assert!(refusal(bad).remedy.is_some_and(|r| r.starts_with(&format!("choose among: {first}"))));
        }
    }

    #[test]
    fn it_ends_when_it_is_cancelled() {
        let cpus = allowed();
        if cpus.len() < 2 {
            eprintln!("skipped: one processor is allowed here");
            return;
        }
        let cancelled = AtomicBool::new(true);
        assert!(between(cpus[0], cpus[1], 1_000_000, &Until::new(Seconds(60.0), &cancelled)).is_err());
    }
}
