//! A message-passing library as an emulation knows it: what it adds to a fabric's costs, from which size on
//! a sender waits for its receiver, and by which algorithms it carries out collectives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::fabric::Source;
use crate::units::{Bytes, Seconds};

/// A collective operation, as MPI defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Nobody leaves before all have come.
    Barrier,
    /// All get the root's data.
    Bcast,
    /// The root gets the combination of all.
    Reduce,
    /// All get the combination of all.
    Allreduce,
    /// Each gets its part of the combination of all.
    ReduceScatter,
    /// The root gets everybody's piece, all of one size.
    Gather,
    /// The same with pieces of any size.
    Gatherv,
    /// Each gets its piece from the root, all of one size.
    Scatter,
    /// The same with pieces of any size.
    Scatterv,
    /// All get everybody's piece, all of one size.
    Allgather,
    /// The same with pieces of any size.
    Allgatherv,
    /// Each sends a piece to each, all of one size.
    Alltoall,
    /// The same with pieces of any size.
    Alltoallv,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 13] = [
        Operation::Barrier,
        Operation::Bcast,
        Operation::Reduce,
        Operation::Allreduce,
        Operation::ReduceScatter,
        Operation::Gather,
        Operation::Gatherv,
        Operation::Scatter,
        Operation::Scatterv,
        Operation::Allgather,
        Operation::Allgatherv,
        Operation::Alltoall,
        Operation::Alltoallv,
    ];

    /// Its name in files, commands and messages.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::Bcast => "bcast",
            Operation::Reduce => "reduce",
            Operation::Allreduce => "allreduce",
            Operation::ReduceScatter => "reduce_scatter",
            Operation::Gather => "gather",
            Operation::Gatherv => "gatherv",
            Operation::Scatter => "scatter",
            Operation::Scatterv => "scatterv",
            Operation::Allgather => "allgather",
            Operation::Allgatherv => "allgatherv",
            Operation::Alltoall => "alltoall",
            Operation::Alltoallv => "alltoallv",
        }
    }

    /// Whether it has a root.
    pub fn has_root(self) -> bool {
        use Operation::{Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
        matches!(self, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv)
    }

    /// Whether it combines data.
    pub fn combines(self) -> bool {
        matches!(self, Operation::Reduce | Operation::Allreduce | Operation::ReduceScatter)
    }

    /// The algorithms that can carry it out.
    pub fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm as A;
        match self {
            Operation::Barrier => &[A::Dissemination],
            Operation::Bcast => &[A::Binomial, A::ScatterRing, A::ScatterDoubling],
            Operation::Reduce => &[A::Binomial, A::Rabenseifner],
            Operation::Allreduce => &[A::RecursiveDoubling, A::Rabenseifner, A::Ring],
            Operation::ReduceScatter => &[A::RecursiveHalving, A::Pairwise],
            Operation::Gather | Operation::Scatter => &[A::Binomial, A::Linear],
            Operation::Gatherv | Operation::Scatterv => &[A::Linear],
            Operation::Allgather => &[A::Ring, A::RecursiveDoubling, A::Bruck],
            Operation::Allgatherv => &[A::Ring],
            Operation::Alltoall => &[A::Linear, A::Pairwise, A::Bruck],
            Operation::Alltoallv => &[A::Linear, A::Pairwise],
        }
    }

    /// Whether `algorithm` can carry it out among a power of two of ranks only.
    pub fn needs_power_of_two(self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::ScatterDoubling => true,
            Algorithm::RecursiveDoubling => self == Operation::Allgather,
            _ => false,
        }
    }

    /// Whether pieces may differ in size, which only their owners know.
    pub fn has_any_sizes(self) -> bool {
        use Operation::{Allgatherv, Alltoallv, Gatherv, Scatterv};
        matches!(self, Gatherv | Scatterv | Allgatherv | Alltoallv)
    }
}

