//! BT, the block tridiagonal simulated application (RNR-94-007, section 3.4; NAS-95-020, section 3): the flow of a gas, by
//! an implicit scheme whose systems along lines have blocks of 5 by 5 numbers.

mod block;
mod official;
mod solver;

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::adi::cell::Cell;
use crate::adi::coefficients::Coefficients;
use crate::adi::partition::Partition;
use crate::adi::residual::{self, Step};
use crate::adi::step::{Run, Scheme};
use crate::adi::sweep::Sweeper;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use official::problem;
use solver::Blocks;

/// The kernel.
pub(crate) const KERNEL: Kernel =
    Kernel { name: "bt", ranks: Ranks::Square, operations, memory: |class| problem(class).memory(), run };

/// Operations, by the formula of the reference.
fn operations(class: Class) -> f64 {
    let problem = problem(class);
    let n = problem.points as f64;
    problem.steps as f64 * (3478.8 * n.powi(3) - 17655.7 * n.powi(2) + 28023.7 * n)
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let run = Run::new(problem(class), rank)?;
    let mut scheme = BlockTridiagonal {
        solver: Blocks::new(run.along, run.problem.points / run.partition.layers + 1),
        sweeper: Sweeper::default(),
    };
    run.carry_out(&mut scheme, rank)
}

struct BlockTridiagonal {
    solver: Blocks,
    sweeper: Sweeper<{ solver::NUMBERS }, 1>,
}

impl Scheme for BlockTridiagonal {
    fn prepare(&self, cell: &mut Cell, along: &[Coefficients; 3]) {
        residual::compute::<false>(cell, along, &Step(along[0].step));
    }

    fn sweep(&mut self, rank: &mut Rank, partition: &Partition, cells: &mut [Cell]) -> Result<(), Fault> {
        for direction in 0..3 {
            self.sweeper.sweep(&mut self.solver, rank, partition, cells, direction)?;
        }
        Ok(())
    }
}
