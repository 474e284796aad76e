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
    title: "Speed of a core, relative to the machine of the recorded studies: integers, memory, gathering",
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
    let speeds = speed.0.iter().flat_map(|kernel| relative(kernel.kernel, &kernel.relative));
    let passes = speed.0.iter().map(|kernel| of("passes", kernel.kernel, kernel.passes));
    relative("all", &speed.all()).into_iter().chain(speeds).chain(passes).collect()
}

#[cfg(test)]
mod tests {
    use super::super::measure::KernelSpeed;
    use super::*;

    #[test]
    fn the_speed_of_all_comes_first_and_each_has_its_interval() {
        let kernel = |kernel, point| KernelSpeed {
            kernel,
            passes: 100.0 * point,
            relative: Interval { point, low: point * 0.9, high: point * 1.1, count: 21 },
        };
        let readings = readings(&HostSpeed(vec![kernel("integer", 1.0), kernel("triad", 4.0)]));
        let of = |metric: &str| -> Vec<(String, f64)> {
            let those = readings.iter().filter(|(reading, _)| reading.metric == metric);
            those
                .map(|(reading, _)| {
                    (reading.labels["kernel"].clone(), (reading.number().unwrap_or(0.0) * 1e9).round() / 1e9)
                })
                .collect()
        };
        let named = |values: [(&str, f64); 3]| values.map(|(name, value)| (name.to_string(), value)).to_vec();
        assert_eq!(of("relative_speed"), named([("all", 2.0), ("integer", 1.0), ("triad", 4.0)]));
        assert_eq!(of("relative_speed_lower"), named([("all", 0.9), ("integer", 0.9), ("triad", 3.6)]));
        assert_eq!(of("passes"), [("integer".to_string(), 100.0), ("triad".to_string(), 400.0)]);
        assert_eq!(readings[0].0.metric, "relative_speed");
    }
}
