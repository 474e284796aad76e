//! The workload `hpl`, in virtual or in real time.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_host::facts::available_memory;
use crosstalk_work::peer::rank::prepare_each_or_replay;
use crosstalk_work::peer::replay::{Report, origin};
use crosstalk_work::{Declared, Elsewhere, Portable};

use super::grid::Grid;
use super::matrix::Matrix;
use super::spec::{PARAMETERS, Spec};
use super::{factor, solve};
use crate::check::WRONG_RESULT;
use crate::kernel::Timed;
use crate::report::{self, Done};

/// Floating-point operations a second of one core of the reference machine, about.
const PACE: f64 = 4e10;
/// A solution whose residual is above is wrong.
const WRONG: f64 = 16.0;

/// The workload `hpl`.
pub const HPL: Portable<Spec> = Portable {
    declared: Declared {
        name: "hpl",
        title: "High-Performance Linpack: a dense system of equations, verified",
        parameters: PARAMETERS,
        read: Spec::from_params,
        deploy: |spec| Deployment {
            nodes: spec.nodes,
            timing: Timing::Either,
            metrics: metrics(),
            effort: Effort::computing(spec.operations() / PACE),
        },
        needs: |_| Vec::new(),
        prepare,
    },
    elsewhere: Elsewhere::Replayed(report),
};

fn metrics() -> Vec<Metric> {
    let mut metrics = report::metrics(
        Metric::new("gflops", "Gflop/s", Better::Higher)
            .above_zero()
            .meaning("floating-point operations a second as HPL counts them, in 10^9"),
    );
    metrics.push(
        Metric::new("residual", "", Better::Lower)
            .meaning("HPL's residual of the solution, which is wrong above 16"),
    );
    metrics
}

/// How a replay is reported.
fn report(spec: &Spec) -> Report {
    let done = done(spec);
    Box::new(move |ranks, out| report::report_replayed(done, ranks, out))
}

fn done(spec: &Spec) -> Done {
    Done { metric: "gflops", amount: spec.operations() * 1e-9 }
}

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let each = part.emulation.as_ref().map_or(1, |emulation| emulation.ranks_per_node.max(1) as usize);
    spec.shape(part.nodes * each)?;
    if let Some(emulation) = &part.emulation {
        let all = emulation.node.memory.0 as f64 * part.nodes as f64;
        spec.check_memory(all, "the emulated cluster")?;
    }
    if let Some(available) = available_memory() {
        spec.check_memory(available as f64, "this machine")?;
    }
    let origin = origin(part);
    let reported = report(&spec);
    prepare_each_or_replay(part, Box::new(move |rank, out| run(&spec, origin, rank, out)), reported)
}

/// Runs a rank's part, [`Rank::finish`] included. Rank 0 reports.
///
/// # Errors
/// If the matrix is singular, the solution is wrong, or ranks are gone.
pub fn run(
    spec: &Spec,
    origin: Origin,
    mut rank: Rank,
    out: &mut dyn Sink,
) -> Result<Option<Fidelity>, Fault> {
    let (timed, residual) = solved(spec, &mut rank)?;
    if rank.id() == 0 {
        out.take(Reading::value("residual", residual, Origin::Computed), 1)?;
    }
    report::report_run(done(spec), &timed, origin, &mut rank, out)?;
    // Not the other way round: what is no number is wrong.
    let verified = match residual < WRONG {
        true => Ok(()),
        false => Err(Fault::attempt(format!(
            "verification failed: the residual is {residual:.3}, and has to be below {WRONG}"
        ))
        .remedy(WRONG_RESULT)),
    };
    if verified.is_err() {
        rank.drop_schedule();
    }
    let finished = rank.finish()?;
    verified.map(|()| finished)
}

/// Solves the system: where the time went, and HPL's residual.
///
/// # Errors
/// As [`run`].
pub fn solved(spec: &Spec, rank: &mut Rank) -> Result<(Timed, f64), Fault> {
    let (rows, columns) = spec.shape(rank.size())?;
    let grid = Grid::new(rank, spec.block, rows, columns)?;
    let mut matrix = Matrix::generate(spec.order, &grid);
    rank.restart_clock()?;
    factor::factor(&mut matrix, &grid, rank)?;
    let solution = solve::solve(&matrix, &grid, rank)?;
    let timed = Timed::end(rank)?;
    drop(matrix);
    let residual = solve::residual(spec.order, &grid, &solution, rank)?;
    Ok((timed, residual))
}
