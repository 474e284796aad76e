//! `trace`: where the time of requests to a live service goes, seen from the kernel's
//! tracepoints, without touching the service.
//!
//! What the programs saw of each request ([`crosstalk_observe::service`]) is split into stages
//! ([`stages`]) and summed up ([`account`]) while it comes in; some requests are kept whole
//! ([`sample`]) for a trace viewer ([`perfetto`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod account;
mod perfetto;
mod sample;
mod stages;
mod target;
mod told;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::trace::{Cost, Scope, Trace};
use crosstalk_host::clock::thread_cpu_ns;
use crosstalk_observe::service::{Count, Counting, Exchange, Runs, Stamp, Tracer, need};

use account::{Places, Sums};
use sample::Sample;
use stages::split;

pub use perfetto::perfetto;
pub use target::{Asked, Service, find};

/// How often the kernel's records are taken out: there is room for 70,000.
const DRAIN: Duration = Duration::from_millis(20);
/// How often somebody looks whether the service still runs, and tells how far tracing is.
const GLANCE: Duration = Duration::from_millis(200);
/// The programs' cost is counted from the first request on, for this part of the whole time…
const COUNTED: f64 = 0.1;
/// … but no longer than this…
const COUNTED_MOST: Duration = Duration::from_secs(2);
/// … where there have been so many requests by then…
const COUNTED_LEAST: u64 = 100;
/// … or else for so long: while it counts, every program of the machine's pays for it.
const COUNTED_LONGEST: Duration = Duration::from_secs(10);

/// How far tracing is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Since it began.
    pub elapsed: Duration,
    /// Requests followed so far.
    pub requests: u64,
}

/// What was seen.
pub struct Traced {
    /// Where the time went.
    pub trace: Trace,
    /// Some requests, whole.
    pub sample: Vec<Exchange>,
}

/// Traces a service for so long, or until it ends or the user interrupts.
///
/// # Errors
/// An environment fault that says what this machine lacks.
pub fn trace(
    service: &Service,
    duration: Duration,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Traced, Fault> {
    let mut tracer = Tracer::attach(&service.target)?;
    let mut seen = Seen::default();
    let watch = watch(&mut tracer, service, duration, interrupted, &mut seen, progress)?;
    let sees_sends = tracer.sees_sends();
    let remainder = tracer.end(|exchange| seen.add(exchange))?;
    remainder.whole.iter().for_each(|exchange| seen.add(exchange.clone()));
    let trace = told::told(service, &seen, &remainder, watch, sees_sends);
    Ok(Traced { trace, sample: seen.sample.exchanges() })
}

/// What tracing needs of a machine.
pub fn needs() -> Vec<Need> {
    vec![need()]
}

/// Whether a service can be traced here.
///
/// # Errors
/// An environment fault with what is missing and what helps.
pub fn check() -> Result<(), Fault> {
    match need().state {
        NeedState::Found { .. } => Ok(()),
        NeedState::Missing { consequence, remedy } => {
            Err(Fault { remedy, ..Fault::environment(consequence) })
        }
    }
}

/// Sums of what came in.
#[derive(Default)]
struct Seen {
    with_client: Sums,
    server_only: Sums,
    taken_in: Places,
    read_on: Places,
    sample: Sample,
    /// Requests in several packets.
    several: u64,
    /// Those of which a time is missing, or makes no sense: which.
    astray: BTreeMap<Stamp, u64>,
}

impl Seen {
    fn add(&mut self, exchange: Exchange) {
        let split = match split(&exchange) {
            Ok(split) => split,
            Err(stamp) => return *self.astray.entry(stamp).or_default() += 1,
        };
        match split.scope {
            Scope::Client => self.with_client.add(&split),
            Scope::Server => self.server_only.add(&split),
        }
        self.several += u64::from(exchange.packets > 1);
        self.taken_in.add(exchange.cpu, exchange.queue, split.whole);
        self.read_on.add(exchange.read_cpu, None, split.whole);
        self.sample.add(exchange, split.began, split.whole);
    }

    /// Those that were followed.
    fn followed(&self) -> u64 {
        self.with_client.count() + self.server_only.count()
    }
}

/// How watching went.
struct Watch {
    seconds: f64,
    /// Why it ended early.
    ended: Option<String>,
    cost: Cost,
}

/// Takes in what the kernel records until the time is over.
fn watch(
    tracer: &mut Tracer,
    service: &Service,
    duration: Duration,
    interrupted: &AtomicBool,
    seen: &mut Seen,
    progress: &mut dyn FnMut(Progress),
) -> Result<Watch, Fault> {
    let (began, own) = (Instant::now(), thread_cpu_ns());
    let counted = duration.mul_f64(COUNTED).min(COUNTED_MOST);
    // Who may trace may not always count.
    let mut counting = Window::open(tracer).ok();
    let mut idle = true;
    let mut cost = Cost::default();
    let mut glanced = began;
    let mut ended = None;
    while ended.is_none() && began.elapsed() < duration {
        thread::sleep(DRAIN.min(duration.saturating_sub(began.elapsed())));
        tracer.drain(|exchange| seen.add(exchange));
        if idle && seen.followed() > 0 {
            (idle, counting) = (false, Window::open(tracer).ok());
        }
        let enough = seen.followed() >= COUNTED_LEAST;
        let done =
            |window: &mut Window| window.began.elapsed() >= if enough { counted } else { COUNTED_LONGEST };
        if let Some(window) = counting.take_if(done) {
            cost = window.close(tracer)?;
        }
        if interrupted.load(Ordering::SeqCst) {
            ended = Some("interrupted".to_string());
        } else if glanced.elapsed() >= GLANCE {
            glanced = Instant::now();
            progress(Progress { elapsed: began.elapsed(), requests: seen.followed() });
            ended = (!service.alive()).then(|| gone(service));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    cost = counting.map_or(Ok(cost), |window| window.close(tracer))?;
    cost.reader_cpus = (thread_cpu_ns() - own) as f64 * 1e-9 / seconds;
    Ok(Watch { seconds, ended, cost })
}

/// Why a service can no longer be traced.
fn gone(service: &Service) -> String {
    let names: Vec<String> =
        service.served.iter().map(|(_, served)| format!("{} ({})", served.name, served.pid)).collect();
    format!("{} has ended", names.join(", "))
}

/// A time in which the kernel counts what the programs take.
struct Window {
    _counting: Counting,
    began: Instant,
    runs: Runs,
    requests: u64,
}

impl Window {
    fn open(tracer: &Tracer) -> Result<Window, Fault> {
        let requests = tracer.counts()?.of(Count::Begun);
        Ok(Window { _counting: Counting::begin()?, began: Instant::now(), runs: tracer.runs(), requests })
    }

    fn close(self, tracer: &Tracer) -> Result<Cost, Fault> {
        let runs = tracer.runs();
        let seconds = self.began.elapsed().as_secs_f64();
        let requests = tracer.counts()?.of(Count::Begun) - self.requests;
        let taken = (runs.time.saturating_sub(self.runs.time)).as_secs_f64();
        let each = |whole: f64| (requests > 0).then(|| whole / requests as f64);
        Ok(Cost {
            runs_a_request: each((runs.count - self.runs.count) as f64),
            seconds_a_request: each(taken),
            kernel_cpus: Some(taken / seconds),
            counted_seconds: seconds,
            ..Cost::default()
        })
    }
}
