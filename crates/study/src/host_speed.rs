//! How fast a core of the machine that emulates is, relative to the reference core of systems' speeds.

use std::collections::BTreeMap;

use crosstalk_core::units::human;
use serde::{Deserialize, Serialize};

/// The speeds of a core of the machine that emulates, over the reference core, which the ranges of systems' speeds hold beside
/// the error of the systems' own.
pub const WITHIN_RANGES: std::ops::RangeInclusive<f64> = 0.9..=1.7;

/// What is known of the speed of the machine that emulates; noted of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostSpeed {
    /// It was measured.
    Measured(MeasuredSpeed),
    /// It could not be: why.
    Unknown(String),
}

/// A measured speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSpeed {
    /// A core over the reference core, estimated.
    pub over_reference: f64,
    /// The lower end of its interval: what the kernels' intervals and their disagreement leave.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// A core of the machine of the recorded studies over the reference core: an estimate without an interval.
    pub assumed: f64,
    /// Kernel → a core over the one of the machine of the recorded studies.
    pub kernels: BTreeMap<String, f64>,
}

impl HostSpeed {
    /// The sentence for a reader.
    pub fn sentence(&self) -> String {
        match self {
            HostSpeed::Measured(measured) => measured.sentence(),
            HostSpeed::Unknown(why) => format!(
                "how fast this machine is relative to the reference of systems' speeds is not known: {why}"
            ),
        }
    }

    /// Whether the ranges of systems' speeds may be too narrow on this machine, or nobody knows.
    pub fn is_doubtful(&self) -> bool {
        match self {
            HostSpeed::Measured(measured) => measured.is_beyond_ranges(),
            HostSpeed::Unknown(_) => true,
        }
    }

    /// The clause that goes with an interval over ranges: what doubts it; empty where nothing does.
    pub fn doubt(&self) -> String {
        match self {
            HostSpeed::Measured(measured) if measured.is_beyond_ranges() => format!(
                "; caution: a core of this machine is {} × the reference core ({}–{}), and the ranges of systems' speeds \
                 allow for {} to {} ×, so that the interval over the ranges may be too narrow",
                human(measured.over_reference, ""),
                human(measured.low, ""),
                human(measured.high, ""),
                WITHIN_RANGES.start(),
                WITHIN_RANGES.end()
            ),
            HostSpeed::Measured(_) => String::new(),
            HostSpeed::Unknown(_) => {
                {
                "; caution: how fast this machine is is not known, so that the interval over the ranges may be too narrow"
                    .into()
            }
            }
        }
    }
}

impl MeasuredSpeed {
    /// Whether its interval leaves what ranges of systems' speeds hold.
    fn is_beyond_ranges(&self) -> bool {
        !WITHIN_RANGES.contains(&self.low) || !WITHIN_RANGES.contains(&self.high)
    }

    fn sentence(&self) -> String {
        let MeasuredSpeed { over_reference, low, high, kernels, .. } = self;
        let [over, low, high] = [over_reference, low, high].map(|value| human(*value, ""));
        let each: Vec<String> =
            kernels.iter().map(|(name, speed)| format!("{name} {}", human(*speed, ""))).collect();
        let beyond = match self.is_beyond_ranges() {
            false => String::new(),
            true => format!(
                ". The ranges of speeds allow for {} to {} times, so that what is said over the ranges need not hold for \
                 the nodes named. To correct it, run the study with copies of the systems and their fabrics \
                 (`--catalogue`), in which `speed`, its range where it does not follow another system's, and the fabrics' \
                 `node_speed` are divided by {over}. A run with such copies has this remark too, and is not to be corrected again",
                WITHIN_RANGES.start(),
                WITHIN_RANGES.end()
            ),
        };
        format!(
            "a core of this machine is taken as {over} × the reference core of systems' speeds ({low}–{high} by what was \
             measured here relative to the machine of the recorded studies: {}; that one is assumed to be {} × the \
             reference), and emulated nodes whose speed is relative to it compute {over} times as fast as their files \
             say{beyond}",
            each.join(", "),
            human(self.assumed, "")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(over_reference: f64, low: f64, high: f64) -> HostSpeed {
        let kernels = BTreeMap::from([("gather".into(), 0.7), ("integer".into(), 0.8)]);
        HostSpeed::Measured(MeasuredSpeed { over_reference, low, high, assumed: 1.5, kernels })
    }

    #[test]
    fn a_machine_within_the_ranges_is_no_doubt() {
        let within = measured(1.1, 1.0, 1.2);
        assert!(!within.is_doubtful() && within.doubt().is_empty());
        let text = within.sentence();
        assert!(text.contains("1.10 × the reference core of systems' speeds (1.00–1.20 by"), "{text}");
        assert!(text.contains("gather 0.70, integer 0.80") && !text.contains("divided"), "{text}");
    }

    #[test]
    fn a_machine_beyond_them_has_a_remedy() {
        let doubt = measured(0.7, 0.6, 0.8).doubt();
        assert!(
            doubt.contains("0.9 to 1.7 ×") && doubt.contains("0.70 × the reference core (0.60–0.80)"),
            "{doubt}"
        );
        for beyond in [measured(1.8, 1.7, 1.9), measured(0.7, 0.6, 0.8), measured(1.0, 0.5, 2.0)] {
            assert!(
                beyond.is_doubtful() && beyond.sentence().contains("`node_speed` are divided by"),
                "{beyond:?}"
            );
        }
        let unknown = HostSpeed::Unknown("this machine is too busy".into());
        assert!(unknown.is_doubtful() && unknown.sentence().ends_with("too busy"));
        assert!(unknown.doubt().contains("is not known"));
    }

    #[test]
    fn what_is_noted_reads_back() {
        for speed in [measured(1.1, 1.0, 1.2), HostSpeed::Unknown("busy".into())] {
            let text = serde_json::to_string(&speed).expect("is JSON");
            assert_eq!(serde_json::from_str::<HostSpeed>(&text).expect("reads"), speed);
        }
    }
}
