//! Stages account for the time that a client measures.

use std::time::{Duration, Instant};

use crosstalk_core::trace::Scope;
use crosstalk_trace::{Traced, perfetto};

use super::service::{Work, connect, request, serve};
use super::{UNEXPLAINED, account, around_p50, by_port, may_trace, traced, unexplained};

#[test]
fn stages_account_for_the_time_that_the_client_measures() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Work::None);
    let (Traced { trace, sample }, (count, mean)) = traced(by_port(address), || {
        let mut stream = connect(address);
        let (mut times, began) = (Vec::new(), Instant::now());
        while began.elapsed() < Duration::from_secs(1) {
            times.push(request(&mut stream).as_secs_f64());
        }
        (times.len() as u64, times.iter().sum::<f64>() / times.len() as f64)
    });
    assert_eq!(trace.requests, count, "every request is counted, and no other: {trace:#?}");
    assert!(trace.followed as f64 >= 0.99 * count as f64, "{trace:#?}");
    let account = account(&trace, Scope::Client);
    // The client's own time also has what its two system calls take before the kernel's first
    // tracepoint and after its last one.
    let accounted = account.mean / mean;
    println!("{{\"accounted\": {accounted}, \"requests\": {count}, \"mean\": {mean}}}");
    assert!((0.85..1.02).contains(&accounted), "{accounted}: {account:#?}");
    assert!(unexplained(account) <= UNEXPLAINED, "{account:#?}");
    assert!(around_p50(account, "wake-up") > 0.0 && around_p50(account, "driver and wire") > 0.0);
    assert_eq!(trace.read_on.iter().map(|place| place.requests).sum::<u64>(), trace.followed);
    let events = perfetto(&sample, "a service");
    assert!(events["traceEvents"].as_array().is_some_and(|events| events.len() > 100));
}
