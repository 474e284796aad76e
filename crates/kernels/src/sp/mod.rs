//! SP, the scalar pentadiagonal simulated application (RNR-94-007, section 3.4; NAS-95-020, section 3): the flow of a gas, by
//! an implicit scheme that takes what changes apart into waves. So each of the five numbers of a point has a system of its
//! own along a line, with two neighbours on each side.

mod official;
mod solver;
mod waves;

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::adi::cell::{Cell, DERIVED};
use crate::adi::coefficients::Coefficients;
use crate::adi::field::Pack;
use crate::adi::partition::Partition;
use crate::adi::residual::{self, Finish, Step};
use crate::adi::step::{Run, Scheme};
use crate::adi::sweep::Sweeper;
use crate::class::Class;
use crate::flow::VALUES;
use crate::kernel::{Kernel, Ranks, Timed};
use official::problem;
use solver::Waves;

/// The kernel.
pub(crate) const KERNEL: Kernel =
    Kernel { name: "sp", ranks: Ranks::Square, operations, memory: |class| problem(class).memory(), run };

/// Operations, by the formula of the reference.
fn operations(class: Class) -> f64 {
    let problem = problem(class);
    let n = problem.points as f64;
    problem.steps as f64 * (881.174 * n.powi(3) - 4683.91 * n.powi(2) + 11484.5 * n - 19272.4)
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let run = Run::new(problem(class), rank)?;
    let mut scheme = ScalarPentadiagonal { solver: Waves::new(run.along), sweeper: Sweeper::default() };
    run.carry_out(&mut scheme, rank)
}

struct ScalarPentadiagonal {
    solver: Waves,
    sweeper: Sweeper<{ solver::NUMBERS }, { solver::NEIGHBOURS }>,
}

impl Scheme for ScalarPentadiagonal {
    fn prepare(&self, cell: &mut Cell, along: &[Coefficients; 3]) {
        residual::compute::<true>(cell, along, &FirstWaves(Step(along[0].step)));
    }

    fn sweep(&mut self, rank: &mut Rank, partition: &Partition, cells: &mut [Cell]) -> Result<(), Fault> {
        for direction in 0..3 {
            self.sweeper.sweep(&mut self.solver, rank, partition, cells, direction)?;
        }
        Ok(())
    }
}

/// Takes what changes in a step apart into waves along the first direction.
struct FirstWaves(Step);

impl Finish for FirstWaves {
    #[inline(always)]
    fn finish(&self, derived: [&Pack; DERIVED], change: &mut [Pack; VALUES]) {
        self.0.finish(derived, change);
        waves::first(derived, change);
    }
}
