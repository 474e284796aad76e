//! What to measure: the parameters of the workload.

use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value};
use crosstalk_work::peer::record::RECORD;

use super::function::Function;
use crate::arguments::parse_duration;

/// The parameters of the workload `collective`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "function",
        "allreduce",
        "`pingpong`, `pingping`, `sendrecv`, `exchange`, `pipeline`, or a collective: `bcast`, `allgather`, `allgatherv`, \
         `alltoall`, `alltoallv`, `reduce`, `reduce_scatter`, `allreduce`, `gather`, `gatherv`, `scatter`, \
         `scatterv`, `barrier`",
    ),
    Parameter::new("size", "0 B to 4 MiB, doubling", "of a message, a vector or a piece: one, or a list"),
    Parameter::new("nodes", "2", "number of nodes"),
    Parameter::new("duration", "0.15 s", "of each size, in real time"),
    Parameter::new(
        "begin",
        "together; of `pingpong` and `pingping`, in-turn",
        "how calls begin in real time: `together`, each at one time at all ranks, or `in-turn`, one after the \
         other in a loop, as in the Intel MPI Benchmarks",
    ),
    RECORD,
]]);

/// The largest message.
const MOST: u64 = 1 << 30;

/// How calls begin, in real time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Each at one time at all ranks.
    Together,
    /// One after the other in a loop.
    InTurn,
}

/// What is measured, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The function that is timed.
    pub function: Function,
    /// Sizes, one after the other.
    pub sizes: Vec<Bytes>,
    /// The number of nodes.
    pub nodes: usize,
    /// How long each size is measured in real time.
    pub duration: Duration,
    /// How calls begin in real time.
    pub begin: Begin,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let function = Function::from_name(params.text("function", "allreduce")?)?;
        let sizes = match params.get("size") {
            None => sweep(function),
            Some(Value::List(list)) if list.is_empty() => {
                return Err(Fault::usage("expected at least one size, found none").of_parameter("size"));
            }
            Some(Value::List(list)) => list.iter().map(size_of).collect::<Result<_, _>>()?,
            Some(one) => vec![size_of(one)?],
        };
        sizes.iter().try_for_each(|size| check(function, *size))?;
        let nodes = params.count("nodes", 2, 1)? as usize;
        let duration = parse_duration(params, Seconds(0.15))?;
        let usual = match function {
            // Each message begins by the one before.
            Function::PingPong | Function::PingPing => "in-turn",
            _ => "together",
        };
        let begin = match params.text("begin", usual)? {
            "together" => Begin::Together,
            "in-turn" => Begin::InTurn,
            other => return Err(unknown("begin", other, ["together", "in-turn"]).of_parameter("begin")),
        };
        Ok(Spec { function, sizes, nodes, duration: Duration::from_secs_f64(duration.0), begin })
    }

    /// About how long it takes in real time, in seconds.
    pub fn seconds(&self) -> f64 {
        self.sizes.len() as f64 * (self.duration.as_secs_f64() + 0.05) + 0.05
    }
}

/// The sizes of the Intel MPI Benchmarks: none, then powers of two up to 4 MiB; of numbers, from one number on.
pub fn sweep(function: Function) -> Vec<Bytes> {
    if !function.has_size() {
        return vec![Bytes(0)];
    }
    let smallest = if function.combines() { 2 } else { 0 };
    std::iter::once(0).chain((smallest..=22).map(|power| 1 << power)).map(Bytes).collect()
}

/// A size, which may be zero.
fn size_of(value: &Value) -> Result<Bytes, Fault> {
    let wrong = || {
        Fault::usage(format!("expected a size, found `{value}`"))
            .of_parameter("size")
            .remedy("write for example size = \"4 KiB\"")
    };
    match value {
        Value::Int(bytes) => u64::try_from(*bytes).map(Bytes).map_err(|_| wrong()),
        Value::Text(text) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn check(function: Function, size: Bytes) -> Result<(), Fault> {
    let wrong = |why: String, remedy: &str| Err(Fault::usage(why).of_parameter("size").remedy(remedy));
    let name = function.name();
    match size.0 {
        bytes if bytes > MOST => wrong(format!("expected at most 1 GiB, found {bytes} bytes"), "take less"),
        bytes if bytes > 0 && !function.has_size() => {
            wrong(format!("`{name}` sends no data, found a size of {bytes} bytes"), "leave `size` out")
        }
        bytes if function.combines() && bytes % 4 != 0 => wrong(
            format!("`{name}` combines numbers of 4 bytes, found a size of {bytes} bytes"),
            "take a multiple of 4 B",
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: impl Into<Value>) -> Result<Spec, Fault> {
        Spec::from_params(&Params::default().with(name, value.into()))
    }

    #[test]
    fn sizes_double_up_to_4_mib() {
        let sizes = |name: &str| sweep(Function::from_name(name).expect("is known"));
        assert_eq!(sizes("bcast").len(), 24);
        assert_eq!(sizes("bcast")[..3], [Bytes(0), Bytes(1), Bytes(2)]);
        assert_eq!(sizes("allreduce")[..3], [Bytes(0), Bytes(4), Bytes(8)]);
        assert_eq!(sizes("pingpong").last(), Some(&Bytes(4 << 20)));
        assert_eq!(sizes("barrier"), [Bytes(0)]);
    }

    #[test]
    fn a_sweep_answers_in_five_seconds() {
        for function in Function::ALL {
            let spec = read("function", function.name()).expect("reads");
            assert!(spec.seconds() <= 5.01, "{} takes {} s", function.name(), spec.seconds());
        }
    }

    #[test]
    fn invalid_values_are_named() {
        for (name, value, why) in [
            ("size", Value::from("6 B"), "a multiple of 4 B"),
            ("size", Value::Int(-1), "expected a size"),
            ("size", Value::from("2 GiB"), "at most 1 GiB"),
            ("size", Value::List(Vec::new()), "at least one size"),
            ("nodes", Value::Int(0), "at least 1"),
            ("function", Value::from("alltoal"), "alltoall"),
            ("duration", Value::from("0 s"), "above zero"),
            ("begin", Value::from("in-tun"), "in-turn"),
        ] {
            let fault = read(name, value.clone()).expect_err("is refused");
            assert!(fault.to_string().contains(why), "{value}: {fault}");
            assert_eq!(fault.parameter.as_deref(), Some(name));
        }
        let barrier = Params::default().with("function", "barrier").with("size", "4 B");
        assert!(Spec::from_params(&barrier).is_err());
        assert_eq!(read("size", "0 B").map(|spec| spec.sizes), Ok(vec![Bytes(0)]));
    }
}
