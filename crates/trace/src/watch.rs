//! The loop that takes exchanges out of the kernel while a trace runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::trace::TracingCost;
use crosstalk_host::clock::thread_cpu_ns;
use crosstalk_observe::service::Tracer;

use super::cost::CostWindow;
use super::service::Service;
use super::totals::Totals;

/// How often exchanges are taken out of the kernel, which has room for 70,000.
const DRAIN: Duration = Duration::from_millis(20);
/// How often progress is reported and the service is checked to be alive.
const POLL: Duration = Duration::from_millis(200);
/// The programs' cost is counted from the first request on, for this share of the whole time…
const COUNTED: f64 = 0.1;
/// … but no longer than this…
const COUNTED_MOST: Duration = Duration::from_secs(2);
/// … if there were at least this many requests by then…
const COUNTED_LEAST: u64 = 100;
/// … else for this long. Counting slows every BPF program of the machine.
const COUNTED_LONGEST: Duration = Duration::from_secs(10);

/// How far a trace is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Since it began.
    pub elapsed: Duration,
    /// Requests followed so far.
    pub requests: u64,
}

/// How a trace ended.
pub struct TraceEnding {
    /// How long it ran.
    pub seconds: f64,
    /// Why it ended early.
    pub ended: Option<String>,
    /// What it cost.
    pub cost: TracingCost,
}

/// Adds the exchanges to `totals` until the time is over.
pub fn watch(
    tracer: &mut Tracer,
    service: &Service,
    duration: Duration,
    interrupted: &AtomicBool,
    totals: &mut Totals,
    progress: &mut dyn FnMut(Progress),
) -> Result<TraceEnding, Fault> {
    let (began, cpu) = (Instant::now(), thread_cpu_ns());
    let counted = duration.mul_f64(COUNTED).min(COUNTED_MOST);
    // A user may be allowed to trace and not to count.
    let mut counting = CostWindow::open(tracer).ok();
    let mut idle = true;
    let mut cost = TracingCost::default();
    let mut polled = began;
    let mut ended = None;
    while ended.is_none() && began.elapsed() < duration {
        thread::sleep(DRAIN.min(duration.saturating_sub(began.elapsed())));
        tracer.drain(|exchange| totals.add(exchange));
        if idle && totals.followed_exchanges() > 0 {
            (idle, counting) = (false, CostWindow::open(tracer).ok());
        }
        let enough = totals.followed_exchanges() >= COUNTED_LEAST;
        let is_over =
            |window: &mut CostWindow| window.elapsed() >= if enough { counted } else { COUNTED_LONGEST };
        if let Some(window) = counting.take_if(is_over) {
            cost = window.close(tracer)?;
        }
        if interrupted.load(Ordering::SeqCst) {
            ended = Some("interrupted".to_string());
        } else if polled.elapsed() >= POLL {
            polled = Instant::now();
            progress(Progress { elapsed: began.elapsed(), requests: totals.followed_exchanges() });
            ended = (!service.is_alive()).then(|| has_ended(service));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    cost = counting.map_or(Ok(cost), |window| window.close(tracer))?;
    cost.reader_cpus = (thread_cpu_ns() - cpu) as f64 * 1e-9 / seconds;
    Ok(TraceEnding { seconds, ended, cost })
}

/// Why a service can no longer be traced.
fn has_ended(service: &Service) -> String {
    let names: Vec<String> =
        service.served.iter().map(|(_, served)| format!("{} ({})", served.name, served.pid)).collect();
    format!("{} has ended", names.join(", "))
}
