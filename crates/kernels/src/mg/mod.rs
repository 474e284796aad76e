//! MG, multigrid (RNR-94-007, section 2.2, kernel MG): V-cycles for the discrete Poisson problem ∇²u = v on a cube
//! with periodic boundaries. The messages are faces of ever smaller boxes: long ones and short ones, near and, on the
//! coarsest levels, far.

mod charges;
mod exchange;
mod grid;
mod level;
mod stencil;
#[cfg(test)]
mod tests;
mod transfer;

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;
use crosstalk_host::vector::run_widest;

use crate::check::Check;
use crate::class::Class;
use crate::kernel::{Kernel, Ranks, Timed};
use exchange::Exchange;
use grid::Grid;
use level::{Level, levels};
use stencil::{AddCubes, RESIDUAL, Rows, Weights, norms};
use transfer::{Prolong, Restrict};

/// The kernel.
pub(crate) const KERNEL: Kernel = Kernel {
    name: "mg",
    ranks: Ranks::PowerOfTwo,
    operations: |class| 58.0 * iterations(class) as f64 * (edge(class) as f64).powi(3),
    // u and r on all levels, which add up to 8/7 of the finest, and v.
    memory: |class| 8.0 * (1.0 + 16.0 / 7.0) * (edge(class) as f64 + 2.0).powi(3),
    run,
};

/// How far the norm may be from the official one.
const TOLERANCE: f64 = 1e-8;

/// The finest level has two to the power of this of points along each axis.
fn depth(class: Class) -> usize {
    class.of([5, 7, 8, 8, 9])
}

fn edge(class: Class) -> usize {
    1 << depth(class)
}

fn iterations(class: Class) -> usize {
    class.of([4, 4, 4, 20, 20])
}

/// The weights of S.
fn smoother(class: Class) -> Weights {
    match class {
        Class::S | Class::W | Class::A => [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0],
        Class::B | Class::C => [-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0],
    }
}

/// The official norm of the last residual.
fn norm(class: Class) -> f64 {
    class.of([
        0.530_770_700_573_4e-4,
        0.646_732_937_533_9e-5,
        0.243_336_530_906_9e-5,
        0.180_056_440_135_5e-5,
        0.570_673_228_574_0e-6,
    ])
}

/// A rank's part of all levels, from coarse to fine.
struct Multigrid {
    levels: Vec<Level>,
    /// The solution u on the finest level, and its corrections on the others.
    solutions: Vec<Grid>,
    residuals: Vec<Grid>,
    /// The right-hand side v.
    charges: Grid,
    smoother: Weights,
    exchange: Exchange,
    rows: Rows,
}

impl Multigrid {
    fn new(class: Class, rank: &mut Rank) -> Result<Self, Fault> {
        let levels = levels(depth(class), rank.id(), rank.size());
        let finest = &levels[levels.len() - 1];
        let mut exchange = Exchange::default();
        let mut charges = charges::charges(rank, edge(class), finest.extents)?;
        exchange.ghosts(rank, finest, &mut charges)?;
        let zeros = || levels.iter().map(|level| Grid::zeros(level.extents)).collect();
        Ok(Multigrid {
            solutions: zeros(),
            residuals: zeros(),
            charges,
            smoother: smoother(class),
            exchange,
            rows: Rows::new(finest.extents[0]),
            levels,
        })
    }

    fn finest(&self) -> usize {
        self.levels.len() - 1
    }

    /// The residual of a level, r = v − A u: on the finest level of v, on the others of the residual that came from the
    /// finer one.
    fn residual(&mut self, rank: &mut Rank, at: usize) -> Result<(), Fault> {
        run_widest(AddCubes {
            weights: RESIDUAL,
            of: &self.solutions[at],
            base: (at == self.finest()).then_some(&self.charges),
            out: &mut self.residuals[at],
            rows: &mut self.rows,
        });
        self.exchange.ghosts(rank, &self.levels[at], &mut self.residuals[at])
    }

    /// Smooths a level: u = u + S r.
    fn smooth(&mut self, rank: &mut Rank, at: usize) -> Result<(), Fault> {
        run_widest(AddCubes {
            weights: self.smoother,
            of: &self.residuals[at],
            base: None,
            out: &mut self.solutions[at],
            rows: &mut self.rows,
        });
        self.exchange.ghosts(rank, &self.levels[at], &mut self.solutions[at])
    }

    /// From a level's residual to that of the next coarser one.
    fn restrict(&mut self, rank: &mut Rank, from: usize) -> Result<(), Fault> {
        let (coarse, fine) = self.residuals.split_at_mut(from);
        run_widest(Restrict { fine: &fine[0], coarse: &mut coarse[from - 1], rows: &mut self.rows });
        self.exchange.ghosts(rank, &self.levels[from - 1], &mut coarse[from - 1])
    }

    /// From the next coarser solution to this level's: the finest is corrected, others begin with it.
    fn prolong(&mut self, rank: &mut Rank, to: usize) -> Result<(), Fault> {
        let is_finest = to == self.finest();
        let (coarse, fine) = self.solutions.split_at_mut(to);
        let (coarse, fine, rows) = (&coarse[to - 1], &mut fine[0], &mut self.rows);
        match (self.levels[to - 1].idle, is_finest) {
            (true, true) => {}
            (true, false) => fine.points.fill(0.0),
            (false, true) => run_widest(Prolong::<false> { coarse, fine, rows }),
            (false, false) => run_widest(Prolong::<true> { coarse, fine, rows }),
        }
        self.exchange.expand(rank, &self.levels[to], fine)
    }

    /// A V-cycle, and the residual after it.
    fn cycle(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let finest = self.finest();
        (1..=finest).rev().try_for_each(|from| self.restrict(rank, from))?;
        self.solutions[0].points.fill(0.0);
        self.smooth(rank, 0)?;
        for at in 1..=finest {
            self.prolong(rank, at)?;
            self.residual(rank, at)?;
            self.smooth(rank, at)?;
        }
        self.residual(rank, finest)
    }

    /// The root of the mean square of the finest residual.
    fn norm(&self, rank: &mut Rank) -> Result<f64, Fault> {
        let [squares, largest] = norms(&self.residuals[self.finest()]);
        // The largest is not verified, but the reference reduces it, too.
        rank.world().allreduce(&mut [largest], ReduceOp::Max)?;
        let mut sum = [squares];
        rank.world().allreduce(&mut sum, ReduceOp::Sum)?;
        Ok((sum[0] / 8f64.powi(self.levels.len() as i32)).sqrt())
    }
}

fn run(class: Class, rank: &mut Rank) -> Result<Timed, Fault> {
    let mut multigrid = Multigrid::new(class, rank)?;
    let finest = multigrid.finest();
    // Before time counts, as in the reports: one cycle touches all memory.
    multigrid.residual(rank, finest)?;
    multigrid.cycle(rank)?;
    multigrid.solutions[finest].points.fill(0.0);
    rank.restart_clock()?;
    multigrid.residual(rank, finest)?;
    multigrid.norm(rank)?;
    (0..iterations(class)).try_for_each(|_| multigrid.cycle(rank))?;
    let found = multigrid.norm(rank)?;
    let timed = Timed::end(rank)?;
    Ok(timed.with(vec![Check::new("the norm of the residual", found, norm(class), TOLERANCE)]))
}
