//! Sizes of problems.

use crosstalk_core::Fault;

use crate::class::Class;

/// How many keys have official ranks.
pub(super) const TESTED: usize = 5;
/// Timed iterations.
pub(super) const ITERATIONS: usize = 10;

/// The size of a problem. All are powers of two, by exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Problem {
    /// Keys of all ranks together.
    pub(super) keys: u32,
    /// All keys are below.
    pub(super) largest: u32,
    /// Buckets.
    pub(super) buckets: u32,
}

impl Problem {
    /// That of a class.
    pub(super) fn of(class: Class) -> Self {
        let keys = class.of([16, 20, 23, 25, 27]);
        let largest = class.of([11, 16, 19, 21, 23]);
        let buckets = class.of([9, 10, 10, 10, 10]);
        Problem { keys, largest, buckets }
    }

    /// A usage fault if a rank would have fewer keys than change in the iterations.
    pub(super) fn check_ranks(self, ranks: usize) -> Result<(), Fault> {
        let most = (1usize << self.keys) / (4 * ITERATIONS);
        let most = 1 << most.ilog2();
        if ranks <= most {
            return Ok(());
        }
        Err(Fault::usage(format!("`is` of this class runs on at most {most} ranks, found {ranks}"))
            .of_parameter("nodes")
            .remedy("choose a larger class"))
    }
}
