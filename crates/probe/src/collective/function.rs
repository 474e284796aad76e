//! The functions that are timed: those of the Intel (once Pallas) MPI Benchmarks, as its user guide defines them, and a
//! pipeline.

use crosstalk_core::Fault;
use crosstalk_core::mpi::Operation;
use crosstalk_core::name::unknown;

/// A function that ranks carry out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Rank 0 sends to rank 1, which sends back. Others wait.
    PingPong,
    /// Ranks 0 and 1 send to each other at the same time. Others wait.
    PingPing,
    /// Each sends to its right neighbour in a ring, and receives from its left one.
    Sendrecv,
    /// Each exchanges messages with both neighbours in a ring.
    Exchange,
    /// Rank 0 sends [`IN_A_PIPELINE`] messages to the last rank. Each rank between passes on each message once it has it.
    Pipeline,
    /// A collective operation among all ranks.
    Collective(Operation),
}

/// The number of messages that pass through a pipeline in one call.
pub const IN_A_PIPELINE: usize = 8;

impl Function {
    /// All of them, in the order of the Intel MPI Benchmarks; the pipeline is last.
    pub const ALL: [Function; 18] = [
        Function::PingPong,
        Function::PingPing,
        Function::Sendrecv,
        Function::Exchange,
        Function::Collective(Operation::Bcast),
        Function::Collective(Operation::Allgather),
        Function::Collective(Operation::Allgatherv),
        Function::Collective(Operation::Alltoall),
        Function::Collective(Operation::Alltoallv),
        Function::Collective(Operation::Reduce),
        Function::Collective(Operation::ReduceScatter),
        Function::Collective(Operation::Allreduce),
        Function::Collective(Operation::Gather),
        Function::Collective(Operation::Gatherv),
        Function::Collective(Operation::Scatter),
        Function::Collective(Operation::Scatterv),
        Function::Collective(Operation::Barrier),
        Function::Pipeline,
    ];

    /// Its name in files, commands and messages.
    pub fn name(self) -> &'static str {
        match self {
            Function::PingPong => "pingpong",
            Function::PingPing => "pingping",
            Function::Sendrecv => "sendrecv",
            Function::Exchange => "exchange",
            Function::Pipeline => "pipeline",
            Function::Collective(operation) => operation.name(),
        }
    }

    /// The function of a name. Upper case counts as lower case: `PingPong`, `Allreduce`.
    ///
    /// # Errors
    /// A usage fault with the nearest name.
    pub fn from_name(name: &str) -> Result<Self, Fault> {
        let lower = name.to_lowercase();
        Self::ALL.into_iter().find(|function| function.name() == lower).ok_or_else(|| {
            unknown("MPI function", name, Self::ALL.map(Function::name)).of_parameter("function")
        })
    }

    /// Whether it combines numbers: its messages are of `f32`, 4 bytes each.
    pub fn combines(self) -> bool {
        matches!(self, Function::Collective(operation) if operation.combines())
    }

    /// Whether it has messages of different sizes. A barrier has not.
    pub fn has_size(self) -> bool {
        self != Function::Collective(Operation::Barrier)
    }

    /// By how much a call's time is divided: the Intel MPI Benchmarks give half a round trip.
    pub fn parts(self) -> f64 {
        if self == Function::PingPong { 2.0 } else { 1.0 }
    }

    /// How many messages of the given size a rank has sent or received in that time, of which the Intel MPI
    /// Benchmarks compute a rate; `None` where they give none.
    pub fn messages(self) -> Option<f64> {
        match self {
            Function::PingPong | Function::PingPing => Some(1.0),
            Function::Sendrecv => Some(2.0),
            Function::Exchange => Some(4.0),
            Function::Pipeline | Function::Collective(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_name() {
        for function in Function::ALL {
            assert_eq!(Function::from_name(function.name()), Ok(function));
            assert_eq!(Function::from_name(&function.name().to_uppercase()), Ok(function));
        }
        let collectives = Function::ALL.iter().filter(|f| matches!(f, Function::Collective(_)));
        assert_eq!(collectives.count(), Operation::ALL.len(), "no collective is missing");
    }

    #[test]
    fn a_misspelt_function_has_its_nearest_as_remedy() {
        let fault = Function::from_name("alreduce").expect_err("is refused");
        assert!(fault.to_string().contains("allreduce"), "{fault}");
    }
}
