//! What a kernel is.

use crosstalk_comm::{Rank, TimeAccount, Traffic};
use crosstalk_core::Fault;

use crate::check::Check;
use crate::class::Class;

/// On how many ranks a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// On any number.
    Any,
    /// On 1, 2, 4, 8 …
    PowerOfTwo,
    /// On 1, 4, 9, 16 …
    Square,
}

impl Ranks {
    /// A usage fault where a kernel does not run on so many.
    fn check(self, kernel: &str, ranks: usize) -> Result<(), Fault> {
        let (fits, which) = match self {
            Ranks::Any => (true, ""),
            Ranks::PowerOfTwo => (ranks.is_power_of_two(), "1, 2, 4, 8 … ranks"),
            Ranks::Square => (ranks.isqrt().pow(2) == ranks, "1, 4, 9, 16 … ranks"),
        };
        if fits {
            return Ok(());
        }
        Err(Fault::usage(format!("`{kernel}` runs on {which}, found {ranks}"))
            .of_parameter("nodes")
            .remedy("change `nodes`, or the condition `ranks`"))
    }
}

/// A kernel of the benchmarks.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// Its name, as the reports have it.
    pub name: &'static str,
    /// On how many ranks it runs.
    pub ranks: Ranks,
    /// The operations that it counts, of all ranks together: mostly floating-point ones, by the reports' formulas.
    pub operations: fn(Class) -> f64,
    /// Bytes that all ranks hold together.
    pub memory: fn(Class) -> f64,
    /// What a rank does: what comes before the timed part, [`Rank::restart_clock`], the timed part, and [`Timed::end`].
    pub run: fn(Class, &mut Rank) -> Result<Timed, Fault>,
}

/// What a rank has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// Where the time of the timed part went.
    pub account: TimeAccount,
    /// What it has sent in it.
    pub traffic: Traffic,
    /// Results beside the official ones; the first rank has all.
    pub checks: Vec<Check>,
}

impl Timed {
    /// Ends the timed part. Checks follow.
    ///
    /// # Errors
    /// If other ranks are gone.
    #[track_caller]
    pub(crate) fn end(rank: &mut Rank) -> Result<Self, Fault> {
        let traffic = rank.traffic().clone();
        Ok(Timed { account: rank.account()?, traffic, checks: Vec::new() })
    }

    pub(crate) fn with(self, checks: Vec<Check>) -> Self {
        Timed { checks, ..self }
    }
}

impl Kernel {
    /// A usage fault where it does not run on so many ranks.
    ///
    /// # Errors
    /// As said.
    pub fn check_ranks(&self, ranks: usize) -> Result<(), Fault> {
        self.ranks.check(self.name, ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_are_refused_with_those_that_fit() {
        let fits = |rule: Ranks| (1..=16).filter(|ranks| rule.check("k", *ranks).is_ok()).collect::<Vec<_>>();
        assert_eq!(fits(Ranks::PowerOfTwo), [1, 2, 4, 8, 16]);
        assert_eq!(fits(Ranks::Square), [1, 4, 9, 16]);
        let refused = Ranks::Square.check("bt", 2).expect_err("is refused").to_string();
        assert!(refused.contains("`bt` runs on 1, 4, 9, 16 … ranks, found 2"), "{refused}");
    }
}
