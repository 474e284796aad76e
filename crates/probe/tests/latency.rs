//! The latency probe between two ends on this host.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::need::Need;
use crosstalk_core::record::Observation;
use crosstalk_core::scene::Workload;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, Value};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_probe::latency::{LATENCY, Mode, Outcome, Spec, measure};
use crosstalk_probe::{Times, Until, listen, serve};

mod ends;
mod impostor;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

use impostor::{impostor_of, impostor_with, read_line};

/// What carries bytes in order, but for what this machine does not have.
fn streams() -> Vec<&'static str> {
    let all = ["tcp", "io-uring", "unix", "pipe", "shared"];
    let there = |transport: &&str| {
        let there = LATENCY.needs(&short(transport)).iter().all(Need::is_found);
        if !there {
            eprintln!("skipped: {transport} is not to be had here");
        }
        there
    };
    all.into_iter().filter(there).collect()
}

fn short(transport: &str) -> Params {
    Params::default().with("transport", transport).with("duration", "50 ms")
}

fn on_this_host(params: &Params) -> Result<Vec<Outcome>, Fault> {
    let spec = Spec::from_params(params)?;
    ends::on_this_host(|target, until| measure(target, &spec, until))
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
            let params = short(transport).with("size", "16 MiB").with("mode", mode);
            let outcome = &on_this_host(&params).expect("measures")[0];
            assert!(outcome.round_trip.count() > 0, "{transport} {mode}");
        }
    }
}

#[test]
fn two_nodes_with_networks_of_their_own_meet_on_their_host() {
    for transport in ["unix", "pipe", "shared"] {
        let readings =
            scene::finished(scene::play(&LATENCY, &short(transport), 2, 20.0, &AtomicBool::new(false)));
        let one_way = readings.iter().find(|r| r.metric == "one_way").expect("one clock");
        assert_eq!(one_way.labels["transport"], transport);
    }
}

