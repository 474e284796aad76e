//! What to measure: the parameters of the probe.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::{Params, Value};
use crosstalk_host::cpu::allowed;

/// The parameters of the probe `cores`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("cpus", "all that are allowed", "processors between which lines are handed over: a list"),
    Parameter::new("batches", "300", "of 1,000 rounds, for each pair"),
]]);

/// Which cores a probe of cores measures, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The processors.
    pub cpus: Vec<usize>,
    /// Batches of rounds for each pair.
    pub batches: usize,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let allowed = allowed();
        let wrong = |found: &Value| {
            let known: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            Fault::usage(format!(
                "expected at least two different processors that are allowed, found `{found}`"
            ))
            .of_parameter("cpus")
            .remedy(format!("choose among: {}", known.join(", ")))
        };
        let cpus = match params.get("cpus") {
            None => allowed.clone(),
            Some(list @ Value::List(cpus)) => {
                let number = |value: &Value| match value {
                    Value::Int(n) if allowed.iter().any(|cpu| *cpu as i64 == *n) => Ok(*n as usize),
                    _ => Err(wrong(list)),
                };
                cpus.iter().map(number).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(wrong(other)),
        };
        let twice = cpus.iter().enumerate().any(|(place, cpu)| cpus[..place].contains(cpu));
        if twice || params.get("cpus").is_some() && cpus.len() < 2 {
            return Err(wrong(params.get("cpus").unwrap_or(&Value::Int(0))));
        }
        Ok(Spec { cpus, batches: params.bounded("batches", 300, 6, 1_000_000)? as usize })
    }

    /// Every pair of processors, once.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cpus = &self.cpus;
        (0..cpus.len()).flat_map(move |a| (a + 1..cpus.len()).map(move |b| (cpus[a], cpus[b])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_measured_once() {
        let spec = Spec { cpus: vec![0, 2, 5], batches: 6 };
        assert_eq!(spec.pairs().collect::<Vec<_>>(), [(0, 2), (0, 5), (2, 5)]);
    }

    #[test]
    fn processors_must_be_there_and_differ() {
        let refusal = |cpus: Vec<i64>| {
            let list = Value::List(cpus.into_iter().map(Value::Int).collect());
            Spec::from_params(&Params::default().with("cpus", list)).expect_err("refused")
        };
        let first = allowed()[0];
        for bad in [vec![0, 0], vec![0], vec![], vec![0, 100_000], vec![0, -1]] {
            assert!(refusal(bad).remedy.is_some_and(|r| r.starts_with(&format!("choose among: {first}"))));
        }
    }
}
