//! A live service is traced: one of our own, and Redis.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::trace::{Account, Scope, Trace};
use crosstalk_trace::{Asked, Traced, check, find, perfetto, trace};
use rustix::net;

/// Longer than any of these takes.
const LONG: Duration = Duration::from_secs(60);
/// Bytes of a request, and of an answer.
const SIZE: usize = 64;

/// One at a time: each is a load for the others.
static ALONE: Mutex<()> = Mutex::new(());

/// Whether tracing is possible, and the others' turn is over.
fn may_trace() -> Option<MutexGuard<'static, ()>> {
    match check() {
        Ok(()) => Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(fault) => {
            eprintln!("skipped: {fault}");
            None
        }
    }
}

/// Answers every request on every connection, after a while.
fn serve(pause: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    serve_all(vec![listener], pause);
    address
}

/// The same for whoever asks at one of these.
fn serve_all(listeners: Vec<TcpListener>, pause: Duration) {
    for listener in listeners {
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || answer(stream, pause));
            }
        });
    }
}

fn answer(mut stream: TcpStream, pause: Duration) {
    let _ = stream.set_nodelay(true);
    let mut request = [0; SIZE];
    while stream.read_exact(&mut request).is_ok() {
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        if stream.write_all(&request).is_err() {
            return;
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("listens");
    stream.set_nodelay(true).expect("is TCP");
    stream.set_read_timeout(Some(LONG)).expect("is TCP");
    stream
}

/// Asks once; how long that took.
fn ask(stream: &mut TcpStream) -> Duration {
    let mut answer = [0; SIZE];
    let began = Instant::now();
    stream.write_all(&[7; SIZE]).expect("is served");
    stream.read_exact(&mut answer).expect("is answered");
    began.elapsed()
}

/// Traces a service from before `load` to after it.
fn traced<T>(asked: Asked, load: impl FnOnce() -> T) -> (Traced, T) {
    let service = find(&asked).expect("is served");
    let (over, (tell, told)) = (AtomicBool::new(false), mpsc::channel());
    thread::scope(|scope| {
        let (service, over) = (&service, &over);
        // The sender goes with the trace: one that cannot begin is not waited for.
        let tracing = scope.spawn(move || {
            trace(service, LONG, over, &mut |_| {
                let _ = tell.send(());
            })
        });
        let attached = told.recv_timeout(LONG);
        let done = attached.map(|()| load());
        over.store(true, Ordering::SeqCst);
        (tracing.join().expect("does not panic").expect("traces"), done.expect("is attached"))
    })
}

fn by_port(address: SocketAddr) -> Asked {
    Asked { ports: vec![address.port()], ..Asked::default() }
}

fn account(trace: &Trace, scope: Scope) -> &Account {
    trace.accounts.iter().find(|account| account.scope == scope).unwrap_or_else(|| panic!("{trace:#?}"))
}

fn around_p50(account: &Account, name: &str) -> f64 {
    account.stages.iter().filter(|stage| stage.name == name).map(|stage| stage.around_p50).sum()
}

fn tally(trace: &Trace, words: &str) -> u64 {
    let all = trace.not_followed.iter().chain(&trace.counted);
    all.filter(|tally| tally.what.contains(words)).map(|tally| tally.count).sum()
}

#[test]
fn stages_account_for_what_the_client_measures() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Duration::ZERO);
    let (Traced { trace, sample }, (count, mean)) = traced(by_port(address), || {
        let mut stream = connect(address);
        let (mut times, began) = (Vec::new(), Instant::now());
        while began.elapsed() < Duration::from_secs(1) {
            times.push(ask(&mut stream).as_secs_f64());
        }
        (times.len() as u64, times.iter().sum::<f64>() / times.len() as f64)
    });
    assert_eq!(trace.requests, count, "every request is seen, and no other: {trace:#?}");
    assert!(trace.followed as f64 >= 0.99 * count as f64, "{trace:#?}");
    let account = account(&trace, Scope::Client);
    let stages: f64 = account.stages.iter().map(|stage| stage.mean).sum();
    assert!((stages / account.mean - 1.0).abs() < 1e-6);
    // What the client's two system calls take before and after the kernel's first and last
    // tracepoint, and the reading of its clock, is not in it.
    let accounted = account.mean / mean;
    println!("{{\"accounted\": {accounted}, \"requests\": {count}, \"mean\": {mean}}}");
    assert!((0.85..1.02).contains(&accounted), "{accounted}: {account:#?}");
    assert!(around_p50(account, "wake-up") > 0.0 && around_p50(account, "driver and wire") > 0.0);
    assert!(trace.read_on.iter().map(|place| place.requests).sum::<u64>() == trace.followed);
    let events = perfetto(&sample, "a service");
    assert!(events["traceEvents"].as_array().is_some_and(|events| events.len() > 100));
}

