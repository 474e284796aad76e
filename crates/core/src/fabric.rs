//! A network technology with its LogGOPS parameters.
//!
//! LogGOPS (Hoefler, Schneider, Lumsdaine: "LogGOPSim", HPDC 2010, after
//! Culler et al.'s LogP and Alexandrov et al.'s LogGP). For a message of
//! `s` bytes, end to end and uncontended: `2o + L + (s − 1) · max(O, G)`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::range::Range;
use crate::units::{BitRate, Bytes, Seconds};

/// What one message costs. Times in seconds, per-byte costs in seconds a byte.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// L: from the last instruction of the sender's overhead until the head
    /// of the message reaches the receiver.
    #[serde(rename = "L")]
    pub latency: Seconds,
    /// o: CPU time a message, on each side.
    #[serde(rename = "o")]
    pub overhead: Seconds,
    /// g: the least time between two messages of one NIC, in one direction.
    #[serde(rename = "g")]
    pub gap: Seconds,
    /// G: NIC time a byte, in one direction.
    #[serde(rename = "G")]
    pub gap_per_byte: Seconds,
    /// O: CPU time a byte, on each side.
    #[serde(rename = "O", default)]
    pub overhead_per_byte: Seconds,
}

/// The costs of messages from a size on, for fabrics that change protocol there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The smallest message these costs hold for.
    pub from: Bytes,
    /// The costs from that size on.
    #[serde(flatten)]
    pub costs: Costs,
}

/// Where a number of a catalogue comes from: the publication and the place in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Paper, standard or derivation.
    pub text: String,
    /// True if the number was fitted to a published result. A claim about that result
    /// is then a calibration, not evidence.
    #[serde(default)]
    pub calibration: bool,
    /// The ends of the range in which the parameter lies; the text says why. Of a parameter that `follows` another, as
    /// factors of what it would be then. Default: none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The fabric or system, of the same catalogue, whose parameter of this name it moves with, by the same factor: where
    /// both come from one figure, only their ratio counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

/// A network technology: one file of `fabrics/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// The name studies use; the file's name without `.toml`.
    #[serde(default)]
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The link's data rate. Links in real time are shaped to it.
    pub rate: BitRate,
    /// What a message costs.
    pub costs: Costs,
    /// Other costs from a message size on, in ascending order of size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Step>,
    /// The speed of the nodes whose CPU takes o and O, as systems have it; on others these are scaled. Default: they are
    /// the same on every node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_speed: Option<f64>,
    /// Parameter (`rate`, `L`, `o`, `g`, `G`, `O`, `node_speed`, `step`) → where it comes from.
    pub source: BTreeMap<String, Source>,
    /// Known properties of this fabric that the emulation does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// How links differ from a system's fabric, for "what if" experiments. Default: not at all.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Links {
    /// Another data rate.
    pub rate: Option<BitRate>,
    /// Another latency L, for messages of every size.
    pub latency: Option<Seconds>,
}

impl Links {
    /// Whether the links are those of the fabric, unchanged.
    pub fn is_unchanged(&self) -> bool {
        *self == Links::default()
    }
}

impl Fabric {
    /// This fabric with other links. Another rate scales the NIC's time for a byte (G).
    /// The costs of the same nodes and software (o, O, g) stay.
    pub fn with_links(mut self, links: &Links) -> Self {
        let slower = links.rate.map_or(1.0, |rate| self.rate.0 / rate.0);
        for costs in self.all_costs() {
            costs.gap_per_byte = Seconds(costs.gap_per_byte.0 * slower);
            costs.latency = links.latency.unwrap_or(costs.latency);
        }
        self.rate = links.rate.unwrap_or(self.rate);
        self
    }

    /// The costs of messages of all sizes, step by step.
    pub fn all_costs(&mut self) -> impl Iterator<Item = &mut Costs> {
        std::iter::once(&mut self.costs).chain(self.step.iter_mut().map(|step| &mut step.costs))
    }

