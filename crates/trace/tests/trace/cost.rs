//! The latency that tracing adds at half load.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crosstalk_host::cpu::{PinnedThread, allowed};

use super::service::{Work, connect, request, serve};
use super::{by_port, may_trace, traced};

/// Pairs of a load with a trace and one without.
const PAIRS: usize = 5;
/// Requests of a load.
const REQUESTS: u32 = 1000;

/// The median time in seconds of requests that are sent from `cpu` every `interval`.
fn latency(address: SocketAddr, cpu: usize, interval: Duration) -> f64 {
    let _pinned = PinnedThread::begin(cpu).expect("is allowed");
    let mut stream = connect(address);
    let began = Instant::now();
    let one = |number| {
        while began.elapsed() < interval * number {
            spin_loop();
        }
        request(&mut stream).as_secs_f64()
    };
    let mut times: Vec<f64> = (0..REQUESTS).map(one).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The load that other work has disturbed least.
fn least(medians: Vec<f64>) -> f64 {
    medians.into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn at_half_load_tracing_adds_less_than_half_of_the_latency() {
    if std::env::var_os("CROSSTALK_LONG").is_none() {
        eprintln!("skipped: a ratio of two times of 40 µs needs a quiet machine (CROSSTALK_LONG=1)");
        return;
    }
    let Some(_alone) = may_trace() else { return };
    // On one processor a wake-up costs less than between two: both must have the same place always.
    let (Some(client), Some(server)) = (allowed().first().copied(), allowed().get(1).copied()) else {
        eprintln!("skipped: client and service need a processor each");
        return;
    };
    // The service's threads keep the processor of the thread that starts them.
    let pinned = PinnedThread::begin(server).expect("is allowed");
    let address = serve(Work::None);
    drop(pinned);
    // One request after the other is the full load of a connection.
    let half = Duration::from_secs_f64(2.0 * latency(address, client, Duration::ZERO));
    let load = || latency(address, client, half);
    let (with, without): (Vec<f64>, Vec<f64>) =
        (0..PAIRS).map(|_| (traced(by_port(address), load).1, load())).unzip();
    let (with, without) = (least(with), least(without));
    println!("{{\"added\": {}, \"untraced\": {without}}}", with - without);
    assert!(with < 1.5 * without, "{with} s traced, {without} s without");
}