#[test]
fn a_trace_that_ends_under_load_loses_what_is_under_way_alone() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Duration::ZERO);
    let (stop, service) = (AtomicBool::new(false), find(&by_port(address)).expect("is served"));
    let trace = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = connect(address);
            while !stop.load(Ordering::SeqCst) {
                ask(&mut stream);
            }
        });
        let traced = trace(&service, Duration::from_millis(500), &AtomicBool::new(false), &mut |_| ());
        stop.store(true, Ordering::SeqCst);
        traced.expect("traces").trace
    });
    let lost: u64 = trace.not_followed.iter().map(|tally| tally.count).sum();
    assert!(trace.requests > 100 && lost <= 1, "{trace:#?}");
}

#[test]
fn a_slow_service_is_seen_in_the_service_alone() {
    let Some(_alone) = may_trace() else { return };
    let pause = Duration::from_millis(1);
    let address = serve(pause);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        let mut stream = connect(address);
        for _ in 0..200 {
            ask(&mut stream);
        }
    });
    let account = account(&trace, Scope::Client);
    let slept = around_p50(account, "service, on none");
    let all: f64 = account.stages.iter().map(|stage| stage.around_p50).sum();
    assert!(slept >= pause.as_secs_f64(), "{account:#?}");
    assert!(all - slept < pause.as_secs_f64(), "{account:#?}");
    assert_eq!((trace.requests, trace.followed), (200, 200), "{trace:#?}");
}

#[test]
fn a_request_on_a_connection_of_its_own_is_followed_too() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Duration::ZERO);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        for _ in 0..500 {
            ask(&mut connect(address));
        }
    });
    assert_eq!(trace.requests, 500, "{trace:#?}");
    assert!(account(&trace, Scope::Client).requests >= 495, "{trace:#?}");
    // Their connections are forgotten when they end: what is under way is not among these.
    assert_eq!(tally(&trace, "under way"), 0, "{trace:#?}");
}

/// Asks a service so often on each of so many connections, all at once.
fn asked_at(address: SocketAddr, connections: usize, times: usize) {
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| connect(address)).collect();
    for _ in 0..times {
        for stream in &mut streams {
            ask(stream);
        }
    }
}

#[test]
fn a_service_of_both_versions_is_followed_where_it_is_asked_by_the_older() {
    let Some(_alone) = may_trace() else { return };
    let Ok(listener) = TcpListener::bind("[::]:0") else {
        eprintln!("skipped: there is no IPv6 here");
        return;
    };
    let port = listener.local_addr().expect("has one").port();
    serve_all(vec![listener], Duration::ZERO);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let (Traced { trace, .. }, ()) = traced(by_port(address), || asked_at(address, 2, 100));
    assert_eq!(trace.requests, 200, "{trace:#?}");
    assert!(trace.followed >= 195, "{trace:#?}");
}

#[test]
fn a_service_that_listens_more_than_once_is_followed_wherever_it_is_asked() {
    let Some(_alone) = may_trace() else { return };
    let listen = |port: u16| {
        let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).expect("is had");
        net::sockopt::set_socket_reuseport(&socket, true).expect("is offered");
        net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], port))).expect("is free");
        net::listen(&socket, 64).expect("is bound");
        TcpListener::from(socket)
    };
    let first = listen(0);
    let address = first.local_addr().expect("has one");
    serve_all(vec![first, listen(address.port())], Duration::ZERO);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || asked_at(address, 16, 20));
    assert_eq!(trace.requests, 320, "{trace:#?}");
    assert!(trace.followed >= 310, "{trace:#?}");
}

