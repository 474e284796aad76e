//! The probe as a workload.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::Prepared;
use crosstalk_host::pages::memory_nodes;

use super::measure::measure;
use super::spec::{PARAMETERS, Spec};
use crate::one_node;
use crosstalk_work::Declared;

/// The workload `memory`: how long a load from memory takes.
pub const MEMORY: Declared<Spec> = Declared {
    name: "memory",
    title: "Time of a load from memory, against the size of the working set",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("load_time", "s", Better::Lower).above_zero(),
            Metric::new("huge_pages", "ratio", Better::Neither),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        one_node::deployment(metrics, spec.seconds())
    },
    needs: |_| vec![Need::found("memory nodes", format!("{:?}", memory_nodes()))],
    prepare,
};

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let seed = part.seed;
    one_node::prepare(part, move |until| measure(&spec, seed, until))
}
