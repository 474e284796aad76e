//! A trace from its beginning to its record.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::trace::Trace;
use crosstalk_observe::service::{Exchange, Tracer, need};

use super::report::report;
use super::service::Service;
use super::totals::Totals;
use super::watch::{Progress, watch};

/// The result of a trace.
pub struct Traced {
    /// Where the time of the requests went.
    pub trace: Trace,
    /// Some exchanges, whole.
    pub sample: Vec<Exchange>,
}

/// Traces a service for `duration`, or until the service ends or the user interrupts.
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
    let mut totals = Totals::default();
    let watched = watch(&mut tracer, service, duration, interrupted, &mut totals, progress)?;
    let sees_sends = tracer.sees_sends();
    let remainder = tracer.end(|exchange| totals.add(exchange))?;
    remainder.whole.iter().for_each(|exchange| totals.add(exchange.clone()));
    let trace = report(service, &totals, &remainder, watched, sees_sends);
    Ok(Traced { trace, sample: totals.sample.exchanges() })
}

/// What tracing needs of a machine.
pub fn needs() -> Vec<Need> {
    vec![need()]
}

/// Whether a service can be traced on this machine.
///
/// # Errors
/// An environment fault with what is missing and its remedy.
pub fn check_needs() -> Result<(), Fault> {
    match need().state {
        NeedState::Found { .. } => Ok(()),
        NeedState::Missing { consequence, remedy } => {
            Err(Fault { remedy, ..Fault::environment(consequence) })
        }
    }
}
