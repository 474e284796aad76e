//! `crosstalk replay`: the virtual clocks of a recorded run, on the same or on another cluster.

use std::io::Read;
use std::process::ExitCode;

use crosstalk_core::message::UNFAITHFUL_SCHEDULE;
use crosstalk_core::units::human;
use crosstalk_core::{Fault, quote};
use crosstalk_host::regular;
use crosstalk_model::network::TimeBreakdown;
use crosstalk_model::schedule::Schedule;
use crosstalk_study::emulated_place;
use serde_json::json;

use crate::args::{ReplayArgs, SystemArgs};
use crate::catalogue;
use crate::out::Out;

mod ranges;

/// The remark on a recording whose name says that it is of an unfaithful attempt.
const UNFAITHFUL: &str = "the recorded attempt was unfaithful: its compute times may be wrong, and a replay keeps them; run \
                          the study again for a faithful recording";

/// The largest file that is read.
const MOST_BYTES: u64 = 8 << 30;

/// Runs `crosstalk replay`.
pub fn main(args: &ReplayArgs, out: &Out) -> Result<ExitCode, Fault> {
    let file = args.file.display().to_string();
    let unreadable = |e: std::io::Error| Fault::usage(format!("cannot read it: {e}")).at(file.clone());
    // A file alone: a device may have no end.
    let mut bytes = Vec::new();
    let open = regular::open(&args.file).map_err(unreadable)?;
    if open.metadata().map_err(unreadable)?.len() > MOST_BYTES {
        return Err(Fault::usage("expected a schedule of at most 8 GiB").at(file));
    }
    open.take(MOST_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let schedule = Schedule::from_bytes(&bytes).map_err(|fault| fault.at(file.clone()))?;
    let unfaithful = file.ends_with(UNFAITHFUL_SCHEDULE);
    if unfaithful {
        out.say(UNFAITHFUL);
    }
    let SystemArgs { mpi, ranks: each } = &args.system_args;
    let (ranks, each_node) = (schedule.operations.len(), (*each).max(1) as usize);
    if ranks % each_node != 0 {
        return Err(Fault::usage(format!(
            "{ranks} ranks were recorded, which do not fill nodes of {each_node}"
        ))
        .at("--ranks")
        .remedy("take a divisor of the number of ranks"));
    }
    let catalogues = catalogue::catalogues(&args.catalogue)?;
    let nodes = ranks / each_node;
    let (_, emulation) = emulated_place(&catalogues, &args.system, mpi.as_deref(), *each, nodes)?;
    let clocks = schedule.replay(&emulation).map_err(|fault| in_file(fault, &file))?;
    let library = emulation.mpi.as_ref().map_or("no library", |mpi| mpi.name.as_str());
    let cluster = format!("{} with {library}", args.system);
    // The rank that ends last in each; where ranks end together, one rank in both.
    let slowest = |of: &[TimeBreakdown]| (0..ranks).max_by_key(|rank| of[*rank].total()).unwrap_or(0);
    let rank = slowest(&schedule.clocks);
    let last = clocks[slowest(&clocks)].total();
    let rank_there = if clocks[rank].total() == last { rank } else { slowest(&clocks) };
    let (before, after) = (schedule.clocks[rank], clocks[rank_there]);
    let most_apart = schedule
        .clocks
        .iter()
        .zip(&clocks)
        .map(|(recorded, replayed)| recorded.total().0.abs_diff(replayed.total().0))
        .max()
        .unwrap_or(0);
    out.say(&format!(
        "{}: {ranks} ranks, {} operations\n{}",
        quote::message(&schedule.title),
        schedule.count(),
        table(&[("recorded", before), (cluster.as_str(), after)])
    ));
    if most_apart < 1_000 {
        out.say("every rank's clock is the recorded one, to a nanosecond");
    }
    let over = |samples| ranges::over(&schedule, &catalogues, &emulation, samples as usize);
    let ranges = args.ranges.map(over).transpose()?;
    if let Some(ranges) = &ranges {
        out.say(&ranges.table());
    }
    out.record(&json!({
        "result": "replay", "title": schedule.title, "ranks": ranks, "operations": schedule.count(),
        // Another name proves nothing.
        "faithful": unfaithful.then_some(false),
        "recorded": parts(before), "replayed": parts(after),
        "system": args.system, "mpi": emulation.mpi.as_ref().map(|mpi| mpi.name.as_str()),
        "rank": rank, "replayed_rank": rank_there, "last": last.0 as f64 * 1e-12, "most_apart": most_apart as f64 * 1e-12,
        "ranges": ranges.map(|ranges| ranges.record()),
    }));
    Ok(ExitCode::SUCCESS)
}

/// A fault within a schedule: its file is its place, and what the schedule says of it follows.
fn in_file(mut fault: Fault, file: &str) -> Fault {
    let within =
        [fault.node().map(|rank| format!("rank {rank}: ")), fault.place.take().map(|at| format!("{at}: "))];
    let within: String = within.into_iter().flatten().collect();
    fault.about = None;
    fault.message = format!("{within}{}", fault.message);
    fault.at(file)
}

/// The parts of a clock's time, in seconds.
fn parts(clock: TimeBreakdown) -> serde_json::Value {
    let seconds = |time: crosstalk_model::time::VirtualTime| time.0 as f64 * 1e-12;
    json!({
        "total": seconds(clock.total()), "compute": seconds(clock.compute), "wait": seconds(clock.wait),
        "serialise": seconds(clock.serialise), "spill": seconds(clock.spill),
    })
}

/// A line for each clock of the slowest rank.
fn table(rows: &[(&str, TimeBreakdown)]) -> String {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let head = format!(
        "{:widest$}  {:>9}  {:>9}  {:>9}  {:>11}  {:>9}",
        "slowest rank",
        "total",
        "computing",
        "waiting",
        "serialising",
        "disk",
        widest = widest.max(12)
    );
    let line = |(name, clock): &(&str, TimeBreakdown)| {
        let text = |time: crosstalk_model::time::VirtualTime| human(time.0 as f64 * 1e-12, "s");
        format!(
            "{name:widest$}  {:>9}  {:>9}  {:>9}  {:>11}  {:>9}",
            text(clock.total()),
            text(clock.compute),
            text(clock.wait),
            text(clock.serialise),
            text(clock.spill),
            widest = widest.max(12)
        )
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}
