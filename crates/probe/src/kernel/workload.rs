//! The probe as a workload.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::Prepared;
use crosstalk_core::units::Seconds;

use super::measure::{Spec, measure};
use crate::arguments::check_duration;
use crate::one_node;
use crosstalk_work::Declared;

const PARAMETERS: Parameters =
    Parameters(&[&[Parameter::new("duration", "1 s", "of each of the four measurements")]]);

/// The workload `kernel`: the times of system calls, timers and wake-ups.
pub const KERNEL: Declared<Spec> = Declared {
    name: "kernel",
    title: "Costs of a system call, a timer and a wake-up, on an idle and on a busy core",
    parameters: PARAMETERS,
    read: |params| {
        params.refuse_unknown(PARAMETERS)?;
        Ok(Spec { duration: check_duration("duration", params.seconds("duration", Seconds(1.0))?)? })
    },
    deploy: |spec| {
        let metrics = ["system_call", "timer", "wake_up", "scheduling"]
            .map(|name| Metric::new(name, "s", Better::Lower))
            .into_iter()
            .chain([Metric::new("own_overhead", "s", Better::Neither)]);
        one_node::deployment(metrics.collect(), 4.0 * spec.duration.0)
    },
    needs: |_| vec![Need::found("eventfd, clock_nanosleep", "the kernel's")],
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        one_node::prepare(part, move |until| measure(spec, until))
    },
};
