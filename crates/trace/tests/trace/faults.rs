//! A delay that is put into the service appears in its stage, and in no other.

use std::collections::BTreeMap;
use std::time::Duration;

use crosstalk_core::trace::Scope;
use crosstalk_trace::Traced;

use super::service::{Work, connect, request, serve};
use super::{account, by_port, may_trace, traced};

/// Delays, in microseconds.
const DELAYS: [u64; 3] = [100, 300, 1000];
/// How much longer every other stage may take than without the delay, as a share of the delay.
const ELSEWHERE: f64 = 0.25;
/// On a busy machine, other work delays stages, too: one of so many tries must be clean.
const TRIES: usize = 10;

/// Seconds of each stage around the median, by its side and name.
fn stages(work: Work) -> BTreeMap<String, f64> {
    let address = serve(work);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        let mut stream = connect(address);
        (0..300).for_each(|_| _ = request(&mut stream));
    });
    assert_eq!((trace.requests, trace.followed), (300, 300), "{trace:#?}");
    let named = |stage: &crosstalk_core::trace::StageTimes| {
        (format!("{}: {}", stage.side.word(), stage.name), stage.around_p50)
    };
    account(&trace, Scope::Client).stages.iter().map(named).collect()
}

/// Checks one try: the delay is in its stage, and no other stage is longer than without it.
fn check(work: Work, delay: Duration, stage: &str) -> Result<(), String> {
    let (without, with) = (stages(Work::None), stages(work));
    let delay = delay.as_secs_f64();
    for (name, time) in &with {
        let more = time - without.get(name).copied().unwrap_or(0.0);
        if name == stage && more < 0.9 * delay {
            return Err(format!("{delay} s were put in, `{name}` is longer by {more} s"));
        }
        if name != stage && more > ELSEWHERE * delay {
            return Err(format!("{delay} s were put in, and `{name}` is longer by {more} s"));
        }
    }
    with.contains_key(stage).then_some(()).ok_or_else(|| format!("no stage `{stage}` in {with:?}"))
}

fn is_found(work: fn(Duration) -> Work, stage: &str) {
    let Some(_alone) = may_trace() else { return };
    for delay in DELAYS.map(Duration::from_micros) {
        let mut failures = Vec::new();
        while let Err(failure) = check(work(delay), delay, stage) {
            failures.push(failure);
            assert!(failures.len() < TRIES, "{failures:#?}");
        }
    }
}

#[test]
fn a_service_that_sleeps_is_off_the_cpu() {
    is_found(Work::Sleep, "server: service, on none");
}

#[test]
fn a_service_that_computes_is_on_a_cpu() {
    is_found(Work::Compute, "server: service, on a CPU");
}
