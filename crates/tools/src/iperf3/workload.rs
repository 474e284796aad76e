//! The workload.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Effort, Timing};

use super::node;
use super::spec::{PARAMETERS, Spec};
use crate::external::program_needs;
use crosstalk_work::Declared;

/// The workload `iperf3`.
pub const IPERF3: Declared<Spec> = Declared {
    name: "iperf3",
    title: "iperf3 between two nodes: bandwidth, retransmissions and congestion control",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| Deployment {
        nodes: 2,
        timing: Timing::Real,
        metrics: metrics(),
        effort: Effort::waiting(spec.seconds()),
    },
    needs: |_| program_needs(&["iperf3"]),
    prepare: node::prepare,
};

fn metrics() -> Vec<Metric> {
    vec![
        Metric::new("bandwidth", "bit/s", Better::Higher),
        Metric::new("offered", "bit/s", Better::Neither),
        Metric::new("retransmitted", "segments", Better::Lower),
        Metric::new("sent", "datagrams", Better::Neither),
        Metric::new("lost", "ratio", Better::Lower),
        Metric::new("jitter", "s", Better::Lower),
    ]
}