/// How a collective is carried out. The names are those of R. Thakur, R. Rabenseifner and W. Gropp,
/// "Optimization of collective communication operations in MPICH" (IJHPCA 19(1), 2005). Dissemination is by
/// D. Hensgen, R. Finkel and U. Manber (IJPP 17(1), 1988), Bruck's algorithms by J. Bruck et al. (IEEE TPDS
/// 8(11), 1997).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// In round k, each waits for the rank 2^k to its left.
    Dissemination,
    /// A binomial tree.
    Binomial,
    /// All at once: the root, or each rank, exchanges one message with every other.
    Linear,
    /// In round k, ranks whose numbers differ in bit k exchange all that they have.
    RecursiveDoubling,
    /// In each round, ranks exchange half of what is left to combine.
    RecursiveHalving,
    /// Recursive halving, then recursive doubling (allreduce) or a binomial tree (reduce).
    Rabenseifner,
    /// Pieces go round from each rank to its right neighbour.
    Ring,
    /// log₂ n rounds for any number of ranks; pieces travel several times.
    Bruck,
    /// In round k, each sends to the rank k to its right.
    Pairwise,
    /// A binomial scatter, then a ring.
    ScatterRing,
    /// A binomial scatter, then recursive doubling.
    ScatterDoubling,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 11] = [
        Algorithm::Dissemination,
        Algorithm::Binomial,
        Algorithm::Linear,
        Algorithm::RecursiveDoubling,
        Algorithm::RecursiveHalving,
        Algorithm::Rabenseifner,
        Algorithm::Ring,
        Algorithm::Bruck,
        Algorithm::Pairwise,
        Algorithm::ScatterRing,
        Algorithm::ScatterDoubling,
    ];

    /// Its name in files, commands and messages.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Dissemination => "dissemination",
            Algorithm::Binomial => "binomial",
            Algorithm::Linear => "linear",
            Algorithm::RecursiveDoubling => "recursive-doubling",
            Algorithm::RecursiveHalving => "recursive-halving",
            Algorithm::Rabenseifner => "rabenseifner",
            Algorithm::Ring => "ring",
            Algorithm::Bruck => "bruck",
            Algorithm::Pairwise => "pairwise",
            Algorithm::ScatterRing => "scatter-ring",
            Algorithm::ScatterDoubling => "scatter-doubling",
        }
    }
}

/// The algorithm of an operation, up to a size and from a number of ranks on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The operation.
    pub operation: Operation,
    /// The largest vector, or the largest piece where each rank has one, in bytes. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Bytes>,
    /// The most bytes of all ranks' pieces together. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_in_all: Option<Bytes>,
    /// The fewest ranks. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ranks: Option<u32>,
    /// The algorithm.
    pub algorithm: Algorithm,
}

/// A message-passing library: one file of `mpi/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mpi {
    /// The name studies use; the file's name without `.toml`.
    #[serde(default)]
    pub name: String,
    /// A line for people.
    pub title: String,
    /// S: the longest message for which a sender does not wait for its receiver. Default: no message waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<Bytes>,
    /// CPU time that it adds to each message, on each side.
    #[serde(default)]
    pub overhead: Seconds,
    /// CPU time a byte that it adds to messages up to the eager limit, on each side: it copies them.
    #[serde(default)]
    pub eager_copy: Seconds,
    /// Time that it adds to a message above the eager limit before its data leave: it registers the memory.
    #[serde(default)]
    pub rendezvous: Seconds,
    /// Which algorithms it uses: of the lines that fit, the first one counts. Operations without a fitting
    /// line are carried out as MPICH did in 2005.
    #[serde(default, rename = "collective", skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<Choice>,
    /// Parameter (`eager_limit`, `overhead`, `eager_copy`, `rendezvous`, `collective`) → where it comes from.
    pub source: BTreeMap<String, Source>,
    /// Properties of this library that the emulation does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_libraries_are_read_and_every_number_has_a_source() {
        let texts = [
            include_str!("../../../mpi/mpich-1.2.6.toml"),
            include_str!("../../../mpi/mpich-gm-1.2.6.toml"),
            include_str!("../../../mpi/mvapich-0.9.4.toml"),
        ];
        for text in texts {
            let mpi: Mpi = toml::from_str(text).unwrap_or_else(|e| panic!("{e}"));
            for number in ["eager_limit", "overhead", "eager_copy", "rendezvous", "collective"] {
                assert!(mpi.source.contains_key(number), "{}: {number} has no source", mpi.title);
            }
            assert!(mpi.eager_limit > Some(Bytes(1024)) && !mpi.collectives.is_empty());
        }
    }

    #[test]
    fn names_are_those_of_files() {
        for operation in Operation::ALL {
            let name = toml::Value::try_from(operation).expect("is a word");
            assert_eq!(name.as_str(), Some(operation.name()));
        }
        for algorithm in Algorithm::ALL {
            let name = toml::Value::try_from(algorithm).expect("is a word");
            assert_eq!(name.as_str(), Some(algorithm.name()));
        }
    }
}
