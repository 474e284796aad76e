//! What is reported of a run.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Sink;
use crosstalk_core::units::Seconds;

use crate::metadata::MetadataJob;
use crate::roles::Roles;
use crate::spec::Test;

/// All metrics; each test has one of the rates.
pub(crate) fn metrics() -> Vec<Metric> {
    vec![
        // As of all applications, of the timed part: at the slowest client.
        Metric::new("completion_time", "s", Better::Lower).above_zero(),
        Metric::new("operation_rate", "/s", Better::Higher)
            .above_zero()
            .meaning("operations on names and attributes a second, of all clients together"),
        Metric::new("throughput", "B/s", Better::Higher)
            .above_zero()
            .meaning("bytes of files written or read a second, of all clients together"),
        Metric::new("time_compute", "s", Better::Neither),
        Metric::new("time_wait", "s", Better::Neither),
        Metric::new("time_serialise", "s", Better::Neither),
        Metric::new("time_spill", "s", Better::Neither),
    ]
}

/// The metric of a test's rate, and how much is done.
fn amount(test: Test, clients: usize) -> (&'static str, f64) {
    match test {
        Test::Metadata(test, files) => {
            ("operation_rate", MetadataJob::operations(test, files, clients) as f64)
        }
        Test::Data(_, transfers, _) => ("throughput", transfers.block as f64 * clients as f64),
    }
}

/// Reports a run, from each rank's time: the first rank does, of all.
///
/// # Errors
/// If ranks are gone.
pub(crate) fn report(
    test: Test,
    roles: &Roles,
    own: TimeAccount,
    origin: Origin,
    rank: &mut Rank,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let parts = [own.compute, own.wait, own.serialise, own.spill].map(|part| part.0);
    let Some(all) = rank.world().gather(0, &parts)? else { return Ok(()) };
    let (accounts, _) = all.as_chunks::<4>();
    let time = roles.clients.iter().map(|rank| accounts[*rank].iter().sum()).fold(0.0, f64::max);
    out.take(Reading::value("completion_time", Seconds(time).0, origin), 1)?;
    let (metric, amount) = amount(test, roles.clients.len());
    if time > 0.0 {
        out.take(Reading::value(metric, amount / time, origin), 1)?;
    }
    for (rank, parts) in accounts.iter().enumerate() {
        let names = ["time_compute", "time_wait", "time_serialise", "time_spill"];
        for (metric, part) in names.into_iter().zip(parts) {
            out.take(Reading::value(metric, *part, origin).label("node", rank), 1)?;
        }
    }
    Ok(())
}
