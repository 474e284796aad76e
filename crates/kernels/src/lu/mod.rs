//! LU, a simulated application (RNR-94-007, section 3): the steady flow of a compressible gas in a cube, by symmetric
//! successive over-relaxation. Each iteration solves a lower and an upper block triangular system, in sweeps that
//! run through the ranks as a pipeline: a plane after another, with a small message at each plane's edges.
//!
//! | file | holds |
//! |---|---|
//! | `official` | sizes and results |
//! | `pencil` | how the cube is divided |
//! | `field` | five values at each point |
//! | `exchange` | messages |
//! | `residual`, `row` | the explicit side |
//! | `implicit`, `sweep` | the implicit side |
//! | `solver` | the iteration |
//! | `results` | what is verified |

mod exchange;
mod field;
mod implicit;
mod official;
mod pencil;
mod residual;
mod results;
mod row;
mod solver;
mod sweep;

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::check::Check;
use crate::class::Class;
use crate::flow::VALUES;
use crate::flow::norms::{TOLERANCE, compare};
use crate::kernel::{Kernel, Ranks, Timed};
use official::Problem;
use solver::Solver;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "lu",
    ranks: Ranks::PowerOfTwo,
    operations: |class| Problem::of(class).operations(),
    // The state, the residual and the forcing.
    memory: |class| (3 * VALUES * 8 * Problem::of(class).points.pow(3)) as f64,
    run,
};

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let problem = Problem::of(class);
    let mut solver = Solver::new(problem, rank)?;
    // Before time counts, as in the reports: one iteration, which touches all code and memory.
    solver.start(rank)?;
    solver.iterate(rank)?;
    solver.start(rank)?;
    rank.restart_clock()?;
    for _ in 1..problem.iterations {
        solver.iterate(rank)?;
    }
    let residual = solver.last_iteration(rank)?;
    let timed = Timed::end(rank)?;
    let error = solver.error(rank)?;
    let surface = solver.surface(rank)?;
    let official = official::results(class);
    let mut checks = compare("the residual", residual, official.residual);
    checks.extend(compare("the error", error, official.error));
    checks.push(Check::new("the surface integral", surface, official.surface, TOLERANCE));
    Ok(timed.with(checks))
}
