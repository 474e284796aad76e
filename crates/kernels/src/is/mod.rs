//! IS, "integer sort" (RNR-94-007, section 2.2.5): the rank of each of many small integers, which is its index among them
//! in order. It computes with integers alone, reads and writes memory at random, and sends every key from rank to rank.
//!
//! In an iteration (NAS-95-020, on IS) a rank counts its keys by bucket. The counts of all ranks together divide the
//! buckets into a range for each rank, with about the same number of keys. Each key is sent to the rank of its bucket, which
//! counts how many keys there are up to each value. Two keys change from one iteration to the next.

mod keys;
mod problem;
mod sorter;
mod verify;

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use crate::check::Check;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use problem::{ITERATIONS, Problem};
use sorter::Sorter;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "is",
    ranks: Ranks::PowerOfTwo,
    operations: |class| (ITERATIONS << Problem::of(class).keys) as f64,
    memory: |class| {
        let Problem { keys, largest, .. } = Problem::of(class);
        (4u64 * ((3 << keys) + (1 << largest))) as f64
    },
    run,
};

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let problem = Problem::of(class);
    problem.check_ranks(rank.size())?;
    let test = verify::TestKeys::of(class);
    let mut sorter = Sorter::new(problem, rank, test.indices);
    // Before time counts, as in the reports: functions and memory are touched once.
    sorter.iterate(1, rank)?;
    rank.restart_clock()?;
    let mut ranked = 0;
    for iteration in 1..=ITERATIONS {
        sorter.iterate(iteration, rank)?;
        ranked += test.count_ranked(iteration, &sorter);
    }
    let timed = Timed::end(rank)?;
    let sorted = verify::Sorted::of(&sorter, rank)?;
    let mut counts = [ranked as i64, sorted.keys, sorted.out_of_order];
    rank.world().allreduce(&mut counts, ReduceOp::Sum)?;
    let [ranked, keys, out_of_order] = counts.map(|count| count as f64);
    Ok(timed.with(vec![
        Check::new("the number of test keys with their ranks", ranked, test.count() as f64, 0.0),
        Check::new("the number of keys after the last iteration", keys, (1u64 << problem.keys) as f64, 0.0),
        Check::new("the number of keys out of order", out_of_order, 0.0, 0.0),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_keys_that_change() {
        let fits = |class: Class, ranks: usize| Problem::of(class).check_ranks(ranks).is_ok();
        assert!(fits(Class::S, 1024) && fits(Class::W, 4096));
        assert!(!fits(Class::S, 2048));
        // Keys up to twice the number of iterations change, at the first rank.
        assert!((1 << Problem::of(Class::S).keys) / 1024 > 2 * ITERATIONS);
    }
}
