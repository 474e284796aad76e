//! The iteration: residual, lower sweep, upper sweep, update.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::exchange::Exchange;
use super::field::Field;
use super::implicit::RELAXATION;
use super::official::Problem;
use super::pencil::{HALO, Pencil};
use super::residual::Residual;
use super::results;
use super::sweep::Sweep;
use crate::flow::VALUES;
use crate::flow::exact::{exact_at, initial_at};

/// A rank's part of the iteration.
#[derive(Debug)]
pub(super) struct Solver {
    pencil: Pencil,
    /// The state.
    u: Field,
    /// The residual; after sweeps, the change of the state.
    v: Field,
    forcing: Field,
    residual: Residual,
    lower: Sweep<false>,
    upper: Sweep<true>,
    exchange: Exchange,
}

impl Solver {
    /// Prepares a problem. The forcing is what makes the exact solution a steady state.
    ///
    /// # Errors
    /// A usage fault if there are too many ranks for it.
    pub(super) fn new(problem: Problem, rank: &Rank) -> Result<Self, Fault> {
        let pencil = Pencil::new(problem.points, rank.id(), rank.size())?;
        let mut residual = Residual::new(&pencil);
        let mut u = Field::new(&pencil);
        let mut forcing = Field::new(&pencil);
        let v = Field::new(&pencil);
        set_exact(&pencil, &mut u);
        residual.compute(&u, &v, &mut forcing);
        Ok(Solver {
            lower: Sweep::new(&pencil, problem.step),
            upper: Sweep::new(&pencil, problem.step),
            exchange: Exchange::new(&pencil),
            pencil,
            u,
            v,
            forcing,
            residual,
        })
    }

    /// Sets the initial state, and computes its residual.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn start(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        set_initial(&self.pencil, &mut self.u);
        self.compute_residual(rank)?;
        results::norm(rank, &self.pencil, &self.v).map(|_| ())
    }

    /// One iteration.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn iterate(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        self.sweep(rank)?;
        self.compute_residual(rank)
    }

    /// The last iteration, which computes the norms of the change and of the residual, too. Returns the latter. The others
    /// do not: no official problem converges before.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn last_iteration(&mut self, rank: &mut Rank) -> Result<[f64; VALUES], Fault> {
        self.sweep(rank)?;
        results::norm(rank, &self.pencil, &self.v)?;
        self.compute_residual(rank)?;
        results::norm(rank, &self.pencil, &self.v)
    }

    /// The distance from the exact solution.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn error(&self, rank: &mut Rank) -> Result<[f64; VALUES], Fault> {
        results::error(rank, &self.pencil, &self.u)
    }

    /// The surface integral.
    ///
    /// # Errors
    /// If ranks are gone.
    pub(super) fn surface(&self, rank: &mut Rank) -> Result<f64, Fault> {
        results::surface(rank, &self.pencil, &self.u)
    }

    fn compute_residual(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        self.exchange.halo(rank, &mut self.u)?;
        self.residual.compute(&self.u, &self.forcing, &mut self.v);
        Ok(())
    }

    /// Both sweeps, and the update of the state.
    fn sweep(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let factor = 1.0 / (RELAXATION * (2.0 - RELAXATION));
        let Solver { u, v, lower, upper, exchange, .. } = self;
        lower.begin();
        for plane in lower.planes() {
            exchange.receive_edges(rank, v, plane, false)?;
            lower.plane(u, v, plane, factor);
            exchange.send_edges(rank, v, plane, false)?;
        }
        upper.begin();
        for plane in upper.planes() {
            exchange.receive_edges(rank, v, plane, true)?;
            upper.plane(u, v, plane, factor);
            exchange.send_edges(rank, v, plane, true)?;
        }
        Ok(())
    }
}

/// Sets the exact solution, in the halo as well.
fn set_exact(pencil: &Pencil, u: &mut Field) {
    let [columns, rows] = pencil.extent.map(|extent| extent + 2 * HALO);
    for k in 0..pencil.points {
        for (j, eta) in (0..rows).filter_map(|j| Some((j, pencil.global(1, j)?))) {
            for (i, xi) in (0..columns).filter_map(|i| Some((i, pencil.global(0, i)?))) {
                u.set([i, j, k], exact_at([xi, eta, k], pencil.points));
            }
        }
    }
}

/// Sets the initial state.
fn set_initial(pencil: &Pencil, u: &mut Field) {
    let [columns, rows] = pencil.own();
    for k in 0..pencil.points {
        for j in rows.clone() {
            for i in columns.clone() {
                let at = [pencil.first[0] + i - HALO, pencil.first[1] + j - HALO, k];
                u.set([i, j, k], initial_at(at, pencil.points));
            }
        }
    }
}
