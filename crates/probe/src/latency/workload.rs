//! The probe as a workload.

use crosstalk_core::record::{Better, Metric};

use super::outcome::Outcome;
use super::ping::measure;
use super::spec::{PARAMETERS, Spec};
use crate::{processors, two_nodes};
use crosstalk_work::Declared;

/// The workload `latency`.
pub const LATENCY: Declared<Spec> = Declared {
    name: "latency",
    title: "Round trip of one message at a time, over any transport, against its size",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| two_nodes::deployment(metrics(), spec.seconds()),
    needs: |spec| {
        let tracepoints = spec.stages.then(crosstalk_observe::stages::need);
        std::iter::once(spec.transport.need()).chain(processors::need(spec.mode)).chain(tracepoints).collect()
    },
    prepare: |spec, part| {
        two_nodes::prepare(part, move |target, until| {
            Ok(measure(target, &spec, until)?.iter().flat_map(Outcome::readings).collect())
        })
    },
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("round_trip", "s", Better::Lower).above_zero(),
        Metric::new("half_round_trip", "s", Better::Lower).above_zero(),
        Metric::new("one_way", "s", Better::Lower),
        Metric::new("round_trip_p50", "s", Better::Lower).above_zero(),
        Metric::new("round_trip_p99", "s", Better::Lower).above_zero(),
        Metric::new("round_trip_p999", "s", Better::Lower).above_zero(),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("warm_up", "messages", Better::Neither),
        Metric::new("stage_time", "s", Better::Neither),
        Metric::new("matched", "%", Better::Neither),
        Metric::new("unexplained", "%", Better::Lower),
        Metric::new("own_overhead", "s", Better::Neither),
    ]
}
