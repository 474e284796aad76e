//! The probe as a workload.

use crosstalk_core::record::{Better, Metric};

use super::client::measure_live;
use super::congestion::congestion_need;
use super::outcome::{Outcome, interval_reading};
use super::spec::{PARAMETERS, Spec};
use crate::two_nodes;
use crosstalk_work::Declared;

/// The workload `bandwidth`.
pub const BANDWIDTH: Declared<Spec> = Declared {
    name: "bandwidth",
    title: "Bandwidth of streams, over any transport, against the size of writes",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| two_nodes::deployment(metrics(), spec.seconds()),
    needs: |spec| {
        let congestion = spec.congestion.as_deref().map(congestion_need);
        [spec.transport.need()].into_iter().chain(congestion).collect()
    },
    prepare: |spec, part| {
        two_nodes::prepare_live(part, move |target, until, out| {
            let mut report = |spec: &Spec, size, interval| {
                let (reading, n) = interval_reading(spec, size, interval);
                out.take(reading, n)
            };
            let outcomes = measure_live(target, &spec, until, &mut report)?;
            Ok(outcomes.iter().flat_map(Outcome::readings).collect())
        })
    },
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("bandwidth", "bit/s", Better::Higher).above_zero(),
        Metric::new("bandwidth_p50", "bit/s", Better::Higher),
        Metric::new("bandwidth_series", "bit/s", Better::Higher),
        Metric::new("offered", "bit/s", Better::Neither),
        Metric::new("sent", "datagrams", Better::Neither),
        Metric::new("received", "datagrams", Better::Neither),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("not_sent", "writes", Better::Lower),
        Metric::new("retransmitted", "segments", Better::Lower),
        Metric::new("bandwidth_lately", "bit/s", Better::Higher),
        Metric::new("warm_up", "s", Better::Neither),
        Metric::new("own_overhead", "s", Better::Neither),
    ]
}
