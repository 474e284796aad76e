//! The probe as a workload.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_stats::Interval;

use super::measure::{HostSpeed, host_speed};
use crate::one_node;
use crate::readings::Readings;
use crosstalk_work::Declared;

const PARAMETERS: Parameters = Parameters(&[]);

/// The workload `speed`: how fast a core of this machine computes.
pub const SPEED: Declared<()> = Declared {
    name: "speed",
    title: "Speed of a core, beside the machine of the recorded studies: integers, memory, gathering",
    parameters: PARAMETERS,
    read: |params| params.refuse_unknown(PARAMETERS),
    deploy: |()| {
        let relative = ["relative_speed", "relative_speed_lower", "relative_speed_upper"];
        let metrics = relative.map(|name| Metric::new(name, "ratio", Better::Higher)).into_iter();
        one_node::deployment(metrics.chain([Metric::new("passes", "/s", Better::Higher)]).collect(), 3.0)
    },
    needs: |()| vec![Need::found("a core", "this machine's")],
    prepare: |(), part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        one_node::prepare(part, |until| host_speed(until).map(|speed| readings(&speed)))
    },
};

fn readings(speed: &HostSpeed) -> Readings {
    let of = |metric: &str, kernel: &str, value| {
        (Reading::value(metric, value, Origin::Measured).label("kernel", kernel), 1)
    };
    let relative = |kernel: &str, interval: &Interval| {
        [
            of("relative_speed", kernel, interval.point),
            of("relative_speed_lower", kernel, interval.low),
            of("relative_speed_upper", kernel, interval.high),
        ]
    };
    let of_kernels = speed.0.iter().flat_map(|kernel| {
        [of("passes", kernel.kernel, kernel.passes)]
            .into_iter()
            .chain(relative(kernel.kernel, &kernel.relative))
    });
    of_kernels.chain(relative("all", &speed.all())).collect()
}
