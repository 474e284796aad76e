//! The readings of one rate.

use crosstalk_core::record::{Origin, Reading};

use super::rate_result::RateResult;
use crate::readings::Readings;
use crate::settle::percentile;

/// Percentiles that are reported, and the metrics that carry them.
pub const PERCENTILES: [(f64, &str); 4] =
    [(0.5, "latency_p50"), (0.99, "latency_p99"), (0.999, "latency_p999"), (0.9999, "latency_p9999")];

/// The readings of one rate, in messages a second.
pub fn readings(result: &RateResult, rate: f64) -> Readings {
    let measured = |name: &str, value: f64, n: u64| (Reading::value(name, value, Origin::Measured), n);
    let n = result.latency.count();
    let mut readings = vec![(Reading::histogram("latency", result.latency.clone(), Origin::Measured), n)];
    for (q, name) in PERCENTILES {
        let value = percentile(&result.latency, q).map(|ns| measured(name, ns * 1e-9, n));
        readings.extend(value);
    }
    let late = result.sent_late.count();
    readings.extend([
        measured("achieved", result.achieved_rate(), n),
        measured("sent", result.sent as f64, 1),
        measured("received", n as f64, 1),
        measured("lost", result.lost_share(), result.sent),
        measured("not_sent", (result.due - result.sent) as f64, 1),
        (Reading::histogram("sent_late", result.sent_late.clone(), Origin::Measured), late),
    ]);
    readings.into_iter().map(|(reading, n)| (reading.label("offered", rate.round()), n)).collect()
}
