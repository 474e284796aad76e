//! The bandwidth probe with a server on this host.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::need::Need;
use crosstalk_core::record::Observation;
use crosstalk_core::scene::Workload;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::bandwidth::{BANDWIDTH, Outcome, Spec, measure, measure_live};
use crosstalk_probe::{Conversations, Deadline, listen, serve};

mod local;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

/// The stream transports that this machine has.
fn streams() -> Vec<&'static str> {
    let all = ["tcp", "io-uring", "unix", "pipe", "shared"];
    let is_there = |transport: &&str| {
        let has = BANDWIDTH.needs(&short(transport)).iter().all(Need::is_found);
        if !has {
            eprintln!("skipped: {transport} is missing on this machine");
        }
        has
    };
    all.into_iter().filter(is_there).collect()
}

fn short(transport: &str) -> Params {
    Params::default().with("transport", transport).with("duration", "200 ms")
}

fn on_this_host(params: &Params) -> Result<Vec<Outcome>, Fault> {
    let spec = Spec::from_params(params)?;
    local::on_this_host(|target, until| measure(target, &spec, until))
}

#[test]
fn all_bytes_of_a_stream_are_received() {
    for transport in streams() {
        for size in [1_i64, 1000, 65_536, 1 << 20] {
            // More than the server receives at a time, so that there is a time between calls; and as long as it
            // takes, on a busy machine, too.
            let bytes = 3 * size.max(64 << 10) + 1;
            let params = short(transport).with("size", size).with("bytes", bytes).with("duration", "60 s");
            let outcome = &on_this_host(&params).expect("measures")[0];
            assert_eq!(outcome.received, Bytes(bytes.unsigned_abs()), "{transport} {size}");
            assert_eq!(outcome.lost, None);
            assert!(outcome.bandwidth > 0.0 && outcome.bandwidth.is_finite());
        }
    }
}

#[test]
fn all_bytes_are_received_without_nagles_delay_too() {
    for reverse in [false, true] {
        // The last segment is not full, and nothing follows that it could wait for.
        let params = short("tcp").with("size", 3).with("bytes", 3001).with("rate", "240 kbit/s");
        let params = params.with("duration", "60 s");
        for no_delay in [false, true] {
            let params = params.clone().with("reverse", reverse).with("no_delay", no_delay);
            let outcome = &on_this_host(&params).expect("measures")[0];
            assert_eq!(outcome.received, Bytes(3001), "reverse {reverse}, no delay {no_delay}");
        }
    }
}

#[test]
fn a_rate_is_not_exceeded_and_what_is_not_sent_is_counted() {
    let params = short("udp").with("rate", "20 Mbit/s").with("duration", "500 ms");
    let outcome = &on_this_host(&params).expect("measures")[0];
    assert!(outcome.offered < 20e6 * 1.1, "offered {} bit/s", outcome.offered);
    // A busy machine may send less: every write that was due is sent or counted.
    let due = (20e6 * 0.5_f64 / 8.0 / 1400.0).ceil() as u64;
    let counted = outcome.sent + outcome.not_sent.expect("there is a rate");
    assert!(counted.abs_diff(due) <= 1, "{counted} of {due} writes");
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
    assert!((1..=10).contains(&outcome.series.len()), "{} intervals of 20 in 200 ms", outcome.series.len());
}

#[test]
fn two_nodes_of_a_scene_measure() {
    let params = short("tcp");
    let readings = scene::finished(scene::play(&BANDWIDTH, &params, 2, 20.0, &AtomicBool::new(false)));
    let declared = BANDWIDTH.deploy(&params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "an undeclared metric");
    assert!(scene::value(&readings, "bandwidth") > 0.0);
    assert!(scene::value(&readings, "own_overhead") > 0.0);
    let series = readings.iter().find(|r| r.metric == "bandwidth_series").map(|r| &r.observation);
    assert!(matches!(series, Some(Observation::Series(s)) if !s.is_empty()), "{series:?}");
}

#[test]
fn a_refused_connection_is_a_fault_with_a_remedy() {
    let spec = Spec::from_params(&Params::default()).expect("reads");
    let fault =
        local::where_nobody_listens(|target, until| measure(target, &spec, until)).expect_err("refused");
    assert!(fault.remedy.is_some(), "no remedy");
}

#[test]
fn a_cancelled_measurement_is_interrupted() {
    for transport in streams().into_iter().chain(["udp"]) {
        let long = Params::default().with("transport", transport).with("duration", "1 min");
        let (outcomes, _) = scene::cancelled(&BANDWIDTH, &long, Duration::from_millis(200));
        let fault = outcomes[0].as_ref().expect_err("is cancelled");
        assert_eq!(fault.kind, FaultKind::Interrupted, "{transport}");
    }
}

#[test]
fn a_server_that_dies_is_noticed() {
    for transport in ["tcp", "udp"] {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
        let target = listener.local_addr().expect("has one");
        let (flag, killed) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let serving = Deadline::new(Seconds(20.0), &killed);
            // Its sockets close when it ends, as the kernel closes those of a process.
            scope.spawn(move || serve(&listener, Conversations::Once, &serving, &mut |_| ()));
            // It reports every 100 ms, and dies after the first report.
            let mut report = |_: &Spec, _, _| {
                killed.store(true, Ordering::Relaxed);
                Ok(())
            };
            let params = Params::default().with("transport", transport).with("duration", "1 h");
            let spec = Spec::from_params(&params.with("report", "100 ms").with("interval", "1 s"));
            let spec = spec.expect("reads");
            let until = Deadline::new(Seconds(60.0), &flag);
            let fault = measure_live(target, &spec, &until, &mut report).expect_err("it died");
            assert_eq!(fault.kind, FaultKind::Gone, "{transport}: {fault}");
        });
    }
}

#[test]
fn a_deadline_ends_it_with_a_fault() {
    let long = Params::default().with("duration", "1 min");
    let outcomes = scene::play(&BANDWIDTH, &long, 2, 0.5, &AtomicBool::new(false));
    // Client and server have the same deadline, and either may be the first to notice it. The client
    // fails in either case; the server may see the client hang up.
    let says = |node: usize, what: &str| outcomes[node].as_ref().is_err_and(|f| f.message.contains(what));
    let (client, server) = (says(0, "time was up"), says(1, "time was up"));
    let gone = outcomes[0].as_ref().is_err_and(|fault| fault.kind == FaultKind::Gone);
    assert!(client || (server && gone), "{outcomes:?}");
}
