//! Every request is followed, or counted by the reason why it is not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::trace::Scope;
use crosstalk_trace::{Traced, find, trace};

use super::service::{SIZE, Work, connect, request, serve, serve_all};
use super::{LONG, account, by_port, may_trace, tally, traced};

#[test]
fn a_trace_that_ends_under_load_loses_only_the_request_under_way() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Work::None);
    let (stop, service) = (AtomicBool::new(false), find(&by_port(address)).expect("the service listens"));
    let trace = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = connect(address);
            while !stop.load(Ordering::SeqCst) {
                request(&mut stream);
            }
        });
        let traced = trace(&service, Duration::from_millis(500), &AtomicBool::new(false), &mut |_| ());
        stop.store(true, Ordering::SeqCst);
        traced.expect("traces").trace
    });
    let lost: u64 = trace.not_followed.iter().map(|tally| tally.count).sum();
    assert!(trace.requests > 0 && lost <= 1, "{trace:#?}");
}

#[test]
fn a_request_on_a_connection_of_its_own_is_followed() {
    let Some(_alone) = may_trace() else { return };
    let address = serve(Work::None);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        (0..500).for_each(|_| _ = request(&mut connect(address)));
    });
    assert_eq!(trace.requests, 500, "{trace:#?}");
    assert!(account(&trace, Scope::Client).requests >= 495, "{trace:#?}");
    // A connection that has ended has no request under way.
    assert_eq!(tally(&trace, "under way"), 0, "{trace:#?}");
}

#[test]
fn a_request_that_cannot_be_followed_is_counted() {
    const PAUSE: Duration = Duration::from_millis(100);
    let Some(_alone) = may_trace() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    let closed = serve_all(vec![listener], Work::None);
    let (Traced { trace, .. }, ()) = traced(by_port(address), || {
        // A request in two packets, with the server reading in between.
        let mut stream = connect(address);
        request(&mut stream);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        thread::sleep(PAUSE);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        stream.read_exact(&mut [0; SIZE]).expect("is answered");
        // One without an answer.
        let mut stream = connect(address);
        stream.write_all(&[1; SIZE / 2]).expect("is served");
        drop(stream);
        let began = Instant::now();
        while closed.load(Ordering::SeqCst) == 0 {
            assert!(began.elapsed() < LONG, "the service does not close the connection");
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(tally(&trace, "in several packets"), 1, "{trace:#?}");
    assert_eq!(tally(&trace, "before there was an answer"), 1, "{trace:#?}");
    let account = account(&trace, Scope::Client);
    let further = account.stages.iter().find(|stage| stage.name == "further reads").expect("there are some");
    assert!(further.mean * 2.0 >= 0.5 * PAUSE.as_secs_f64(), "{account:#?}");
    let lost: u64 = trace.not_followed.iter().map(|tally| tally.count).sum();
    assert_eq!((trace.requests, trace.followed, lost), (3, 2, 1), "{trace:#?}");
}
