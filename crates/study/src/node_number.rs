//! The numbers of a system's nodes that may carry a range.
//!
//! All of them act on a recorded schedule, so that a replay shows what they do. Memory does not: how much an application
//! keeps on disk is decided while it runs.

use crosstalk_core::Fault;
use crosstalk_core::range::Range;
use crosstalk_core::system::{NodeKind, System};
use crosstalk_core::units::{BitRate, Seconds, human};

use crate::cost::{check, contains};

/// A number of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`NodeKind` and `Disk` have what they mean")]
pub enum NodeNumber {
    Speed,
    Scaling,
    DiskRate,
    DiskLatency,
}

/// All numbers of a node.
pub const NODE_NUMBERS: [NodeNumber; 4] =
    [NodeNumber::Speed, NodeNumber::Scaling, NodeNumber::DiskRate, NodeNumber::DiskLatency];

impl NodeNumber {
    /// Its key in `[source]`.
    pub fn name(self) -> &'static str {
        match self {
            NodeNumber::Speed => "speed",
            NodeNumber::Scaling => "scaling",
            NodeNumber::DiskRate => "disk.rate",
            NodeNumber::DiskLatency => "disk.latency",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            NodeNumber::Speed | NodeNumber::Scaling => "",
            NodeNumber::DiskRate => "bit/s",
            NodeNumber::DiskLatency => "s",
        }
    }

    /// Its value in base units; `None` where the node has none.
    pub fn of(self, node: &NodeKind) -> Option<f64> {
        Some(match self {
            NodeNumber::Speed => node.speed,
            NodeNumber::Scaling => node.scaling,
            NodeNumber::DiskRate => node.disk?.rate.0,
            NodeNumber::DiskLatency => node.disk?.latency.0,
        })
    }

    /// Changes it, where the node has one.
    pub fn set(self, node: &mut NodeKind, value: f64) {
        match (self, &mut node.disk) {
            (NodeNumber::Speed, _) => node.speed = value,
            (NodeNumber::Scaling, _) => node.scaling = value,
            (NodeNumber::DiskRate, Some(disk)) => disk.rate = BitRate(value),
            (NodeNumber::DiskLatency, Some(disk)) => disk.latency = Seconds(value),
            (NodeNumber::DiskRate | NodeNumber::DiskLatency, None) => {}
        }
    }

    /// The ends of its range, in base units.
    ///
    /// # Errors
    /// A usage fault where they are no such quantities, in the wrong order, or beyond what the number can be.
    pub fn ends(self, range: &Range) -> Result<(f64, f64), Fault> {
        let (low, high) = match self {
            NodeNumber::Speed | NodeNumber::Scaling => range.numbers()?,
            NodeNumber::DiskRate => ends_of_rate(range)?,
            NodeNumber::DiskLatency => range.quantities::<Seconds>().map(|(low, high)| (low.0, high.0))?,
        };
        match self {
            NodeNumber::DiskLatency => {}
            NodeNumber::Scaling if low > 0.0 && high <= 1.0 => {}
            NodeNumber::Scaling => {
                return Err(Fault::usage("expected a range of scalings above 0 and at most 1"));
            }
            NodeNumber::Speed | NodeNumber::DiskRate if low > 0.0 => {}
            NodeNumber::Speed | NodeNumber::DiskRate => {
                return Err(Fault::usage(format!("expected a range above zero for `{}`", self.name())));
            }
        }
        Ok((low, high))
    }
}

/// Checks the ranges of a system's numbers. `at` says where a key stands.
///
/// # Errors
/// A usage fault: a range that does not contain the value, or of what can have none.
pub(crate) fn check_system(system: &System, at: impl Fn(&str) -> String) -> Result<(), Fault> {
    if system.source.get("memory").is_some_and(|source| source.range.is_some()) {
        return Err(Fault::usage(
            "`memory` has a range, but ranges are replayed, and how much is spilled is decided while work runs",
        )
        .at(at("source.memory"))
        .remedy("leave the range out, and make memory a factor of the study: memory = [\"4 GB\", \"8 GB\"]"));
    }
    let uplinks: Vec<f64> = system.network.values().filter_map(|network| Some(network.uplink?.0)).collect();
    if uplinks.iter().any(|rate| *rate <= 0.0) {
        return Err(Fault::usage("expected a rate of a board's link above zero")
            .at(at("network"))
            .remedy("leave `uplink` out where no such link delays anything"));
    }
    let which = "speed, scaling, disk.rate and disk.latency, and `uplink` where a network has it,";
    check(&system.source, which, at, |name, range| {
        if name == "uplink" && !uplinks.is_empty() {
            return Some(uplink_range(range, &uplinks));
        }
        let number = NODE_NUMBERS.into_iter().find(|number| number.name() == name)?;
        let value = number.of(&system.node)?;
        let in_words = |value: f64| human(value, number.unit());
        Some(number.ends(range).and_then(|ends| contains(ends, value, in_words)))
    })
}

