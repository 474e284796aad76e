//! The probe as a workload.

use crosstalk_core::record::{Better, Metric};

use super::measure::measure;
use super::readings::PERCENTILES;
use super::spec::{PARAMETERS, Spec};
use crate::{processors, two_nodes};
use crosstalk_work::Declared;

/// The workload `load`: latency while messages arrive at a given rate.
pub const LOAD: Declared<Spec> = Declared {
    name: "load",
    title: "Latency of messages under load, over any transport, against their rate",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| two_nodes::deployment(metrics(), spec.seconds()),
    needs: |spec| std::iter::once(spec.transport.need()).chain(processors::need(spec.mode)).collect(),
    prepare: |spec, part| {
        let spec = Spec { seed: part.seed, ..spec };
        two_nodes::prepare(part, move |target, until| measure(target, &spec, until))
    },
};

fn metrics() -> Vec<Metric> {
    let lower = |name: &str, unit: &str| Metric::new(name, unit, Better::Lower);
    let mut metrics = vec![lower("latency", "s")];
    metrics.extend(PERCENTILES.map(|(_, name)| lower(name, "s")));
    metrics.extend([
        Metric::new("achieved", "1/s", Better::Higher),
        Metric::new("sent", "messages", Better::Neither),
        Metric::new("received", "messages", Better::Neither),
        lower("lost", "ratio"),
        lower("not_sent", "messages"),
        Metric::new("sent_late", "s", Better::Neither),
        Metric::new("saturation", "1/s", Better::Higher),
        Metric::new("own_overhead", "s", Better::Neither),
    ]);
    metrics
}