    /// This fabric on nodes of that speed: the CPU's costs are longer where they are slower.
    pub fn on_nodes(mut self, speed: f64) -> Self {
        let longer = self.node_speed.map_or(1.0, |own| own / speed);
        for costs in self.all_costs() {
            costs.overhead = Seconds(costs.overhead.0 * longer);
            costs.overhead_per_byte = Seconds(costs.overhead_per_byte.0 * longer);
        }
        self
    }

    /// The costs of a message of `size` bytes.
    pub fn costs_for(&self, size: u64) -> &Costs {
        self.step.iter().rev().find(|step| size >= step.from.0).map_or(&self.costs, |step| &step.costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_slower_nodes_the_cpu_takes_longer_and_nothing_else_does() {
        let fabric: Fabric = toml::from_str(
            r#"
            title = "T"
            rate = "1 Gbit/s"
            node_speed = 0.2
            costs = { L = "5 µs", o = "1 µs", g = "1 µs", G = "8 ns", O = "1 ns" }
            step = [{ from = "256 B", L = "6 µs", o = "2 µs", g = "2 µs", G = "10 ns", O = "1 ns" }]
            source = { rate = { text = "standard" } }
            "#,
        )
        .expect("reads");
        let slow = fabric.clone().on_nodes(0.1);
        let near = |a: Seconds, b: f64| (a.0 - b).abs() < 1e-15;
        assert!(near(slow.costs.overhead, 2e-6) && near(slow.costs.overhead_per_byte, 2e-9));
        assert!(near(slow.step[0].costs.overhead, 4e-6));
        assert_eq!((slow.costs.latency, slow.costs.gap), (fabric.costs.latency, fabric.costs.gap));
        assert_eq!(fabric.clone().on_nodes(0.2), fabric);
        let anywhere = Fabric { node_speed: None, ..fabric };
        assert_eq!(anywhere.clone().on_nodes(0.1), anywhere, "which node is not known");
    }

    #[test]
    fn other_links_change_the_time_a_byte_and_the_latency_and_nothing_else() {
        let fabric: Fabric = toml::from_str(
            r#"
            title = "T"
            rate = "1 Gbit/s"
            costs = { L = "5 µs", o = "1 µs", g = "1 µs", G = "8 ns", O = "1 ns" }
            step = [{ from = "256 B", L = "6 µs", o = "1 µs", g = "2 µs", G = "10 ns" }]
            source = { rate = { text = "standard" } }
            "#,
        )
        .expect("reads");
        assert_eq!(fabric.clone().with_links(&Links::default()), fabric);
        let links = Links { rate: Some(BitRate(4e9)), latency: Some(Seconds(1e-6)) };
        let other = fabric.clone().with_links(&links);
        assert_eq!(other.rate, BitRate(4e9));
        let (small, large) = (other.costs_for(64), other.costs_for(256));
        assert!((small.gap_per_byte.0 - 2e-9).abs() < 1e-18 && (large.gap_per_byte.0 - 2.5e-9).abs() < 1e-18);
        assert_eq!([small.latency, large.latency], [Seconds(1e-6); 2]);
        assert_eq!(
            (small.overhead, small.gap, small.overhead_per_byte),
            (Seconds(1e-6), Seconds(1e-6), Seconds(1e-9))
        );
        assert_eq!(large.gap, Seconds(2e-6));
    }

    #[test]
    fn steps_take_over_from_their_size_on() {
        let fabric: Fabric = toml::from_str(
            r#"
            title = "T"
            rate = "1 Gbit/s"
            costs = { L = "5 µs", o = "1 µs", g = "1 µs", G = "8 ns" }
            step = [{ from = "256 B", L = "5 µs", o = "1 µs", g = "2 µs", G = "4 ns" }]
            source = { rate = { text = "standard" } }
            "#,
        )
        .expect("reads");
        assert_eq!(fabric.costs_for(255).gap, Seconds(1e-6));
        assert_eq!(fabric.costs_for(256).gap, Seconds(2e-6));
    }
}
