//! A live service is traced: one of our own, and Redis.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crosstalk_core::trace::{Scope, Side, TimeAccount, Trace};
use crosstalk_trace::{ServiceQuery, Traced, check_needs, find, trace};
use std::net::SocketAddr;

mod cost;
mod counts;
mod faults;
mod listeners;
mod redis;
mod service;
mod stages;

/// The largest share of the time that may be unexplained.
const UNEXPLAINED: f64 = 0.05;
/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(60);

/// One test at a time: each is a load for the others.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits for the other tests; `None` where this machine cannot trace.
fn may_trace() -> Option<MutexGuard<'static, ()>> {
    match check_needs() {
        Ok(()) => Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(fault) => {
            eprintln!("skipped: {fault}");
            None
        }
    }
}

/// Traces a service from before `load` to after it.
fn traced<T>(query: ServiceQuery, load: impl FnOnce() -> T) -> (Traced, T) {
    let service = find(&query).expect("the service listens");
    let (over, (attached, attachment)) = (AtomicBool::new(false), mpsc::channel());
    thread::scope(|scope| {
        let (service, over) = (&service, &over);
        // A trace that cannot begin drops the sender.
        let tracing = scope.spawn(move || {
            trace(service, LONG, over, &mut |_| {
                let _ = attached.send(());
            })
        });
        let done = attachment.recv_timeout(LONG).map(|()| load());
        over.store(true, Ordering::SeqCst);
        (tracing.join().expect("does not panic").expect("traces"), done.expect("is attached"))
    })
}

fn by_port(address: SocketAddr) -> ServiceQuery {
    ServiceQuery { ports: vec![address.port()], ..ServiceQuery::default() }
}

fn account(trace: &Trace, scope: Scope) -> &TimeAccount {
    trace.accounts.iter().find(|account| account.scope == scope).unwrap_or_else(|| panic!("{trace:#?}"))
}

/// Seconds of the stages with this name, on every side, around the median.
fn around_p50(account: &TimeAccount, name: &str) -> f64 {
    account.stages.iter().filter(|stage| stage.name == name).map(|stage| stage.around_p50).sum()
}

/// The share of the time that no stage explains.
fn unexplained(account: &TimeAccount) -> f64 {
    let stages = account.stages.iter().filter(|stage| stage.side == Side::Unexplained);
    stages.map(|stage| stage.share).sum()
}

/// The requests that are counted under a reason with these words.
fn tally(trace: &Trace, words: &str) -> u64 {
    let all = trace.not_followed.iter().chain(&trace.counted);
    all.filter(|tally| tally.what.contains(words)).map(|tally| tally.count).sum()
}
