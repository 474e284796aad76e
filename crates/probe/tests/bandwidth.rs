//! The bandwidth probe between two ends on this host.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::need::Need;
use crosstalk_core::record::Observation;
use crosstalk_core::scene::Workload;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::bandwidth::{BANDWIDTH, Outcome, Spec, measure};
use crosstalk_probe::{Times, Until, listen, serve};

mod ends;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

/// What carries bytes in order, but for what this machine does not have.
fn streams() -> Vec<&'static str> {
    let all = ["tcp", "io-uring", "unix", "pipe", "shared"];
    let there = |transport: &&str| {
        let there = BANDWIDTH.needs(&short(transport)).iter().all(Need::is_found);
        if !there {
            eprintln!("skipped: {transport} is not to be had here");
        }
        there
    };
    all.into_iter().filter(there).collect()
}

fn short(transport: &str) -> Params {
    Params::default().with("transport", transport).with("duration", "200 ms")
}

fn on_this_host(params: &Params) -> Result<Vec<Outcome>, Fault> {
    let spec = Spec::from_params(params)?;
    ends::on_this_host(|target, until| measure(target, &spec, until))
}

#[test]
fn what_is_written_to_a_stream_is_received() {
    for transport in streams() {
        for size in [1, 1000, 65_536, 1 << 20] {
            let params = short(transport).with("size", size).with("bytes", 300_001);
            let outcome = &on_this_host(&params).expect("measures")[0];
            // A byte a write may take longer than there is time.
            let expected = if size == 1 { outcome.received } else { Bytes(300_001) };
            assert_eq!(outcome.received, expected, "{transport} {size}");
            assert_eq!(outcome.lost, None);
            assert!(outcome.bandwidth > 0.0 && outcome.bandwidth.is_finite());
        }
    }
}

#[test]
fn a_rate_that_is_asked_for_is_kept() {
    let params = short("udp").with("rate", "20 Mbit/s").with("duration", "500 ms");
    let outcome = &on_this_host(&params).expect("measures")[0];
    assert!((outcome.offered / 20e6 - 1.0).abs() < 0.1, "offered {} bit/s", outcome.offered);
    assert!((outcome.bandwidth / 20e6 - 1.0).abs() < 0.25, "received {} bit/s", outcome.bandwidth);
}

#[test]
fn datagrams_are_either_received_or_lost() {
    for size in [1, 8, 1400, 65_507] {
        let outcome = &on_this_host(&short("udp").with("size", size)).expect("measures")[0];
        let lost = outcome.lost.expect("is counted over UDP");
        let received = (outcome.sent as f64 * (1.0 - lost)).round() as u64;
        assert_eq!(received * size as u64, outcome.received.0, "{size} B");
        assert!(outcome.received.0 > 0);
    }
}

#[test]
fn the_series_holds_what_was_received_in_whole_intervals() {
    let params = short("tcp").with("interval", "20 ms");
    let outcome = &on_this_host(&params).expect("measures")[0];
    let bits: f64 = outcome.series.iter().map(|rate| rate * outcome.interval).sum();
    assert!(bits <= outcome.received.0 as f64 * 8.0 + 0.5);
    assert!((7..=10).contains(&outcome.series.len()), "{} intervals of 20 in 200 ms", outcome.series.len());
}

#[test]
fn two_nodes_of_a_scene_measure() {
    let params = short("tcp");
    let readings = scene::finished(scene::play(&BANDWIDTH, &params, 2, 20.0, &AtomicBool::new(false)));
    let declared = BANDWIDTH.deploy(&params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "an undeclared metric");
    assert!(scene::value(&readings, "bandwidth") > 0.0);
    assert!(scene::value(&readings, "own_overhead") < 5e-6);
    let series = readings.iter().find(|r| r.metric == "bandwidth_series").map(|r| &r.observation);
    assert!(matches!(series, Some(Observation::Series(s)) if s.len() > 10), "{series:?}");
}

#[test]
fn a_refused_connection_is_a_fault_with_a_remedy() {
    let spec = Spec::from_params(&Params::default()).expect("reads");
    let fault =
        ends::where_nobody_listens(|target, until| measure(target, &spec, until)).expect_err("refused");
    assert!(fault.remedy.is_some(), "no remedy");
}

#[test]
fn cancelled_both_ends_end_soon() {
    for transport in streams().into_iter().chain(["udp"]) {
        let long = Params::default().with("transport", transport).with("duration", "1 min");
        let (outcomes, took) = scene::cancelled(&BANDWIDTH, &long, Duration::from_millis(200));
        assert!(took < Duration::from_secs(2), "{transport} took {took:?}");
        let fault = outcomes[0].as_ref().expect_err("is cancelled");
        assert_eq!(fault.kind, FaultKind::Interrupted, "{transport}");
    }
}

#[test]
fn an_end_that_dies_in_mid_run_is_noticed_at_once() {
    for transport in ["tcp", "udp"] {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let target = listener.local_addr().expect("has one");
        let (flag, theirs) = (AtomicBool::new(false), AtomicBool::new(false));
        let begin = Instant::now();
        thread::scope(|scope| {
            let serving = Until::new(Seconds(20.0), &theirs);
            // Whose sockets close when it ends, as the kernel closes those of a process.
            scope.spawn(move || serve(&listener, Times::Once, &serving, &mut |_| ()));
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                theirs.store(true, Ordering::Relaxed);
            });
            let params = Params::default().with("transport", transport).with("duration", "20 s");
            let spec = Spec::from_params(&params).expect("reads");
            let fault = measure(target, &spec, &Until::new(Seconds(30.0), &flag)).expect_err("it died");
            assert_eq!(fault.kind, FaultKind::Gone, "{transport}: {fault}");
        });
        assert!(begin.elapsed() < Duration::from_secs(3), "{transport} took {:?}", begin.elapsed());
    }
}

#[test]
fn a_deadline_ends_it_with_a_fault() {
    let long = Params::default().with("duration", "1 min");
    let outcomes = scene::play(&BANDWIDTH, &long, 2, 0.5, &AtomicBool::new(false));
    // Both ends have the same deadline: whose clock strikes first says so. The end that measures
    // fails in either case; the one that serves may have been told by it that it is over.
    let says = |end: usize, what: &str| outcomes[end].as_ref().is_err_and(|f| f.message.contains(what));
    let (ours, theirs) = (says(0, "time was up"), says(1, "time was up"));
    let gone = outcomes[0].as_ref().is_err_and(|fault| fault.kind == FaultKind::Gone);
    assert!(ours || (theirs && gone), "{outcomes:?}");
}