/// What of a system has a source.
pub(crate) const SYSTEM_SOURCES: &[&str] = &[
    "cpu",
    "cores",
    "clock",
    "speed",
    "scaling",
    "memory",
    "disk",
    "disk.rate",
    "disk.latency",
    "boards",
    "network",
    "uplink",
    "within_node",
];

/// Checks the range of the links of boards: one for those of all networks.
fn uplink_range(range: &Range, rates: &[f64]) -> Result<(), Fault> {
    let ends = ends_of_rate(range)?;
    match ends.0 > 0.0 {
        true => rates.iter().try_for_each(|rate| contains(ends, *rate, |rate| human(rate, "bit/s"))),
        false => Err(Fault::usage("expected a range of rates above zero")),
    }
}

/// The ends of a range of rates, in bit/s.
///
/// # Errors
/// A usage fault where they are no rates, or in the wrong order.
pub fn ends_of_rate(range: &Range) -> Result<(f64, f64), Fault> {
    range.quantities::<BitRate>().map(|(low, high)| (low.0, high.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogues;

    fn system(node: &str, source: &str) -> Result<(), String> {
        let text = format!(
            "title = \"T\"\nnode = {{ cpu = \"c\", cores = 8, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\"{node} }}\n\
             boards = {{ count = 1, nodes = 4 }}\nnetwork.n = {{ within = \"f\", across = \"f\" }}\n[source]\n{source}"
        );
        let mut all = Catalogues::new();
        let fabric = "title = \"T\"\nrate = \"1 Gbit/s\"\ncosts = { L = \"20 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }";
        all.add_fabric("f", &format!("{fabric}\n[source]"), "f.toml").expect("reads");
        all.add_system("s", &text, "s.toml").map_err(|fault| fault.to_string())
    }

    const DISK: &str = ", disk = { rate = \"100 MB/s\", latency = \"10 ms\" }";

    #[test]
    fn ranges_of_nodes_are_read_in_their_units() {
        for (node, source) in [
            ("", r#"speed = { text = "t", range = [0.1, 0.3] }"#),
            ("", r#"scaling = { text = "t", range = [0.5, 1] }"#),
            (", scaling = 0.7", r#"scaling = { text = "t", range = [0.5, 0.9] }"#),
            (DISK, r#""disk.rate" = { text = "t", range = ["50 MB/s", "200 MB/s"] }"#),
            (DISK, r#""disk.latency" = { text = "t", range = ["0 s", "20 ms"] }"#),
        ] {
            assert_eq!(system(node, source), Ok(()));
        }
    }

    #[test]
    fn what_a_range_cannot_be_is_a_fault_with_its_place() {
        for (node, source, why) in [
            ("", r#"scaling = { text = "t", range = [0.5, 0.9] }"#, "does not contain the value 1"),
            ("", r#"scaling = { text = "t", range = [0.5, 1.2] }"#, "at most 1"),
            ("", r#"scaling = { text = "t", range = [0, 1] }"#, "above 0"),
            ("", r#"scaling = { range = [0.5, 1] }"#, "text"),
            ("", r#"speed = { text = "t", range = [0, 1] }"#, "above zero"),
            (DISK, r#""disk.rate" = { text = "t", range = ["10 MB/s", "20 MB/s"] }"#, "does not contain"),
            (DISK, r#""disk.rate" = { text = "t", range = ["0 MB/s", "200 MB/s"] }"#, "above zero"),
            (DISK, r#""disk.latency" = { text = "t", range = ["1 MB", "20 ms"] }"#, "unit"),
            ("", r#""disk.rate" = { text = "t", range = ["50 MB/s", "200 MB/s"] }"#, "can have one"),
            ("", r#"sped = { text = "t" }"#, "unknown parameter `sped`"),
            ("", r#"memory = { text = "t", range = ["1 GB", "2 GB"] }"#, "decided while work runs"),
            (
                "",
                r#"cores = { text = "t", range = [4, 16] }"#,
                "scaling, disk.rate and disk.latency, and `uplink` where a network has it, can have one",
            ),
        ] {
            let fault = system(node, source).expect_err(source);
            assert!(fault.contains(why) && fault.contains("s.toml:"), "{fault}");
        }
        for bad in ["0", "1.5", "nan"] {
            let fault = system(&format!(", scaling = {bad}"), "").expect_err(bad);
            assert!(fault.contains("expected a scaling above 0 and at most 1"), "{fault}");
        }
    }

    #[test]
    fn a_number_that_is_set_is_that_number() {
        let text = format!(
            "cpu = \"c\"\ncores = 8\nclock = \"1 GHz\"\nspeed = 0.2\nmemory = \"1 GB\"\n{}",
            &DISK[2..]
        );
        let mut node: NodeKind = toml::from_str(&text).expect("reads");
        for (number, value) in NODE_NUMBERS.into_iter().zip([0.4, 0.8, 1e8, 0.02]) {
            number.set(&mut node, value);
        }
        assert_eq!(NODE_NUMBERS.map(|number| number.of(&node)), [0.4, 0.8, 1e8, 0.02].map(Some));
        node.disk = None;
        NodeNumber::DiskRate.set(&mut node, 1.0);
        assert_eq!(NodeNumber::DiskRate.of(&node), None);
    }
}
