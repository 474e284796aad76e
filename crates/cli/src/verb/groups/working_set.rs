//! `crosstalk groups show --working-set`.

use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, Seconds, human};
use crosstalk_groups::{Stop, WorkingSet, WorkingSetRequest, working_sets};
use crosstalk_host::Launcher;
use serde_json::{Value, json};

use super::names::parse;
use crate::args::GroupsShowArgs;
use crate::out::Out;
use crate::signal;

/// Windows, in seconds: what the kernel's counters are good for, and a day.
const WINDOWS: std::ops::RangeInclusive<f64> = 0.001..=86_400.0;

/// Measures what groups need, and prints it.
pub fn show(args: &GroupsShowArgs, out: &Out) -> Result<(), Fault> {
    let window = args.window.parse::<Seconds>().map_err(|fault| fault.at("--window"))?.0;
    if !WINDOWS.contains(&window) {
        let found = human(window, "s");
        return Err(Fault::usage(format!("expected 1 ms to a day, found {found}"))
            .at("--window")
            .remedy("name a time somewhat longer than the work's cycle, such as --window '10 s'"));
    }
    let names = parse(&args.names)?;
    let request = WorkingSetRequest { names, window: Duration::from_secs_f64(window) };
    let interrupted = signal::interrupted()?;
    let found = working_sets(&request, &Launcher::current(), &interrupted)?;
    for one in &found {
        out.say(&sentence(one));
        out.record(&event(one, window));
    }
    if found.is_empty() {
        out.say("There are no groups. Make one: crosstalk groups create NAME");
    }
    out.record(&json!({ "result": "groups", "groups": found.len(), "window": window }));
    Ok(())
}

fn event(one: &WorkingSet, window: f64) -> Value {
    let mut event = json!(one);
    event["event"] = "working-set".into();
    event["window"] = window.into();
    event
}

fn sentence(one: &WorkingSet) -> String {
    let size = |bytes: Bytes| human(bytes.0 as f64, "B");
    let (low, high) = (size(one.low), size(one.high));
    let needs = match one.stopped {
        Stop::Short => format!(
            "needs more than the {} that it has: pages that were pushed out before come back",
            size(one.memory)
        ),
        _ if low == high => format!("needs {high}"),
        _ => format!("needs {low} to {high}"),
    };
    let why = match one.stopped {
        Stop::Needed | Stop::Short => "",
        Stop::NothingLeft => "; the rest cannot be pushed out",
        Stop::Budget => "; a quarter of its memory came back, so that it may need less",
        Stop::Waiting => "; its tasks waited for memory, so that it may need less",
        Stop::Interrupted => "; interrupted, so that it may need less",
    };
    let pages = one.refaults;
    format!(
        "{}: {needs}; {} of its {} are unused{why} ({}, {pages} refaults)",
        one.name,
        size(one.unused),
        size(one.memory),
        human(one.seconds, "s"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_needed_and_what_it_took() {
        let one = WorkingSet {
            name: "lab/alice".parse().expect("is a name"),
            memory: Bytes(184 << 20),
            unused: Bytes(96 << 20),
            low: Bytes(87 << 20),
            high: Bytes(88 << 20),
            refaults: 3600,
            waiting: 0.01,
            seconds: 24.0,
            stopped: Stop::Needed,
        };
        let expected =
            "lab/alice: needs 87 MiB to 88 MiB; 96 MiB of its 184 MiB are unused (24.0 s, 3600 refaults)";
        assert_eq!(sentence(&one), expected);
        let short = sentence(&WorkingSet { stopped: Stop::Short, ..one.clone() });
        assert!(short.starts_with("lab/alice: needs more than the 184 MiB that it has"), "{short}");
        let left = sentence(&WorkingSet { stopped: Stop::NothingLeft, high: Bytes(87 << 20), ..one });
        assert!(left.contains("needs 87 MiB; ") && left.contains("the rest cannot be pushed out"), "{left}");
    }
}
