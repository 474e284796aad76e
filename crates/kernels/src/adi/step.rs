//! A benchmark of this kind, from the first values to the norms.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::cell::{Cell, points};
use super::coefficients::Coefficients;
use super::faces::Faces;
use super::partition::Partition;
use super::residual::{self, Unchanged};
use crate::check::Check;
use crate::flow::VALUES;
use crate::flow::norms::{compare, root_mean_square};
use crate::kernel::Timed;

/// A problem and its official results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem {
    /// Points along a side of the cube.
    pub(crate) points: usize,
    /// Steps in time.
    pub(crate) steps: usize,
    /// The length of a step.
    pub(crate) step: f64,
    /// Norms of what still changes at the end.
    pub(crate) residuals: [f64; VALUES],
    /// Norms of the difference from the exact solution.
    pub(crate) errors: [f64; VALUES],
}

impl Problem {
    /// Bytes of all cells: values of a point are the flow, what is derived of it, how it changes, and the force.
    pub(crate) fn memory(&self) -> f64 {
        (self.points.pow(3) * 21 * size_of::<f64>()) as f64
    }
}

/// A rank's part of a run.
pub(crate) struct Run {
    pub(crate) problem: Problem,
    pub(crate) partition: Partition,
    pub(crate) cells: Vec<Cell>,
    pub(crate) along: [Coefficients; 3],
    faces: Faces,
}

/// How a benchmark takes a step: with the flow of all cells, and of neighbours around, once the latter has come.
pub(crate) trait Scheme {
    /// Computes what changes in a cell by its flow, and prepares it for the sweeps.
    fn prepare(&self, cell: &mut Cell, along: &[Coefficients; 3]);

    /// Sweeps in all directions, and adds the solution to the flow.
    ///
    /// # Errors
    /// If other ranks are gone.
    fn sweep(&mut self, rank: &mut Rank, partition: &Partition, cells: &mut [Cell]) -> Result<(), Fault>;
}

impl Run {
    /// Cells with the force that keeps the exact solution in balance: the opposite of what would change.
    ///
    /// # Errors
    /// If cells would have too few points.
    pub(crate) fn new(problem: Problem, rank: &Rank) -> Result<Self, Fault> {
        check_size(problem.points, rank.size())?;
        let partition = Partition::new(rank.id(), rank.size());
        let along = Coefficients::new(problem.points, problem.step);
        let mut cells = Cell::all(&partition, problem.points);
        for cell in &mut cells {
            cell.set_exact();
            residual::compute::<false>(cell, &along, &Unchanged);
            for point in points(&cell.interior) {
                cell.force.set(point, cell.change.at(point).map(|change| -change));
            }
        }
        let faces = Faces::new(&partition, &cells);
        Ok(Run { problem, partition, cells, along, faces })
    }

    /// Runs the benchmark.
    ///
    /// # Errors
    /// If other ranks are gone.
    pub(crate) fn carry_out(mut self, scheme: &mut impl Scheme, rank: &mut Rank) -> Result<Timed, Fault> {
        self.cells.iter_mut().for_each(Cell::set_first);
        // Before time counts, as in the reports: one step touches all memory.
        self.step(scheme, rank)?;
        self.cells.iter_mut().for_each(Cell::set_first);
        rank.restart_clock()?;
        for _ in 0..self.problem.steps {
            self.step(scheme, rank)?;
        }
        let timed = Timed::end(rank)?;
        self.check(rank).map(|checks| timed.with(checks))
    }

    fn step(&mut self, scheme: &mut impl Scheme, rank: &mut Rank) -> Result<(), Fault> {
        self.faces.exchange(rank, &self.partition, &mut self.cells)?;
        for cell in &mut self.cells {
            scheme.prepare(cell, &self.along);
        }
        scheme.sweep(rank, &self.partition, &mut self.cells)
    }

    /// The norms, beside the official ones.
    fn check(&mut self, rank: &mut Rank) -> Result<Vec<Check>, Fault> {
        let mut errors = [0.0; VALUES];
        self.cells.iter().for_each(|cell| cell.add_errors(&mut errors));
        self.faces.exchange(rank, &self.partition, &mut self.cells)?;
        let mut residuals = [0.0; VALUES];
        for cell in &mut self.cells {
            residual::compute::<false>(cell, &self.along, &Unchanged);
            cell.add_changes(&mut residuals);
        }
        let errors = root_mean_square(rank, self.problem.points, errors)?;
        let residuals = root_mean_square(rank, self.problem.points, residuals)?;
        let mut checks = compare("the residual", residuals, self.problem.residuals);
        checks.extend(compare("the error", errors, self.problem.errors));
        Ok(checks)
    }
}

/// Points along a side of the smallest cell: a point's two neighbours are in the next one.
const SMALLEST: usize = 3;

/// A usage fault where cells would be smaller.
fn check_size(points: usize, ranks: usize) -> Result<(), Fault> {
    let most = (points / SMALLEST).pow(2);
    if ranks <= most {
        return Ok(());
    }
    Err(Fault::usage(format!("{points}³ points are enough for {most} ranks at most, found {ranks}"))
        .of_parameter("nodes")
        .remedy("take fewer nodes, or a larger class"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_three_points_at_least() {
        assert_eq!(check_size(12, 16), Ok(()));
        let refused = check_size(12, 25).expect_err("is refused").to_string();
        assert!(refused.contains("enough for 16 ranks at most, found 25"), "{refused}");
    }
}
