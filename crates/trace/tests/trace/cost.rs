//! The latency that tracing adds at half load.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::service::{Work, connect, request, serve};
use super::{by_port, may_trace, traced};

/// Pairs of a load with a trace and one without.
const PAIRS: usize = 5;
/// Requests of a load.
const REQUESTS: u32 = 1000;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The median time in seconds of requests that are sent every `interval`.
fn latency(address: SocketAddr, interval: Duration) -> f64 {
    let mut stream = connect(address);
    let began = Instant::now();
    let one = |number| {
        while began.elapsed() < interval * number {
            spin_loop();
        }
        request(&mut stream).as_secs_f64()
    };
    median((0..REQUESTS).map(one).collect())
}

#[test]
fn at_half_load_tracing_adds_less_than_half_of_the_latency() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Work::None);
    // One request after the other is the full load of a connection.
    let half = Duration::from_secs_f64(2.0 * latency(address, Duration::ZERO));
    let (with, without): (Vec<f64>, Vec<f64>) = (0..PAIRS)
        .map(|_| (traced(by_port(address), || latency(address, half)).1, latency(address, half)))
        .unzip();
    let (with, without) = (median(with), median(without));
    println!("{{\"added\": {}, \"untraced\": {without}}}", with - without);
    assert!(with < 1.5 * without, "{with} s traced, {without} s without");
}
