//! The steps of each algorithm.

use crosstalk_core::mpi::{Algorithm, Operation};

use super::round::{Position, Round};
use super::{doubling, exchange, rabenseifner, ring, tree};

/// A round of one rank, from its position and the round's number; `None` after the last.
type RoundOf = fn(Position, usize) -> Option<Round>;

/// What computes the rounds of `operation` by `algorithm`; `None`: it cannot.
fn rounds(operation: Operation, algorithm: Algorithm) -> Option<RoundOf> {
    use Operation as O;
    Some(match (operation, algorithm) {
        (O::Barrier, Algorithm::Dissemination) => exchange::barrier,
        (O::Bcast, Algorithm::Binomial) => tree::bcast,
        (O::Bcast, Algorithm::ScatterRing) => ring::bcast,
        (O::Bcast, Algorithm::ScatterDoubling) => doubling::bcast,
        (O::Reduce, Algorithm::Binomial) => tree::reduce,
        (O::Reduce, Algorithm::Rabenseifner) => rabenseifner::reduce,
        (O::Allreduce, Algorithm::RecursiveDoubling) => doubling::allreduce,
        (O::Allreduce, Algorithm::Ring) => ring::allreduce,
        (O::Allreduce, Algorithm::Rabenseifner) => rabenseifner::allreduce,
        (O::ReduceScatter, Algorithm::RecursiveHalving) => rabenseifner::reduce_scatter,
        (O::ReduceScatter, Algorithm::Pairwise) => exchange::reduce_scatter,
        (O::Gather, Algorithm::Binomial) => tree::gather,
        (O::Gather | O::Gatherv, Algorithm::Linear) => exchange::gather,
        (O::Scatter, Algorithm::Binomial) => tree::scatter,
        (O::Scatter | O::Scatterv, Algorithm::Linear) => exchange::scatter,
        (O::Allgather | O::Allgatherv, Algorithm::Ring) => ring::allgather,
        (O::Allgather, Algorithm::RecursiveDoubling) => doubling::allgather,
        (O::Allgather, Algorithm::Bruck) => doubling::allgather_bruck,
        (O::Alltoall | O::Alltoallv, Algorithm::Linear) => exchange::alltoall,
        (O::Alltoall | O::Alltoallv, Algorithm::Pairwise) => exchange::alltoall_pairwise,
        (O::Alltoall, Algorithm::Bruck) => exchange::alltoall_bruck,
        _ => return None,
    })
}

/// Whether `algorithm` can carry out `operation` among `size` ranks.
pub fn fits(operation: Operation, algorithm: Algorithm, size: usize) -> bool {
    let needs_power = matches!(
        (operation, algorithm),
        (_, Algorithm::ScatterDoubling) | (Operation::Allgather, Algorithm::RecursiveDoubling)
    );
    rounds(operation, algorithm).is_some() && (size.is_power_of_two() || !needs_power)
}

/// Into how many pieces `algorithm` cuts a vector: for bcast, reduce, allreduce and reduce-scatter.
pub fn piece_count(operation: Operation, algorithm: Algorithm, size: usize) -> usize {
    match (operation, algorithm) {
        (Operation::Reduce | Operation::Allreduce, Algorithm::Rabenseifner) => 1 << size.ilog2(),
        (Operation::ReduceScatter, _) => size,
        (_, Algorithm::Ring | Algorithm::ScatterRing | Algorithm::ScatterDoubling) => size,
        _ => 1,
    }
}

/// The rounds of one rank in a collective.
#[derive(Debug, Clone)]
pub struct Steps {
    round: RoundOf,
    position: Position,
    next: usize,
}

impl Steps {
    /// The rounds at `position`; `None` where the algorithm does not fit ([`fits`]).
    pub fn new(operation: Operation, algorithm: Algorithm, position: Position) -> Option<Self> {
        let round = rounds(operation, algorithm)?;
        fits(operation, algorithm, position.size).then_some(Steps { round, position, next: 0 })
    }
}

impl Iterator for Steps {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        if self.position.size == 1 {
            return None;
        }
        let round = (self.round)(self.position, self.next)?;
        self.next += 1;
        Some(round)
    }
}
