//! The probe as a workload.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::Prepared;

use super::measure::measure;
use super::processors::two_processors_need;
use super::spec::{EndpointProcesses, PARAMETERS, Spec};
use crate::one_node;
use crosstalk_work::Declared;

/// The workload `wire`: what polling and bypassing the kernel save.
pub const WIRE: Declared<Spec> = Declared {
    name: "wire",
    title: "One-way time over one wire: kernel sockets, polling and bypass",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("one_way", "s", Better::Lower),
            Metric::new("bandwidth", "bit/s", Better::Higher).above_zero(),
            Metric::new("frame_rate", "/s", Better::Higher),
            Metric::new("lost", "ratio", Better::Lower),
            Metric::new("huge_pages", "ratio", Better::Neither),
            Metric::new("stage_time", "s", Better::Neither),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        one_node::deployment(metrics, spec.duration.0 + spec.overhead_seconds())
    },
    needs: |spec| {
        let two = (spec.ends == EndpointProcesses::TwoProcesses).then(two_processors_need);
        spec.transport.needs().into_iter().chain(two).collect()
    },
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        one_node::prepare(part, move |until| measure(&spec, until))
    },
};
