//! The probe as a workload.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::Prepared;
use crosstalk_host::cpu::allowed;

use super::measure::{ROUNDS, measure};
use super::spec::{PARAMETERS, Spec};
use crate::one_node;
use crosstalk_work::Declared;

/// The workload `cores`: how long a cache line takes from core to core.
pub const CORES: Declared<Spec> = Declared {
    name: "cores",
    title: "Time to hand a cache line from one core to another, for every pair",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("hand_over", "s", Better::Lower).above_zero(),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        // About 100 ns a hand-over.
        one_node::deployment(
            metrics,
            spec.pairs().count() as f64 * spec.batches as f64 * ROUNDS as f64 * 2e-7,
        )
    },
    needs: |_| vec![Need::found("processors", format!("{:?} are allowed", allowed()))],
    prepare,
};

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if spec.cpus.len() < 2 {
        return Err(Fault::environment("one processor is allowed here: there is nothing to hand over to")
            .remedy("allow a second one: taskset, or the container's set of processors"));
    }
    one_node::prepare(part, move |until| measure(&spec, until))
}
