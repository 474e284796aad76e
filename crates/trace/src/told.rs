//! What was seen, as it is told: nothing is left out without a number.

use crosstalk_core::trace::{Cost, Scope, TRACE_SCHEMA, Tally, Trace};
use crosstalk_observe::service::{Count, Counts, Remainder};

use super::stages::ends;
use super::target::Service;
use super::{Seen, Watch};

/// Why exchanges were not followed.
const LOST: [(Count, &str); 5] = [
    (Count::Full, "taken out of the kernel too slowly"),
    (Count::Overlapped, "the client sent again before it had read the answer"),
    (Count::Unanswered, "the connection ended before there was an answer"),
    (Count::Unread, "the connection ended before the client had read the answer"),
    (Count::Foreign, "read by a process that was not asked about"),
];
/// What else was counted.
const OTHERS: [(Count, &str); 3] = [
    (Count::NoRoom, "packets of requests on connections beyond the 65,536 that there is room for"),
    (Count::Unasked, "what the server sent without having been asked"),
    (Count::Again, "packets of requests that had been there before"),
];

/// Everything in one record.
pub(super) fn told(
    service: &Service,
    seen: &Seen,
    remainder: &Remainder,
    watch: Watch,
    sees_sends: bool,
) -> Trace {
    let counts = remainder.counts;
    let accounts = [seen.with_client.account(Scope::Client), seen.server_only.account(Scope::Server)];
    let mut remarks = remarks(seen, sees_sends);
    if remainder.missed > 0 {
        remarks.push(format!(
            "the kernel left out {} runs of our programs, as they interrupted themselves: so many times may be missing",
            remainder.missed
        ));
    }
    Trace {
        schema: TRACE_SCHEMA.into(),
        service: service.served.iter().map(|(_, served)| served.clone()).collect(),
        ports: service.target.ports.clone(),
        seconds: watch.seconds,
        ended: watch.ended,
        requests: counts.of(Count::Begun),
        followed: seen.followed(),
        not_followed: not_followed(&counts, seen, remainder),
        counted: counted(&counts, seen),
        accounts: accounts.into_iter().flatten().collect(),
        taken_in: seen.taken_in.places(),
        read_on: seen.read_on.places(),
        cost: Cost { runs_missed: remainder.missed, ..watch.cost },
        remarks,
    }
}

/// Some of what there is.
fn tallies(all: impl IntoIterator<Item = (u64, String)>) -> Vec<Tally> {
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| Tally { what, count }).collect()
}

fn not_followed(counts: &Counts, seen: &Seen, remainder: &Remainder) -> Vec<Tally> {
    let mut lost: Vec<(u64, String)> =
        LOST.into_iter().map(|(count, what)| (counts.of(count), what.into())).collect();
    lost.extend(seen.astray.iter().map(|(stamp, count)| {
        let (side, name) = ends(*stamp);
        (*count, format!("the end of `{name}` ({}) was not seen, or not in its order", side.word()))
    }));
    lost.push((remainder.under_way, "under way when tracing ended".into()));
    let known = lost.iter().map(|(count, _)| count).sum::<u64>() + seen.followed();
    let unknown = counts.of(Count::Begun).saturating_sub(known);
    lost.push((unknown, "lost for a reason that is not known".into()));
    tallies(lost)
}

fn counted(counts: &Counts, seen: &Seen) -> Vec<Tally> {
    let several = (seen.several, "requests that came in several packets, or several before one answer");
    let others = OTHERS.into_iter().map(|(count, what)| (counts.of(count), what)).chain([several]);
    tallies(others.map(|(count, what)| (count, what.to_string())))
}

fn remarks(seen: &Seen, sees_sends: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    let part = seen.server_only.count();
    if part > 0 {
        let s = if part == 1 { "" } else { "s" };
        remarks.push(format!(
            "of {part} request{s} only the server's part was seen: sent before tracing began, or by clients on another machine or in another network namespace"
        ));
    }
    if !sees_sends {
        remarks.push(
            "this kernel does not tell when a program begins to send (Linux 6.16 does): the sending call, until the packet is queued, is part of the stage before it".into(),
        );
    }
    remarks
}
