//! Which algorithm carries out an operation. Without a library's own choice it is MPICH's of 2005 (Thakur,
//! Rabenseifner and Gropp, IJHPCA 19(1), sections 4 to 9).

use crosstalk_core::mpi::{Algorithm, Choice, Operation};
use crosstalk_core::units::Bytes;

use super::algorithm::fits;
use crate::network::Sizes;

const KIB: u64 = 1 << 10;

/// Lines in the order in which they are tried. `own` come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices(Vec<Choice>);

impl Default for Choices {
    fn default() -> Self {
        Choices::new(&[])
    }
}

impl Choices {
    /// A library's `own` lines before the defaults.
    pub fn new(own: &[Choice]) -> Self {
        Choices(own.iter().cloned().chain(defaults()).collect())
    }

    /// The algorithm for an operation on pieces of these sizes. A vector of a length that only the root of a broadcast
    /// knows is not cut.
    pub fn find_for(&self, operation: Operation, size: usize, sizes: &Sizes) -> Algorithm {
        match sizes {
            Sizes::Vector { elements, width } => {
                self.find(operation, size, elements.saturating_mul(u64::from(*width)))
            }
            Sizes::Equal(bytes) => self.find(operation, size, *bytes),
            Sizes::Own(_) if operation == Operation::Bcast => Algorithm::Binomial,
            Sizes::Own(_) | Sizes::Each(_) => self.find(operation, size, 0),
        }
    }

    /// The algorithm for `operation` among `size` ranks. `bytes` are those of the vector (bcast, reduce,
    /// allreduce, reduce-scatter) or of a rank's piece; where pieces differ in size, zero.
    pub fn find(&self, operation: Operation, size: usize, bytes: u64) -> Algorithm {
        let fitting = self.0.iter().find(|choice| {
            let within = |limit: Option<Bytes>, bytes: u64| limit.is_none_or(|limit| bytes <= limit.0);
            choice.operation == operation
                && within(choice.up_to, bytes)
                && within(choice.up_to_in_all, bytes.saturating_mul(size as u64))
                && choice.from_ranks.is_none_or(|from| size >= from as usize)
                && fits(operation, choice.algorithm, size)
        });
        fitting.expect("the last default of each operation fits always").algorithm
    }
}

/// MPICH's choice of 2005. A limit is the largest size, where the paper names the first that is too large.
fn defaults() -> Vec<Choice> {
    use Algorithm as A;
    use Operation as O;
    let line = |operation, algorithm| Choice {
        operation,
        up_to: None,
        up_to_in_all: None,
        from_ranks: None,
        algorithm,
    };
    let up_to = |bytes, choice| Choice { up_to: Some(Bytes(bytes)), ..choice };
    let in_all = |bytes, choice| Choice { up_to_in_all: Some(Bytes(bytes)), ..choice };
    let from_8 = |choice| Choice { from_ranks: Some(8), ..choice };
    vec![
        line(O::Barrier, A::Dissemination),
        up_to(12 * KIB - 1, line(O::Bcast, A::Binomial)),
        from_8(up_to(512 * KIB - 1, line(O::Bcast, A::ScatterDoubling))),
        from_8(line(O::Bcast, A::ScatterRing)),
        line(O::Bcast, A::Binomial),
        up_to(2 * KIB, line(O::Reduce, A::Binomial)),
        line(O::Reduce, A::Rabenseifner),
        up_to(2 * KIB, line(O::Allreduce, A::RecursiveDoubling)),
        line(O::Allreduce, A::Rabenseifner),
        up_to(512 * KIB - 1, line(O::ReduceScatter, A::RecursiveHalving)),
        line(O::ReduceScatter, A::Pairwise),
        line(O::Gather, A::Binomial),
        line(O::Gatherv, A::Linear),
        line(O::Scatter, A::Binomial),
        line(O::Scatterv, A::Linear),
        in_all(512 * KIB - 1, line(O::Allgather, A::RecursiveDoubling)),
        in_all(80 * KIB - 1, line(O::Allgather, A::Bruck)),
        line(O::Allgather, A::Ring),
        line(O::Allgatherv, A::Ring),
        from_8(up_to(256, line(O::Alltoall, A::Bruck))),
        up_to(32 * KIB, line(O::Alltoall, A::Linear)),
        line(O::Alltoall, A::Pairwise),
        line(O::Alltoallv, A::Linear),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_an_algorithm_at_every_size() {
        let choices = Choices::default();
        for operation in Operation::ALL {
            for size in 1..=33 {
                for bytes in [0, 1, 256, 257, 2048, 2049, 12 * KIB, 80 * KIB, 512 * KIB, 1 << 30] {
                    let algorithm = choices.find(operation, size, bytes);
                    assert!(fits(operation, algorithm, size), "{operation:?} {algorithm:?} {size}");
                }
            }
        }
    }

    #[test]
    fn a_librarys_own_lines_come_first_where_they_fit() {
        let own = Choice {
            operation: Operation::Allgather,
            up_to: Some(Bytes(64)),
            up_to_in_all: None,
            from_ranks: None,
            algorithm: Algorithm::RecursiveDoubling,
        };
        let linear = Choice { operation: Operation::Allgather, algorithm: Algorithm::Ring, ..own.clone() };
        let choices = Choices::new(&[own, linear]);
        let found = |size, bytes| choices.find(Operation::Allgather, size, bytes);
        assert_eq!(found(8, 64), Algorithm::RecursiveDoubling);
        assert_eq!(found(7, 64), Algorithm::Ring);
        assert_eq!(found(7, 65), Algorithm::Bruck);
    }
}
