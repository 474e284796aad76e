//! The latency of a catalogued interconnect, added up from its components. As a workload, so that a
//! study can compare it with published and measured latencies. Nothing is measured.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `end_to_end` | s | lower bound: the sum of the components' lower bounds |
//! | `end_to_end_most` | s | upper bound, if every component has one |
//! | `unexplained` | share | share of the published latency beyond the components' lower bounds, if one is published |
//! | `part` | s | lower bound of one component; label `component`, numbered along the path |

use crosstalk_core::Fault;
use crosstalk_core::interconnect::{Component, Hop};
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Prepared;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter_fault};
use crosstalk_model::path::{Latency, Traffic};
use crosstalk_study::Catalogues;

use crate::one_node;
use crosstalk_work::Declared;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("interconnect", "", "a name of the catalogue: `crosstalk list interconnects`"),
    Parameter::new("size", "none", "of a message, whose bytes after the head take time, too"),
    Parameter::new(
        "utilisation",
        "0",
        "share of the time that every port on the path is busy, below 1 (a model)",
    ),
]]);

/// The workload `path`: the latency of an interconnect, added up from its components.
pub const PATH: Declared<Spec> = Declared {
    name: "path",
    title: "Latency of an interconnect, added up from its components: computed, not measured",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |_| {
        let metrics = vec![
            Metric::new("end_to_end", "s", Better::Lower).above_zero(),
            Metric::new("end_to_end_most", "s", Better::Lower).above_zero(),
            Metric::new("unexplained", "%", Better::Lower),
            Metric::new("part", "s", Better::Neither),
        ];
        one_node::deployment(metrics, 0.01)
    },
    needs: |_| Vec::new(),
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        one_node::prepare(part, move |_| Ok(spec.readings.into_iter().map(|reading| (reading, 1)).collect()))
    },
};

/// The paths to add up, and the traffic on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    readings: Vec<Reading>,
}

impl Spec {
    fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let catalogues = Catalogues::bundled();
        let interconnect = catalogues
            .find_interconnect(params.text("interconnect", "")?)
            .map_err(|fault| fault.of_parameter("interconnect"))?;
        let hops: Vec<(&Hop, &Component)> = catalogues.components_along(&interconnect.path)?;
        let utilisation = params.float("utilisation", 0.0)?;
        if !(0.0..1.0).contains(&utilisation) {
            return Err(parameter_fault(
                "utilisation",
                format!("expected a share from 0 to below 1, found {utilisation}"),
            ));
        }
        let traffic = match (params.get("size"), interconnect.bandwidth) {
            (None, _) if utilisation > 0.0 => {
                return Err(parameter_fault(
                    "utilisation",
                    "how long messages wait depends on their size".into(),
                )
                .remedy("set `size`, too"));
            }
            (None, _) => None,
            (Some(_), None) => {
                return Err(parameter_fault("size", "the interconnect has no bandwidth".into()));
            }
            (Some(_), Some(rate)) => {
                Some(Traffic { size: params.size("size", Bytes(1))?, rate, utilisation })
            }
        };
        let latency = Latency::of_path(&hops, traffic.as_ref());
        let (head, total) = (latency.head(), latency.total());
        let origin = if utilisation > 0.0 { Origin::Predicted } else { Origin::Computed };
        let mut readings = vec![Reading::value("end_to_end", total.low, origin)];
        readings.extend(total.high.map(|high| Reading::value("end_to_end_most", high, origin)));
        readings.extend(hops.iter().zip(&latency.hops).enumerate().map(|(place, ((hop, part), span))| {
            let component = format!("{}. {}", place + 1, hop.describe(part));
            Reading::value("part", span.low, origin).label("component", component)
        }));
        let published = interconnect.published.as_deref().and_then(|id| catalogues.published_range(id));
        readings
            .extend(published.map(|(low, _)| Reading::value("unexplained", 1.0 - head.low / low, origin)));
        Ok(Spec { readings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(params: &Params, metric: &str) -> Option<f64> {
        let spec = Spec::from_params(params).expect("adds up");
        spec.readings.iter().find(|reading| reading.metric == metric)?.number()
    }

    #[test]
    fn the_published_example_of_a_path_is_reproduced() {
        let params = Params::default().with("interconnect", "pcie-fabric");
        let low = value(&params, "end_to_end").expect("is reported");
        assert!((low - 720e-9).abs() < 1e-15, "{low}");
        assert!(value(&params, "unexplained").is_some_and(|share| share.abs() < 1e-9));
        assert!(value(&params.with("interconnect", "ethernet-10g"), "end_to_end_most").is_none());
    }

    #[test]
    fn a_missing_or_invalid_parameter_is_named() {
        let refusal = |params: Params| Spec::from_params(&params).expect_err("refused").to_string();
        assert!(refusal(Params::default().with("interconnect", "pcie-fabrik")).contains("pcie-fabric"));
        let path = Params::default().with("interconnect", "qpi");
        assert!(refusal(path.clone().with("utilisation", 0.5)).contains("`size`"));
        assert!(refusal(path.with("utilisation", 1.0)).contains("below 1"));
    }
}
