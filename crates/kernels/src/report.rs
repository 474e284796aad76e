//! What is reported of a run, and of a replay.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Sink;

use crate::kernel::Timed;
use crosstalk_comm::{ReduceOp, Traffic};

/// What was done, in the unit of a metric's rate times seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// The metric of its rate.
    pub(crate) metric: &'static str,
    /// How much.
    pub(crate) amount: f64,
}

/// All metrics, with that of the `rate`.
pub(crate) fn metrics(rate: Metric) -> Vec<Metric> {
    vec![
        // As of all applications: of the timed part, at the slowest rank.
        Metric::new("completion_time", "s", Better::Lower).above_zero(),
        rate,
        Metric::new("time_compute", "s", Better::Neither),
        Metric::new("time_wait", "s", Better::Neither),
        Metric::new("time_serialise", "s", Better::Neither),
        Metric::new("communication_ratio", "", Better::Neither)
            .meaning("time in communication over time of computing, all ranks together"),
        Metric::new("messages", "", Better::Neither)
            .meaning("calls that send, of all ranks together, by kind"),
        Metric::new("bytes", "B", Better::Neither)
            .meaning("bytes of the messages, vectors and pieces that these calls name"),
    ]
}

/// Reports what ranks' clocks say. `ranks`: each rank's account of the timed part.
pub(crate) fn report_times(
    done: Done,
    ranks: &[TimeAccount],
    origin: Origin,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let time = ranks.iter().map(|account| account.total().0).fold(0.0, f64::max);
    out.take(Reading::value("completion_time", time, origin), 1)?;
    if time > 0.0 {
        out.take(Reading::value(done.metric, done.amount / time, origin), 1)?;
    }
    for (rank, account) in ranks.iter().enumerate() {
        let parts = [
            ("time_compute", account.compute),
            ("time_wait", account.wait),
            ("time_serialise", account.serialise),
        ];
        for (metric, part) in parts {
            out.take(Reading::value(metric, part.0, origin).label("node", rank), 1)?;
        }
    }
    let sum = |part: fn(&TimeAccount) -> f64| ranks.iter().map(part).sum::<f64>();
    let (talks, computes) =
        (sum(|account| account.wait.0 + account.serialise.0), sum(|account| account.compute.0));
    if computes > 0.0 {
        out.take(Reading::value("communication_ratio", talks / computes, origin), 1)?;
    }
    Ok(())
}

/// Reports a run: its first rank does, of all.
pub(crate) fn report_run(
    done: Done,
    timed: &Timed,
    origin: Origin,
    rank: &mut Rank,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let TimeAccount { compute, wait, serialise, spill } = timed.account;
    let all = rank.world().gather(0, &[compute.0, wait.0, serialise.0, spill.0])?;
    let traffic = sum_traffic(&timed.traffic, rank)?;
    let Some(all) = all else { return Ok(()) };
    let account = |parts: &[f64]| {
        let [compute, wait, serialise, spill] =
            [0, 1, 2, 3].map(|part| crosstalk_core::units::Seconds(parts[part]));
        TimeAccount { compute, wait, serialise, spill }
    };
    let accounts: Vec<TimeAccount> = all.chunks(4).map(account).collect();
    report_times(done, &accounts, origin, out)?;
    for (kind, calls, bytes) in traffic {
        out.take(Reading::value("messages", calls as f64, Origin::Computed).label("kind", kind), 1)?;
        out.take(Reading::value("bytes", bytes as f64, Origin::Computed).label("kind", kind), 1)?;
    }
    Ok(())
}

/// Calls and bytes by kind, of all ranks together, where there are any.
fn sum_traffic(own: &Traffic, rank: &mut Rank) -> Result<Vec<(&'static str, u64, u64)>, Fault> {
    use crosstalk_core::mpi::Operation;
    let mut counts = vec![own.messages];
    counts.extend(
        Operation::ALL.iter().map(|operation| own.collectives.get(operation).copied().unwrap_or_default()),
    );
    let mut numbers: Vec<f64> =
        counts.iter().flat_map(|counted| [counted.calls as f64, counted.bytes as f64]).collect();
    rank.world().allreduce(&mut numbers, ReduceOp::Sum)?;
    let kinds = std::iter::once("message").chain(Operation::ALL.iter().map(|operation| operation.name()));
    let all = kinds.zip(numbers.chunks(2)).map(|(kind, pair)| (kind, pair[0] as u64, pair[1] as u64));
    Ok(all.filter(|(_, calls, _)| *calls > 0).collect())
}

/// Reports a replay. A kernel asks for the clock first when its timed part ends; what follows checks the results.
pub(crate) fn report_replayed(
    done: Done,
    ranks: &[Vec<TimeAccount>],
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let first = ranks.iter().map(|accounts| accounts.first().copied().unwrap_or_default());
    report_times(done, &first.collect::<Vec<_>>(), Origin::Simulated, out)
}