#[test]
fn one_way_is_part_of_the_round_trip_and_half_is_half() {
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
fn own_overhead_is_small_beside_what_is_measured() {
    let outcome = &on_this_host(&short("tcp")).expect("measures")[0];
    assert!(outcome.own_overhead > 0.0 && outcome.own_overhead < 5e-6, "{}", outcome.own_overhead);
    assert_eq!(outcome.mode, Mode::Blocking);
}

#[test]
fn a_refused_connection_is_a_fault_with_a_remedy() {
    let spec = Spec::from_params(&Params::default()).expect("reads");
    let fault =
        ends::where_nobody_listens(|target, until| measure(target, &spec, until)).expect_err("refused");
    assert!(fault.remedy.is_some_and(|r| r.contains("--listen")), "no remedy");
}

#[test]
fn a_processor_that_the_serving_end_lacks_is_its_refusal() {
    let fault = on_this_host(&short("tcp").with("pin", "0,4000")).expect_err("no such processor");
    assert!(fault.message.contains("4000"), "{fault}");
}

#[test]
fn cancelled_it_ends_soon() {
    let long = Params::default().with("duration", "1 min");
    let (outcomes, took) = scene::cancelled(&LATENCY, &long, Duration::from_millis(200));
    assert!(took < Duration::from_secs(2), "took {took:?}");
    let fault = outcomes[0].as_ref().expect_err("is cancelled");
    assert_eq!(fault.kind, FaultKind::Interrupted);
}

#[test]
fn a_deadline_ends_it_with_a_fault() {
    let long = Params::default().with("duration", "1 min");
    let begin = Instant::now();
    let outcomes = scene::play(&LATENCY, &long, 2, 0.5, &AtomicBool::new(false));
    assert!(begin.elapsed() < Duration::from_secs(3));
    // Both have the same deadline: whoever comes second may find the other one gone.
    let late =
        outcomes.iter().filter(|end| matches!(end, Err(f) if f.message.contains("time was up"))).count();
    assert!(late > 0 && outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

fn impostor(upon: impl FnOnce(&TcpListener, &mut TcpStream) + Send) -> Result<Vec<Outcome>, Fault> {
    impostor_with(&Params::default().with("duration", "10 s"), upon)
}

#[test]
fn an_end_that_dies_in_mid_run_is_noticed_at_once() {
    let begin = Instant::now();
    let fault = impostor(|listener, control| {
        control.write_all(b"{\"answer\":\"ready\",\"token\":7,\"udp\":[]}\n").expect("is ready");
        let (mut data, _) = listener.accept().expect("comes");
        let mut message = [0; 72];
        data.read_exact(&mut message).expect("token and message");
        data.write_all(&message[8..]).expect("one reply, and no more");
    })
    .expect_err("the other end is gone");
    assert_eq!(fault.kind, FaultKind::Gone, "{fault}");
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn an_end_that_falls_silent_is_a_fault_after_the_patience() {
    let params = Params::default().with("duration", "10 s").with("patience", "300 ms");
    let begin = Instant::now();
    let fault = impostor_with(&params, |listener, control| {
        control.write_all(b"{\"answer\":\"ready\",\"token\":7,\"udp\":[]}\n").expect("is ready");
        let _data = listener.accept().expect("comes");
        // Until the measuring end hangs up.
        let _ = control.read(&mut [0]);
    })
    .expect_err("no reply");
    assert!(fault.message.contains("does not answer"), "{fault}");
    assert!(begin.elapsed() < Duration::from_secs(3));
}

#[test]
fn another_version_is_refused_by_name() {
    let fault = impostor_of(99, "null", &Params::default(), |_, _| ()).expect_err("is refused");
    assert!(fault.message.contains("version 99"), "{fault}");
}

/// Answers datagrams, except every tenth, which it answers when it is too late.
fn lossy(socket: &UdpSocket) {
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("sets");
    let mut message = [0; 64];
    let mut count = 0;
    let mut held: Option<([u8; 64], SocketAddr)> = None;
    while let Ok((n, from)) = socket.recv_from(&mut message) {
        if n == 8 {
            socket.send_to(&message[..8], from).expect("greets back");
            continue;
        }
        count += 1;
        if let Some((late, from)) = held.take() {
            socket.send_to(&late, from).expect("answers late");
        }
        if count % 10 == 0 {
            held = Some((message, from));
        } else {
            socket.send_to(&message, from).expect("answers");
        }
    }
}

#[test]
fn lost_datagrams_are_counted_and_late_ones_not_mistaken() {
    let params = short("udp").with("duration", "500 ms").with("patience", "10 ms");
    let outcomes = impostor_with(&params, |_, control| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let port = socket.local_addr().expect("has one").port();
        writeln!(control, "{{\"answer\":\"ready\",\"token\":7,\"udp\":[{port}]}}").expect("is ready");
        thread::scope(|scope| {
            scope.spawn(|| lossy(&socket));
            read_line(control);
        });
    })
    .expect("measures");
    let outcome = &outcomes[0];
    let share = outcome.lost as f64 / outcome.sent as f64;
    assert!((share - 0.1).abs() < 0.02, "{} of {} lost", outcome.lost, outcome.sent);
    assert!(outcome.late + 1 >= outcome.lost && outcome.late > 0, "{} late", outcome.late);
    assert!(outcome.one_way.as_ref().is_err_and(|why| why.contains("clock")), "{:?}", outcome.one_way);
    // None of the late replies was taken for a fast one, none lost was timed.
    assert!(outcome.round_trip.quantile(1.0).expect("has one") < 10e6);
}

#[test]
fn strangers_on_the_port_do_not_disturb() {
    let flag = AtomicBool::new(false);
    let until = Until::new(Seconds(20.0), &flag);
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let target = listener.local_addr().expect("has one");
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&listener, Times::Once, &until, &mut |_| ()));
        let mut stranger = TcpStream::connect(target).expect("connects");
        stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("writes");
        drop(TcpStream::connect(target).expect("connects, and leaves"));
        let spec = Spec::from_params(&short("tcp")).expect("reads");
        assert!(measure(target, &spec, &until).is_ok());
        assert_eq!(serving.join().expect("no panic"), Ok(()));
    });
}
