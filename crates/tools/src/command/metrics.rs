//! The metrics that every command has.

use crosstalk_core::record::{Better, Metric};

const RUN_TIME: &str = "run_time";

/// Name, unit, which way is better.
const METRICS: [(&str, &str, Better); 8] = [
    (RUN_TIME, "s", Better::Lower),
    ("time_compute", "s", Better::Lower),
    ("time_wait", "s", Better::Lower),
    ("time_queue", "s", Better::Neither),
    ("parallel_cpu_time", "s", Better::Neither),
    ("sent_messages", "", Better::Neither),
    ("sent_bytes", "B", Better::Neither),
    ("own_overhead", "s", Better::Neither),
];

/// All metrics that the workload `command` reports.
pub fn metrics() -> impl Iterator<Item = Metric> {
    METRICS.into_iter().map(|(name, unit, better)| match name {
        RUN_TIME => Metric::new(name, unit, better).above_zero(),
        _ => Metric::new(name, unit, better),
    })
}

/// Whether one of them has this name.
pub fn is_command_metric(name: &str) -> bool {
    METRICS.iter().any(|(known, ..)| *known == name)
}
