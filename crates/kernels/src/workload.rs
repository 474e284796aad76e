//! The workload `npb`, in virtual or in real time.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Sink, Timing};
use crosstalk_host::facts::available_memory;
use crosstalk_work::peer::rank::prepare_each_or_replay;
use crosstalk_work::peer::replay::{Report, origin};
use crosstalk_work::{Declared, Elsewhere, Portable};

use crate::check::Check;
use crate::report::{self, Done};
use crate::spec::{PARAMETERS, Spec};

/// Operations a second that one core of the reference machine does in these kernels, about.
const PACE: f64 = 2e9;

/// The workload `npb`.
pub const NPB: Portable<Spec> = Portable {
    declared: Declared {
        name: "npb",
        title: "NAS Parallel Benchmarks: a kernel of a class, verified",
        parameters: PARAMETERS,
        read: Spec::from_params,
        deploy: |spec| Deployment {
            nodes: spec.nodes,
            timing: Timing::Either,
            metrics: report::metrics(Metric::new("mops", "Mop/s", Better::Higher).above_zero().meaning(
                "millions of operations a second, of all ranks together, as the reports count them",
            )),
            effort: Effort::computing((spec.kernel.operations)(spec.class) / PACE),
        },
        needs: |_| Vec::new(),
        prepare,
    },
    elsewhere: Elsewhere::Replayed(report),
};

fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    let ranks =
        part.nodes * part.emulation.as_ref().map_or(1, |emulation| emulation.ranks_per_node.max(1) as usize);
    spec.kernel.check_ranks(ranks)?;
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

/// How a replay is reported.
fn report(spec: &Spec) -> Report {
    let done = done(spec);
    Box::new(move |ranks, out| report::report_replayed(done, ranks, out))
}

fn done(spec: &Spec) -> Done {
    Done { metric: "mops", amount: (spec.kernel.operations)(spec.class) * 1e-6 }
}

/// Runs a rank's part, [`Rank::finish`] included. Rank 0 verifies, and reports.
///
/// # Errors
/// If a result is not the official one, or ranks are gone.
pub fn run(
    spec: &Spec,
    origin: Origin,
    mut rank: Rank,
    out: &mut dyn Sink,
) -> Result<Option<Fidelity>, Fault> {
    spec.kernel.check_ranks(rank.size())?;
    let timed = (spec.kernel.run)(spec.class, &mut rank)?;
    report::report_run(done(spec), &timed, origin, &mut rank, out)?;
    // The first rank has all results; others may have parts of them.
    let checks = if rank.id() == 0 { timed.checks.as_slice() } else { &[] };
    let verified = checks.iter().try_for_each(Check::verify);
    if verified.is_err() {
        rank.drop_schedule();
    }
    let finished = rank.finish()?;
    verified.map(|()| finished)
}
