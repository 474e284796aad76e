//! What the kernel takes for what every message needs: a system call, a timer
//! that goes off, waking a thread up, and giving it a core that another one has.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `system_call` | s | getppid(2), which does next to nothing: the median of batches |
//! | `timer` | s | distribution: how late clock_nanosleep(2) returns, in a thread that asks for no slack (PR_SET_TIMERSLACK(2const); by default the kernel may be 50 µs late to save wake-ups) |
//! | `wake_up` | s | distribution: from writing to an eventfd(2) until the thread that sleeps on it goes on, on another processor |
//! | `scheduling` | s | the same where a thread of the same priority computes on that processor, which is then waited for |
//! | `own_overhead` | s | what timing one of these costs |
//!
//! Half of `wake_up` is not the other half: nothing is halved, as both threads read
//! one clock.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use rustix::process::getppid;
use rustix::thread::{clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::{Pinned, allowed};

use super::arguments::positive;
use super::settle::median;
use super::{Readings, alone, clock};
use crosstalk_work::Declared;
use crosstalk_work::peer::Until;

const PARAMETERS: Parameters = Parameters(&[&[Parameter::new("duration", "1 s", "of each of the four")]]);

/// The probe.
pub const KERNEL: Declared<Spec> = Declared {
    name: "kernel",
    title: "What a system call, a timer, a wake-up and a taken core cost",
    parameters: PARAMETERS,
    read: |params| {
        params.only(PARAMETERS)?;
        Ok(Spec { duration: positive("duration", params.seconds("duration", Seconds(1.0))?)? })
    },
    deploy: |spec| {
        let metrics = ["system_call", "timer", "wake_up", "scheduling"]
            .map(|name| Metric::new(name, "s", Better::Lower))
            .into_iter()
            .chain([Metric::new("own_overhead", "s", Better::Neither)]);
        alone::deployment(metrics.collect(), 4.0 * spec.duration.0)
    },
    needs: |_| vec![Need::found("eventfd, clock_nanosleep", "the kernel's")],
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        alone::prepare(part, move |until| measure(spec, until))
    },
};

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    duration: Seconds,
}

fn measure(spec: Spec, until: &Until) -> Result<Readings, Fault> {
    let cpus = allowed();
    // A thread that sleeps, and one that wakes it, on cores of their own where there are two.
    let (near, far) = (cpus.first().copied().unwrap_or(0), cpus.last().copied().unwrap_or(0));
    let mut readings = vec![system_calls(spec.duration, until)?];
    let mut tell = |metric: &str, histogram: Histogram| {
        let n = histogram.count();
        readings.push((Reading::histogram(metric, histogram, Origin::Measured), n));
    };
    tell("timer", timer(spec.duration, until)?);
    if near != far {
        tell("wake_up", wake_up(near, far, spec.duration, until)?);
        let computing = AtomicBool::new(true);
        let taken = thread::scope(|scope| {
            let hog = scope.spawn(|| {
                let _pinned = Pinned::begin(far)?;
                while computing.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                Ok::<(), Fault>(())
            });
            let taken = wake_up(near, far, spec.duration, until);
            computing.store(false, Ordering::Relaxed);
            hog.join().map_err(|_| Fault::attempt("the computing thread broke off"))?.and(taken)
        })?;
        tell("scheduling", taken);
    }
    readings.push((Reading::value("own_overhead", clock::overhead(), Origin::Measured), 1));
    Ok(readings)
}

/// Calls timed together.
const CALLS: usize = 1000;

fn system_calls(duration: Seconds, until: &Until) -> Result<(Reading, u64), Fault> {
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut batches = Vec::new();
    let mut now = 0;
    while now < end {
        let begin = clock::now();
        for _ in 0..CALLS {
            std::hint::black_box(getppid());
        }
        now = clock::now();
        batches.push((now - begin) as f64 * 1e-9 / CALLS as f64);
        until.check("the system calls to be timed")?;
    }
    let each = median(&batches).ok_or_else(too_short)?;
    Ok((Reading::value("system_call", each, Origin::Measured), batches.len() as u64))
}

fn too_short() -> Fault {
    Fault::usage("too few were timed for a median").of_parameter("duration").remedy("allow a longer one")
}

/// How long a thread sleeps between two of what is timed: long enough for its core to
/// turn to something else.
const PAUSE: u64 = 500_000;

/// How late a sleeper wakes.
fn timer(duration: Seconds, until: &Until) -> Result<Histogram, Fault> {
    let slack = current_timer_slack();
    // Refused nowhere that is known; it is then part of what is timed.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let late = lateness(duration, until);
    let _ = set_current_timer_slack(slack.ok().and_then(NonZeroU64::new));
    late
}