#[test]
fn what_cannot_be_followed_is_counted() {
    const PAUSE: Duration = Duration::from_millis(100);
    let Some(_alone) = may_trace() else { return };
    let address = serve(Duration::ZERO);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        // A request in two packets, to a server that has nothing else to do.
        let mut stream = connect(address);
        ask(&mut stream);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        thread::sleep(PAUSE);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        stream.read_exact(&mut [0; SIZE]).expect("is answered");
        // One that is never answered.
        let mut stream = connect(address);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        drop(stream);
        thread::sleep(Duration::from_millis(50));
    });
    assert_eq!(tally(&trace, "in several packets"), 1, "{trace:#?}");
    assert_eq!(tally(&trace, "before there was an answer"), 1, "{trace:#?}");
    let account = account(&trace, Scope::Client);
    let further = account.stages.iter().find(|stage| stage.name == "further reads").expect("there are some");
    assert!(further.mean * 2.0 >= 0.5 * PAUSE.as_secs_f64(), "{account:#?}");
    let lost: u64 = trace.not_followed.iter().map(|tally| tally.count).sum();
    assert_eq!((trace.requests, trace.followed, lost), (3, 2, 1), "{trace:#?}");
}

#[test]
fn a_program_that_ends_ends_the_trace() {
    let Some(_alone) = may_trace() else { return };
    let Some(mut redis) = Redis::start() else { return };
    let service = find(&Asked { pid: Some(redis.child.id()), ..Asked::default() }).expect("is served");
    let over = AtomicBool::new(false);
    let traced = trace(&service, LONG, &over, &mut |_| redis.stop()).expect("traces");
    assert!(traced.trace.ended.is_some_and(|why| why.contains("has ended")));
}

/// A Redis of our own.
struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Redis {
    /// `None` where it is not installed.
    fn start() -> Option<Redis> {
        let free = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = free.local_addr().expect("has one");
        drop(free);
        let port = address.port().to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: redis-server is not installed");
            return None;
        };
        let redis = Redis { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < LONG, "Redis does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        Some(redis)
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Requests by its own load tool over so many connections; their mean time as that tells it.
    fn benchmark(&self, connections: u32, requests: u32) -> f64 {
        let output = Command::new("redis-benchmark")
            .args(["-p", &self.address.port().to_string(), "-t", "get", "--csv"])
            .args(["-c", &connections.to_string(), "-n", &requests.to_string()])
            .output()
            .expect("is installed with the server");
        let text = String::from_utf8_lossy(&output.stdout);
        let row = text.lines().find(|line| line.starts_with("\"GET\"")).expect("a row of GET");
        let fields: Vec<&str> = row.split(',').map(|field| field.trim_matches('"')).collect();
        fields[2].parse::<f64>().expect("milliseconds") * 1e-3
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn redis_is_accounted_for_as_its_own_load_tool_says() {
    let Some(_alone) = may_trace() else { return };
    let Some(redis) = Redis::start() else { return };
    for (connections, requests) in [(1, 20_000), (20, 60_000)] {
        let asked = Asked { pid: Some(redis.child.id()), ..Asked::default() };
        let (Traced { trace, .. }, mean) = traced(asked, || redis.benchmark(connections, requests));
        let account = account(&trace, Scope::Client);
        let accounted = account.mean / mean;
        println!(
            "{{\"connections\": {connections}, \"accounted\": {accounted}, \"mean\": {mean}, \"followed\": {}, \"requests\": {}}}",
            trace.followed, trace.requests
        );
        assert!(trace.followed as f64 >= 0.99 * f64::from(requests), "{trace:#?}");
        assert!((0.85..1.15).contains(&accounted), "{accounted}: {trace:#?}");
    }
}
