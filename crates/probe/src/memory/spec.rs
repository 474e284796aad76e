//! What to measure: the parameters of the probe.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value};
use crosstalk_host::pages::memory_nodes;

use super::ring::LINE_BYTES;
use crate::arguments::{PIN_ONE, check_duration, parse_one_pin, parse_sizes};

/// The parameters of the probe `memory`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("size", "4 KiB to 256 MiB by doubling", "of the working set: one, or a list"),
    Parameter::new("node", "all", "memory nodes of the working set: `all`, one, or a list"),
    Parameter::new("duration", "50 ms", "of each size on each node"),
    PIN_ONE,
]]);

/// The smallest and the largest working set: two lines, and as many places as a `u32` numbers.
const SIZES: [u64; 2] = [2 * LINE_BYTES as u64, (u32::MAX as u64 + 1) * size_of::<u32>() as u64];

/// Which sizes and nodes a probe of memory measures, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Sizes of the working set.
    pub sizes: Vec<Bytes>,
    /// Its memory nodes.
    pub nodes: Vec<usize>,
    /// How long each size is measured on each node.
    pub duration: Seconds,
    /// The processor; `None`: not pinned.
    pub pin: Option<usize>,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let sizes = match params.get("size") {
            None => (12..=28).map(|power| Bytes(1 << power)).collect(),
            Some(_) => parse_sizes(params, Bytes(1))?,
        };
        if let Some(bad) = sizes.iter().find(|size| !(SIZES[0]..=SIZES[1]).contains(&size.0)) {
            return Err(Fault::usage(format!("expected from 128 B to 16 GiB, found {} B", bad.0))
                .of_parameter("size"));
        }
        let duration = check_duration("duration", params.seconds("duration", Seconds(0.05))?)?;
        Ok(Spec { sizes, nodes: nodes(params)?, duration, pin: parse_one_pin(params)? })
    }

    /// About how long the measurement takes, in seconds.
    pub fn seconds(&self) -> f64 {
        // Making a ring takes about 50 ns a line.
        let made: f64 = self.sizes.iter().map(|size| size.0 as f64 / LINE_BYTES as f64 * 5e-8).sum();
        (self.duration.0 * self.sizes.len() as f64 + made) * self.nodes.len() as f64
    }
}

/// The parameter `node`.
fn nodes(params: &Params) -> Result<Vec<usize>, Fault> {
    let wrong = |found: &Value| {
        let known: Vec<String> = memory_nodes().iter().map(ToString::to_string).collect();
        Fault::usage(format!("expected `all` or numbers of memory nodes, found `{found}`"))
            .of_parameter("node")
            .remedy(format!("one of: {}", known.join(", ")))
    };
    let number = |value: &Value| match value {
        Value::Int(n) if *n >= 0 => Ok(*n as usize),
        other => Err(wrong(other)),
    };
    match params.get("node") {
        None => Ok(memory_nodes()),
        Some(Value::Text(all)) if all == "all" => Ok(memory_nodes()),
        Some(Value::List(list)) if !list.is_empty() => list.iter().map(number).collect(),
        Some(one) => Ok(vec![number(one)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_parameters_are_named() {
        let refusal = |name, value: Value| {
            Spec::from_params(&Params::default().with(name, value)).expect_err("refused")
        };
        assert!(refusal("size", "64 B".into()).to_string().contains("128 B to 16 GiB"));
        assert!(refusal("node", "here".into()).remedy.is_some());
        assert!(refusal("node", Value::Int(-1)).to_string().contains("`node`"));
    }
}
