//! The latency probe with a server on this host, and with mock servers.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use crosstalk_core::need::Need;
use crosstalk_core::record::Observation;
use crosstalk_core::scene::Workload;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::latency::{LATENCY, Outcome, Spec, measure};
use crosstalk_probe::{Conversations, Deadline, Mode, listen, serve};

#[path = "../local/mod.rs"]
mod local;
#[path = "../mock_server/mod.rs"]
mod mock_server;
mod mocks;
#[path = "../../../work/tests/scene/mod.rs"]
mod scene;

/// The stream transports that this machine has.
fn streams() -> Vec<&'static str> {
    let all = ["tcp", "io-uring", "unix", "pipe", "shared"];
    let is_there = |transport: &&str| {
        let has = LATENCY.needs(&short(transport)).iter().all(Need::is_found);
        if !has {
            eprintln!("skipped: {transport} is missing on this machine");
        }
        has
    };
    all.into_iter().filter(is_there).collect()
}

fn short(transport: &str) -> Params {
    Params::default().with("transport", transport).with("duration", "50 ms")
}

fn on_this_host(params: &Params) -> Result<Vec<Outcome>, Fault> {
    let spec = Spec::from_params(params)?;
    local::on_this_host(|target, until| measure(target, &spec, until))
}

#[test]
fn every_transport_and_mode_and_size_measures() {
    for transport in streams().into_iter().chain(["udp"]) {
        for mode in ["blocking", "polling"] {
            for size in [1, 7, 8, 16, 64, 1400, 60_000] {
                let params = short(transport).with("mode", mode).with("size", size);
                let outcomes = on_this_host(&params).expect("measures");
                let [outcome] = &outcomes[..] else { panic!("one size, one outcome") };
                let n = outcome.round_trip.count();
                assert!(n > 0, "{transport} {mode} {size}: nothing measured");
                assert_eq!(
                    n + outcome.warm_up + outcome.lost,
                    outcome.sent,
                    "every message is accounted for"
                );
                assert_eq!(outcome.one_way.is_ok(), size >= 16, "{:?}", outcome.one_way);
            }
        }
    }
}

#[test]
fn a_message_larger_than_the_buffers_comes_back() {
    for transport in streams() {
        for mode in ["blocking", "polling"] {
            let params = short(transport).with("size", "16 MiB").with("mode", mode).with("patience", "15 s");
            let outcome = &on_this_host(&params).expect("measures")[0];
            assert!(outcome.round_trip.count() > 0, "{transport} {mode}");
        }
    }
}

#[test]
fn two_nodes_in_their_own_networks_meet_on_their_host() {
    for transport in ["unix", "pipe", "shared"] {
        let readings =
            scene::finished(scene::play(&LATENCY, &short(transport), 2, 20.0, &AtomicBool::new(false)));
        let one_way = readings.iter().find(|r| r.metric == "one_way").expect("one clock");
        assert_eq!(one_way.labels["transport"], transport);
    }
}

#[test]
fn the_one_way_time_is_part_of_the_round_trip() {
    let outcome = &on_this_host(&short("udp")).expect("measures")[0];
    let round = outcome.round_trip.quantile(0.5).expect("has one");
    let half = outcome.half_round_trip.quantile(0.5).expect("has one");
    let one_way = outcome.one_way.as_ref().expect("one host, one clock").quantile(0.5).expect("has one");
    assert!((half / round - 0.5).abs() < 0.02, "{half} of {round} ns");
    assert!(one_way > 0.0 && one_way < round, "{one_way} of {round} ns");
}

#[test]
fn two_nodes_of_a_scene_measure_a_list_of_sizes() {
    let sizes = Value::List(vec!["64 B".into(), "1 KiB".into()]);
    let params = Params(short("tcp").0.into_iter().chain([("size".to_string(), sizes)]).collect());
    let readings = scene::finished(scene::play(&LATENCY, &params, 2, 20.0, &AtomicBool::new(false)));
    let declared = LATENCY.deploy(&params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "an undeclared metric");
    for size in ["64", "1024"] {
        let reading = readings.iter().find(|r| r.metric == "round_trip" && r.labels["size"] == size);
        assert!(matches!(reading.map(|r| &r.observation), Some(Observation::Histogram(h)) if h.count() > 0));
    }
}

#[test]
fn the_own_overhead_is_less_than_the_round_trip() {
    let outcome = &on_this_host(&short("tcp")).expect("measures")[0];
    let round_trip = outcome.round_trip.quantile(0.5).expect("has one") * 1e-9;
    assert!(outcome.own_overhead > 0.0 && outcome.own_overhead < round_trip, "{}", outcome.own_overhead);
    assert_eq!(outcome.mode, Mode::Blocking);
}

#[test]
fn a_refused_connection_is_a_fault_with_a_remedy() {
    let spec = Spec::from_params(&Params::default()).expect("reads");
    let fault =
        local::where_nobody_listens(|target, until| measure(target, &spec, until)).expect_err("refused");
    assert!(fault.remedy.is_some_and(|r| r.contains("--listen")), "no remedy");
}

#[test]
fn a_server_refuses_a_missing_processor() {
    let fault = on_this_host(&short("tcp").with("pin", "0,4000")).expect_err("no such processor");
    assert!(fault.message.contains("4000"), "{fault}");
}

#[test]
fn a_cancelled_measurement_is_interrupted() {
    let long = Params::default().with("duration", "1 min");
    let (outcomes, _) = scene::cancelled(&LATENCY, &long, Duration::from_millis(200));
    let fault = outcomes[0].as_ref().expect_err("is cancelled");
    assert_eq!(fault.kind, FaultKind::Interrupted);
}

#[test]
fn a_deadline_ends_it_with_a_fault() {
    let long = Params::default().with("duration", "1 min");
    let outcomes = scene::play(&LATENCY, &long, 2, 0.5, &AtomicBool::new(false));
    // Client and server have the same deadline: one may see the other hang up.
    let late =
        outcomes.iter().filter(|node| matches!(node, Err(f) if f.message.contains("time was up"))).count();
    assert!(late > 0 && outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

#[test]
fn other_callers_do_not_disturb_a_measurement() {
    let flag = AtomicBool::new(false);
    let until = Deadline::new(Seconds(20.0), &flag);
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&listener, Conversations::Once, &until, &mut |_| ()));
        let mut caller = TcpStream::connect(target).expect("connects");
        caller.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("writes");
        drop(TcpStream::connect(target).expect("connects, and leaves"));
        let spec = Spec::from_params(&short("tcp")).expect("reads");
        assert!(measure(target, &spec, &until).is_ok());
        assert_eq!(serving.join().expect("no panic"), Ok(()));
    });
}
