//! Redis is traced under its own benchmark.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::trace::Scope;
use crosstalk_trace::{ServiceQuery, Traced, find, trace};

use super::{LONG, UNEXPLAINED, account, may_trace, traced, unexplained};

#[test]
fn a_trace_ends_with_its_service() {
    let Some(_alone) = may_trace() else { return };
    let Some(mut redis) = Redis::start() else { return };
    let service = find(&ServiceQuery { pid: Some(redis.child.id()), ..ServiceQuery::default() })
        .expect("the service listens");
    let over = AtomicBool::new(false);
    let traced = trace(&service, LONG, &over, &mut |_| redis.stop()).expect("traces");
    assert!(traced.trace.ended.is_some_and(|why| why.contains("has ended")));
}

/// A Redis server of the test's own.
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

    /// Requests by its own load tool over so many connections; their mean time as it reports it.
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
fn stages_of_redis_add_up_to_the_latency_of_its_benchmark() {
    let Some(_alone) = may_trace() else { return };
    let Some(redis) = Redis::start() else { return };
    for (connections, requests) in [(1, 20_000), (20, 60_000)] {
        let query = ServiceQuery { pid: Some(redis.child.id()), ..ServiceQuery::default() };
        let (Traced { trace, .. }, mean) = traced(query, || redis.benchmark(connections, requests));
        let account = account(&trace, Scope::Client);
        let accounted = account.mean / mean;
        println!(
            "{{\"connections\": {connections}, \"accounted\": {accounted}, \"mean\": {mean}, \"followed\": {}, \"requests\": {}}}",
            trace.followed, trace.requests
        );
        assert!(trace.followed as f64 >= 0.99 * f64::from(requests), "{trace:#?}");
        assert!((0.85..1.15).contains(&accounted), "{accounted}: {trace:#?}");
        let unexplained = unexplained(account);
        println!("{{\"connections\": {connections}, \"unexplained\": {unexplained}}}");
        assert!(unexplained <= UNEXPLAINED, "{account:#?}");
    }
}
