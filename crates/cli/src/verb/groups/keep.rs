//! `crosstalk groups keep`.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human, share};
use crosstalk_groups::{AvailableShare, Event, Evictor, FullMemory, NextEnd, Reason, processes_in_words};
use crosstalk_host::Launcher;
use serde_json::json;

use super::names::several;
use crate::args::GroupsKeepArgs;
use crate::out::Out;
use crate::signal;
use crate::streams::never_wait_for_readers;

/// The most groups that the line of the order has.
const LISTED: usize = 5;

/// Ends groups by rule until it is interrupted.
pub fn keep(args: &GroupsKeepArgs, out: &Out) -> Result<(), Fault> {
    // Groups fill up while a reader is slow.
    never_wait_for_readers()?;
    let available =
        share(&args.available).and_then(AvailableShare::new).map_err(|fault| fault.at("--available"))?;
    let interrupted = signal::interrupted()?;
    let mut evictor = Evictor::open(available, &Launcher::current())?;
    let kept = evictor.kept();
    out.say(&match kept.as_slice() {
        [] => "keeps the machine's memory: no group that may be ended has a limit".into(),
        names => format!("keeps the machine's memory, and that of {}", several(names)),
    });
    let order = evictor.order();
    out.say(&next_ends(&order));
    out.record(&json!({
        "event": "keeps", "groups": kept, "available": available.ratio(), "order": order,
    }));
    let mut ended = 0;
    while !interrupted.load(Ordering::SeqCst) {
        for event in evictor.check()? {
            ended += usize::from(matches!(event, Event::Ended { .. }));
            out.say(&sentence(&event));
            out.record(&event);
        }
        thread::sleep(evictor.due().saturating_duration_since(Instant::now()));
    }
    out.record(&json!({ "result": "groups", "ended": ended }));
    Ok(())
}

/// Who would end first, as things are.
fn next_ends(order: &[NextEnd]) -> String {
    let one = |next: &NextEnd| {
        let why = match next.reason {
            Reason::OwnLimit => "at its limit",
            Reason::BestEffort => "besteffort",
            Reason::AboveRequest => "above its request",
        };
        format!("{} ({why}, {})", next.group, size(next.memory))
    };
    let named: Vec<String> = order.iter().take(LISTED).map(one).collect();
    match order.len() - named.len() {
        _ if order.is_empty() => "for the machine's memory no group would be ended now".into(),
        0 => format!("for the machine's memory it would now end, in this order: {}", named.join(", ")),
        more => {
            let named = named.join(", ");
            format!("for the machine's memory it would now end, in this order: {named}, and {more} more")
        }
    }
}

fn sentence(event: &Event) -> String {
    match event {
        Event::Ended { group, reason, full, memory, processes, named } => {
            let more = if *processes > named.len() { ", …" } else { "" };
            let (memory, what) = (size(*memory), processes_in_words(*processes as u64));
            let named = named.join(", ");
            format!("ended {group}: {}. It had {memory} in {what}: {named}{more}", why(*reason, full))
        }
        Event::Stays { group, processes } => {
            format!(
                "{} of {group} do not end; see what they wait for in /proc/PID/stack",
                processes_in_words(*processes as u64)
            )
        }
        Event::Nobody { full } => {
            let ended = is_full(full);
            format!(
                "{ended}, and no group may be ended by rule. If nothing is left, the kernel chooses a process"
            )
        }
        Event::Nearly { full, memory } => {
            format!(
                "{}: {} cannot be pushed out",
                is_full(full).replace("is full", "is nearly full"),
                size(*memory)
            )
        }
        Event::Killed { group, processes } => {
            format!("the kernel killed {} of {group} for memory", processes_in_words(*processes))
        }
    }
}

/// Why a group was ended, by which rule.
pub fn why(reason: Reason, full: &FullMemory) -> String {
    let full = is_full(full);
    match reason {
        Reason::OwnLimit => full,
        Reason::BestEffort => format!("{full}, and besteffort groups are ended first"),
        Reason::AboveRequest => format!("{full}, and it was most above its request"),
    }
}

fn is_full(full: &FullMemory) -> String {
    let limit = size(full.limit);
    match (&full.of, full.available) {
        (Some(group), _) => format!("the memory of {group}, {limit}, is full"),
        (None, Some(least)) => {
            format!("less than {} of the machine's memory, {limit}, is available", size(least))
        }
        (None, None) => format!("the machine's memory, {limit}, is full"),
    }
}

fn size(bytes: Bytes) -> String {
    human(bytes.0 as f64, "B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_has_whom_it_would_cost_first() {
        let next = |name: &str, reason, mib: u64| NextEnd {
            group: name.parse().expect("is a name"),
            reason,
            memory: Bytes(mib << 20),
        };
        assert_eq!(next_ends(&[]), "for the machine's memory no group would be ended now");
        let two = [next("rest", Reason::BestEffort, 8), next("lab/bob", Reason::AboveRequest, 90)];
        assert_eq!(
            next_ends(&two),
            "for the machine's memory it would now end, in this order: rest (besteffort, 8 MiB), \
             lab/bob (above its request, 90 MiB)"
        );
        let many: Vec<NextEnd> = (0..7).map(|n| next(&format!("r{n}"), Reason::BestEffort, 9)).collect();
        assert!(next_ends(&many).ends_with("r4 (besteffort, 9 MiB), and 2 more"), "{}", next_ends(&many));
    }

    #[test]
    fn events_name_the_group_why_and_what_was_ended() {
        let name = |name: &str| name.parse().expect("is a name");
        let full = FullMemory { of: Some(name("lab")), limit: Bytes(256 << 20), available: None };
        let ended = Event::Ended {
            group: name("lab/bob"),
            reason: Reason::AboveRequest,
            full: full.clone(),
            memory: Bytes(180 << 20),
            processes: 2,
            named: vec!["python3 123".into()],
        };
        assert_eq!(
            sentence(&ended),
            "ended lab/bob: the memory of lab, 256 MiB, is full, and it was most above its request. \
             It had 180 MiB in 2 processes: python3 123, …"
        );
        let nearly = sentence(&Event::Nearly { full: full.clone(), memory: Bytes(250 << 20) });
        assert_eq!(nearly, "the memory of lab, 256 MiB, is nearly full: 250 MiB cannot be pushed out");
        let short = FullMemory { of: None, limit: Bytes(4 << 30), available: Some(Bytes(200 << 20)) };
        assert_eq!(
            sentence(&Event::Nobody { full: short }),
            "less than 200 MiB of the machine's memory, 4 GiB, is available, and no group may be ended by rule. If \
             nothing is left, the kernel chooses a process"
        );
        let killed = sentence(&Event::Killed { group: name("lab/bob"), processes: 1 });
        assert_eq!(killed, "the kernel killed 1 process of lab/bob for memory");
    }
}