fn lateness(duration: Seconds, until: &Until) -> Result<Histogram, Fault> {
    let end = clock::now() + (duration.0 * 1e9) as u64;
    let mut late = Histogram::default();
    let mut now = clock::now();
    while now < end {
        let due = now + PAUSE;
        let when = Timespec { tv_sec: (due / 1_000_000_000) as i64, tv_nsec: (due % 1_000_000_000) as _ };
        // A signal may end it early: what is then no later than it should be is not counted.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &when);
        now = clock::now();
        if now >= due {
            late.record(now - due);
        }
        until.check("the timer to be timed")?;
    }
    Ok(late)
}

/// A thread that is told the time and has to say how late it heard of it.
struct Bell {
    /// What it sleeps on.
    rings: OwnedFd,
    /// When it was rung; zero: be gone.
    rung: AtomicU64,
    /// When it was heard.
    heard: AtomicU64,
}

/// From waking a thread on processor `far` until it goes on.
fn wake_up(near: usize, far: usize, duration: Seconds, until: &Until) -> Result<Histogram, Fault> {
    let rings =
        eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Fault::environment(format!("no eventfd: {e}")))?;
    let bell = Bell { rings, rung: AtomicU64::new(0), heard: AtomicU64::new(0) };
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| sleep_and_tell(far, &bell));
        let times = (|| {
            let _pinned = Pinned::begin(near)?;
            let end = clock::now() + (duration.0 * 1e9) as u64;
            let mut times = Histogram::default();
            while clock::now() < end && !sleeper.is_finished() {
                thread::sleep(Duration::from_nanos(PAUSE));
                let now = clock::now();
                bell.heard.store(0, Ordering::Relaxed);
                bell.rung.store(now, Ordering::Release);
                ring(&bell.rings)?;
                times.record(await_hearing(&bell, || sleeper.is_finished(), until)?.saturating_sub(now));
            }
            Ok(times)
        })();
        bell.rung.store(0, Ordering::Release);
        ring(&bell.rings)?;
        let slept = sleeper.join().map_err(|_| Fault::attempt("the sleeping thread broke off"))?;
        slept.and(times)
    })
}

fn ring(bell: &OwnedFd) -> Result<(), Fault> {
    write(bell, &1_u64.to_ne_bytes())
        .map(drop)
        .map_err(|e| Fault::attempt(format!("cannot wake a thread: {e}")))
}

/// Sleeps until it is rung for, says when it went on, and sleeps again; until the bell says to go.
fn sleep_and_tell(far: usize, bell: &Bell) -> Result<(), Fault> {
    let _pinned = Pinned::begin(far)?;
    let mut count = [0; 8];
    loop {
        read(&bell.rings, &mut count)
            .map_err(|e| Fault::attempt(format!("cannot sleep on an eventfd: {e}")))?;
        let now = clock::now();
        if bell.rung.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        bell.heard.store(now, Ordering::Release);
    }
}

/// Until it was heard. Sleeping in small steps: it is not this thread that is timed.
fn await_hearing(bell: &Bell, gone: impl Fn() -> bool, until: &Until) -> Result<u64, Fault> {
    loop {
        match bell.heard.load(Ordering::Acquire) {
            0 if gone() => return Err(Fault::attempt("the sleeping thread has ended")),
            0 => {
                until.check("a thread to wake up")?;
                thread::sleep(Duration::from_micros(20));
            }
            heard => return Ok(heard),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::Observation;

    #[test]
    fn waking_a_thread_takes_longer_than_a_call() {
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(60.0), &never);
        let readings = measure(Spec { duration: Seconds(0.3) }, &until).expect("measures");
        let call = readings[0].0.number().expect("a number");
        assert!((5e-9..1e-4).contains(&call), "{call}");
        let found: Vec<&str> = readings.iter().map(|(reading, _)| reading.metric.as_str()).collect();
        assert!(found.contains(&"timer") && found.ends_with(&["own_overhead"]), "{found:?}");
        if allowed().len() < 2 {
            eprintln!("skipped: waking up takes two processors");
            return;
        }
        assert!(found.contains(&"wake_up") && found.contains(&"scheduling"), "{found:?}");
        let median = |metric: &str| {
            let reading = readings.iter().find(|(reading, _)| reading.metric == metric);
            match reading.map(|(reading, _)| &reading.observation) {
                Some(Observation::Histogram(h)) => h.quantile(0.5).expect("some") * 1e-9,
                other => panic!("{other:?}"),
            }
        };
        assert!(median("wake_up") > call && median("scheduling") > call);
    }

    #[test]
    fn a_sleeper_is_never_early() {
        let never = AtomicBool::new(false);
        let late = timer(Seconds(0.1), &Until::new(Seconds(10.0), &never)).expect("times");
        assert!(late.count() > 10, "{}", late.count());
    }
}
