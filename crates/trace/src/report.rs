//! The record of a trace. Requests that were not followed are counted by reason.

use crosstalk_core::trace::{LabelledCount, Scope, TRACE_SCHEMA, Trace, TracingCost};
use crosstalk_observe::service::{Count, Counts, TraceRemainder};

use super::service::Service;
use super::stages::stage_ending_at;
use super::totals::Totals;
use super::watch::TraceEnding;

/// Why exchanges were not followed, as the kernel counts them.
const LOST: [(Count, &str); 5] = [
    (Count::Full, "taken out of the kernel too slowly"),
    (Count::Overlapped, "the client sent again before it had read the answer"),
    (Count::Unanswered, "the connection ended before there was an answer"),
    (Count::Unread, "the connection ended before the client had read the answer"),
    (Count::Foreign, "read by a process outside of the trace"),
];
/// What else the kernel counts.
const OTHERS: [(Count, &str); 3] = [
    (Count::NoRoom, "packets of requests on connections beyond the limit of 65,536"),
    (Count::Unasked, "messages of the server without a request"),
    (Count::Again, "retransmitted packets of requests"),
];

/// The record of a trace.
pub fn report(
    service: &Service,
    totals: &Totals,
    remainder: &TraceRemainder,
    watched: TraceEnding,
    sees_sends: bool,
) -> Trace {
    let counts = remainder.counts;
    let accounts = [totals.with_client.account(Scope::Client), totals.server_only.account(Scope::Server)];
    let mut remarks = remarks(totals, sees_sends);
    if remainder.missed > 0 {
        remarks.push(format!(
            "the kernel skipped {} runs of the BPF programs, because they interrupted themselves: as many stamps may be missing",
            remainder.missed
        ));
    }
    Trace {
        schema: TRACE_SCHEMA.into(),
        service: service.served.iter().map(|(_, served)| served.clone()).collect(),
        ports: service.target.ports.clone(),
        seconds: watched.seconds,
        ended: watched.ended,
        requests: counts.of(Count::Begun),
        followed: totals.followed_exchanges(),
        not_followed: not_followed(&counts, totals, remainder),
        counted: counted(&counts, totals),
        accounts: accounts.into_iter().flatten().collect(),
        taken_in: totals.taken_in.to_list(),
        read_on: totals.read_on.to_list(),
        cost: TracingCost { runs_missed: remainder.missed, ..watched.cost },
        remarks,
    }
}

/// The counts above zero.
fn tallies(all: impl IntoIterator<Item = (u64, String)>) -> Vec<LabelledCount> {
    let above_zero = all.into_iter().filter(|(count, _)| *count > 0);
    above_zero.map(|(count, what)| LabelledCount { what, count }).collect()
}

fn not_followed(counts: &Counts, totals: &Totals, remainder: &TraceRemainder) -> Vec<LabelledCount> {
    let mut lost: Vec<(u64, String)> =
        LOST.into_iter().map(|(count, what)| (counts.of(count), what.into())).collect();
    lost.extend(totals.broken.iter().map(|(stamp, count)| {
        let (side, name) = stage_ending_at(*stamp);
        (*count, format!("the end of stage `{name}` ({}) is missing or out of order", side.word()))
    }));
    lost.push((remainder.under_way, "under way when tracing ended".into()));
    let known = lost.iter().map(|(count, _)| count).sum::<u64>() + totals.followed_exchanges();
    let unknown = counts.of(Count::Begun).saturating_sub(known);
    lost.push((unknown, "lost for an unknown reason".into()));
    tallies(lost)
}

fn counted(counts: &Counts, totals: &Totals) -> Vec<LabelledCount> {
    let several =
        (totals.several_packets, "requests that came in several packets, or several before one answer");
    let others = OTHERS.into_iter().map(|(count, what)| (counts.of(count), what)).chain([several]);
    tallies(others.map(|(count, what)| (count, what.to_string())))
}

fn remarks(totals: &Totals, sees_sends: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    let part = totals.server_only.count();
    if part > 0 {
        let verb = if part == 1 { "request shows" } else { "requests show" };
        remarks.push(format!(
            "{part} {verb} the server's part only: sent before tracing began, or by clients on another machine or in another network namespace"
        ));
    }
    if !sees_sends {
        remarks.push(
            "this kernel does not report when a program begins to send (Linux 6.16 does): the sending call, until the packet is queued, is part of the stage before it".into(),
        );
    }
    remarks
}
