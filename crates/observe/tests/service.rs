//! The tracer at a service of this test.

use aya::programs::loaded_programs;
use crosstalk_core::need::NeedState;
use crosstalk_host::listening::network_namespace;
use crosstalk_observe::service::{Count, Exchange, Stamp, TraceTarget, Tracer, need};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// One test at a time: each sees the programs of the others.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other test traces; `None`: tracing is not possible here.
fn may_trace() -> Option<MutexGuard<'static, ()>> {
    if let NeedState::Missing { consequence, .. } = need().state {
        eprintln!("skipped: {consequence}");
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Starts a server that answers a byte with a byte. Returns its address.
fn serve(at: &str) -> SocketAddr {
    let listener = TcpListener::bind(at).expect("listens");
    let address = listener.local_addr().expect("has one");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
    address
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(&[1]).expect("is served");
    stream.read_exact(&mut [0]).expect("is answered");
}

fn target(address: SocketAddr, processes: Vec<u32>) -> TraceTarget {
    let namespace = network_namespace(process::id()).expect("this process has one") as u32;
    TraceTarget { ports: vec![address.port()], namespace, processes }
}

/// The exchanges of a load, how many of them were left at the end, how many were under way, and
/// how many other processes read.
fn traced(target: &TraceTarget, load: impl FnOnce()) -> (Vec<Exchange>, usize, u64, u64) {
    let mut tracer = Tracer::attach(target).expect("attaches");
    load();
    let mut seen = Vec::new();
    tracer.drain(|exchange| seen.push(exchange));
    let remainder = tracer.end(|exchange| seen.push(exchange)).expect("ends");
    let left = remainder.whole.len();
    seen.extend(remainder.whole);
    (seen, left, remainder.under_way, remainder.counts.of(Count::Foreign))
}

#[test]
fn both_families_are_followed_from_end_to_end() {
    let Some(_alone) = may_trace() else { return };
    for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let Ok(_) = TcpListener::bind(at) else {
            eprintln!("skipped: this machine has no {at}");
            continue;
        };
        let address = serve(at);
        let client =
            if at == "[::]:0" { format!("127.0.0.1:{}", address.port()) } else { address.to_string() };
        let (seen, left, ..) = traced(&target(address, vec![]), || {
            let mut stream = TcpStream::connect(&client).expect("listens");
            (0..20).for_each(|_| ask(&mut stream));
        });
        assert_eq!((seen.len(), left <= 1), (20, true), "{at}");
        assert!(
            seen.iter().all(|e| e.has_client() && e.time_of(Stamp::AnswerLastRead).is_some()),
            "{at}: {seen:#?}"
        );
        let host: SocketAddr = client.parse().expect("an address");
        assert!(seen.iter().all(|e| e.client.ip() == host.ip() && e.port == address.port()), "{at}");
    }
}

#[test]
fn a_connection_that_has_ended_takes_no_room() {
    let Some(_alone) = may_trace() else { return };
    let address = serve("127.0.0.1:0");
    let (seen, left, under_way, _) = traced(&target(address, vec![]), || {
        for _ in 0..50 {
            ask(&mut TcpStream::connect(address).expect("listens"));
        }
        thread::sleep(Duration::from_millis(100));
    });
    assert_eq!((seen.len(), left, under_way), (50, 0, 0));
}

#[test]
fn other_processes_other_ports_and_other_namespaces_are_left_alone() {
    let Some(_alone) = may_trace() else { return };
    let (address, other) = (serve("127.0.0.1:0"), serve("127.0.0.1:0"));
    let load = || {
        let mut streams = [address, other].map(|at| TcpStream::connect(at).expect("listens"));
        (0..10).for_each(|_| streams.iter_mut().for_each(ask));
    };
    let (seen, ..) = traced(&target(address, vec![process::id()]), load);
    assert_eq!(seen.len(), 10);
    // No process is a child of this one.
    let (seen, _, _, foreign) = traced(&target(address, vec![u32::MAX]), load);
    assert_eq!((seen.len(), foreign), (0, 10));
    let elsewhere = TraceTarget { namespace: 1, ..target(address, vec![]) };
    let (seen, _, under_way, foreign) = traced(&elsewhere, load);
    assert_eq!((seen.len(), under_way, foreign), (0, 0, 0));
}

#[test]
fn nothing_stays_attached() {
    let Some(_alone) = may_trace() else { return };
    let attached = || {
        let programs = loaded_programs().flatten();
        let named = |name: &str| name.starts_with("sock_recv");
        programs.filter(|program| program.name_as_str().is_some_and(named)).count()
    };
    // The kernel removes a detached program a little later.
    let until_none = || {
        let began = Instant::now();
        while attached() > 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "still attached");
            thread::sleep(Duration::from_millis(20));
        }
    };
    until_none();
    let tracer = Tracer::attach(&target(serve("127.0.0.1:0"), vec![])).expect("attaches");
    assert_eq!(attached(), 1);
    drop(tracer);
    until_none();
}
