//! CG, "conjugate gradient" (RNR-94-007, section 2.2.3): the smallest eigenvalue of a large sparse matrix, by the inverse
//! power method. Each of its iterations solves a system with 25 steps of the conjugate gradient method. Memory at random
//! limits what a rank computes; between ranks there are long messages, and many short ones that all wait for.

mod generate;
mod grid;
mod matrix;
mod solver;
mod vector;

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::check::Check;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use grid::Grid;
use solver::Solver;

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel { name: "cg", ranks: Ranks::PowerOfTwo, operations, memory, run };

/// How far zeta may be from the official one.
const TOLERANCE: f64 = 1e-10;

/// The size of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Problem {
    /// Rows of the matrix.
    order: usize,
    /// Elements of the random vectors that it is made of.
    nonzeros: usize,
    /// Timed iterations of the power method.
    iterations: usize,
    /// What is subtracted on the diagonal.
    shift: f64,
    /// The official eigenvalue, with the shift.
    zeta: f64,
}

impl Problem {
    /// That of a class.
    fn of(class: Class) -> Self {
        let (order, nonzeros, iterations, shift, zeta) = class.of([
            (1_400, 7, 15, 10.0, 8.597_177_507_864_8),
            (7_000, 8, 15, 12.0, 10.362_595_087_124),
            (14_000, 11, 15, 20.0, 17.130_235_054_029),
            (75_000, 13, 75, 60.0, 22.712_745_482_631),
            (150_000, 15, 75, 110.0, 28.973_605_592_845),
        ]);
        Problem { order, nonzeros, iterations, shift, zeta }
    }

    /// The elements of the matrix, about: products of random vectors with themselves hardly overlap.
    fn elements(self) -> f64 {
        (self.order * (self.nonzeros + 1) * (self.nonzeros + 1)) as f64
    }
}

/// Two for each element in each of the 25 steps and in the residual, and those of vectors, as the reference counts them.
fn operations(class: Class) -> f64 {
    let Problem { order, nonzeros, iterations, .. } = Problem::of(class);
    let elements = (nonzeros * (nonzeros + 1)) as f64;
    2.0 * (iterations * order) as f64 * (3.0 + elements + 25.0 * (5.0 + elements) + 3.0)
}

/// The matrix, with ten bytes for an element, and five vectors.
fn memory(class: Class) -> f64 {
    let problem = Problem::of(class);
    10.0 * problem.elements() + (5 * size_of::<f64>() * problem.order) as f64
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let problem = Problem::of(class);
    let grid = Grid::new(problem.order, rank.id(), rank.size());
    let matrix = generate::make_matrix(problem.order, problem.nonzeros, problem.shift, &grid);
    let mut solver = Solver::new(grid, matrix);
    // Before time counts, as in the reports: functions and memory are touched once.
    solver.iterate(rank)?;
    solver.restart();
    rank.restart_clock()?;
    let mut product = 0.0;
    for _ in 0..problem.iterations {
        (product, _) = solver.iterate(rank)?;
    }
    let timed = Timed::end(rank)?;
    let zeta = problem.shift + 1.0 / product;
    Ok(timed.with(vec![Check::new("zeta", zeta, problem.zeta, TOLERANCE)]))
}
