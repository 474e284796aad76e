//! `crosstalk groups watch`: programs that users start go into their groups before they run.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crosstalk_core::units::{Seconds, human};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_groups::processes_in_words;
use crosstalk_groups::watch::{
    Mechanism, Placement, Supervisor, Tally, WatchEvent, WatchRequest, WatchResult, watch,
};
use crosstalk_host::Launcher;
use serde_json::{Value, json};

use super::names::several;
use crate::args::GroupsWatchArgs;
use crate::out::{Out, print_error};
use crate::signal;
use crate::streams::never_wait_for_readers;

/// Runs `crosstalk groups watch`.
pub fn main(args: &GroupsWatchArgs, out: &Out) -> Result<ExitCode, Fault> {
    // It starts the watcher again, and must not wait for a reader.
    never_wait_for_readers()?;
    let limit = args.duration.as_deref().map(duration).transpose()?;
    let interrupted = signal::interrupted()?;
    let request = WatchRequest {
        rules: args.rules.clone(),
        mechanism: args.by.map(Into::into),
        verbose: args.verbose || out.json,
    };
    let supervisor = Supervisor::new(&request, &Launcher::current())?;
    let rules = supervisor.rules();
    let began = Instant::now();
    let is_over =
        || interrupted.load(Ordering::SeqCst) || limit.is_some_and(|limit| began.elapsed() >= limit);
    let mut has_begun = false;
    let watched = supervisor.run(&is_over, &mut |event| match event {
        WatchEvent::Ready { mechanism, mounts, because } if !has_begun => {
            has_begun = true;
            out.say(&first_line(mechanism, mounts, rules, because.as_deref()));
            out.record(&json!({
                "event": "watching", "by": mechanism, "mounts": mounts, "rules": rules, "because": because,
            }));
        }
        WatchEvent::Ready { .. } => {}
        WatchEvent::Placed(placement) => {
            out.say(&line(&placement));
            out.record(&placed(&placement));
        }
        WatchEvent::Made(group) => {
            out.say(&format!("made {group}, by a rule"));
            out.record(&json!({ "event": "made", "group": group }));
        }
        WatchEvent::Removed(group) => {
            out.say(&format!("removed {group}, which a rule had made: no process is in it"));
            out.record(&json!({ "event": "removed", "group": group }));
        }
        WatchEvent::Note(text) => print_error(&text),
    })?;
    summary(&watched).iter().for_each(|line| out.say(line));
    out.record(&result(&watched));
    let as_asked = limit.is_none() || !interrupted.load(Ordering::SeqCst);
    Ok(if as_asked { ExitCode::SUCCESS } else { ExitCode::from(FaultKind::Interrupted.exit_code()) })
}

/// Runs the watcher, for the hidden verb `place`.
pub fn place() -> Result<ExitCode, Fault> {
    let failed = |e| Fault::environment(format!("cannot watch: {e}"));
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    watch(input, output).map(|()| ExitCode::SUCCESS)
}

fn duration(text: &str) -> Result<Duration, Fault> {
    let seconds = text.parse::<Seconds>().map_err(|fault| fault.at("--for"))?.0;
    if !(0.1..=1e9).contains(&seconds) {
        return Err(Fault::usage(format!("expected 0.1 s to 1e9 s, found {text}"))
            .at("--for")
            .remedy("leave --for out to watch until interrupted"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn first_line(mechanism: Mechanism, mounts: usize, rules: usize, because: Option<&str>) -> String {
    let rules = count(rules as u64, "rule");
    match mechanism {
        Mechanism::Fanotify => {
            format!("watching by fanotify on {}, {rules}; Ctrl-C ends it", count(mounts as u64, "mount"))
        }
        Mechanism::ProcessEvents => {
            let because = because.map(|why| format!(" ({why})")).unwrap_or_default();
            format!(
                "watching by process events, the fallback{because}, {rules}: programs are moved when they run \
                 already, and short ones have often ended before; Ctrl-C ends it"
            )
        }
    }
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn line(placement: &Placement) -> String {
    let Placement { pid, uid, program, group, in_time, took } = placement;
    let how = match (took, in_time) {
        (Some(took), true) => format!("after {}", human(*took, "s")),
        _ => "while it ran".into(),
    };
    format!("{group}: {program} (process {pid} of user {uid}), {how}")
}

fn placed(placement: &Placement) -> Value {
    let mut event = json!(placement);
    event["event"] = "placed".into();
    event
}

/// What was done, for people.
fn summary(watched: &WatchResult) -> Vec<String> {
    let WatchResult { tally, restarts, stay } = watched;
    let mut lines = vec![format!(
        "{} seen: {} inherited their group, {} moved, {} left alone, {} missed",
        count(tally.seen(), "program"),
        tally.inherited,
        tally.moved,
        tally.left,
        tally.missed
    )];
    let times = [("inherited", &tally.inherited_time), ("moved", &tally.moved_time)];
    let times: Vec<String> = times
        .iter()
        .filter_map(|(what, times)| {
            let of = |share| times.quantile(share).map(|nanos| human(nanos / 1e9, "s"));
            Some(format!("{what} median {}, p99 {}", of(0.5)?, of(0.99)?))
        })
        .collect();
    if !times.is_empty() {
        lines.push(format!("held a program: {}", times.join("; ")));
    }
    if let Some(share) = tally.share() {
        lines.push(format!(
            "used {:.2} % of a processor over {}",
            share * 100.0,
            human(tally.ran.as_secs_f64(), "s")
        ));
    }
    let also = [
        (tally.before, "before it began: their memory so far stays charged where it was"),
        (tally.late, "later than they started"),
    ];
    let moved = |(number, when): &(u64, &str)| {
        format!("moved {} that ran already, {when}", processes_in_words(*number))
    };
    lines.extend(also.iter().filter(|(number, _)| *number > 0).map(moved));
    if *restarts > 0 {
        lines.push(format!("the watcher was started again {}", count(u64::from(*restarts), "time")));
    }
    if !stay.is_empty() {
        lines.push(format!(
            "processes are in groups that rules made; these stay: {}",
            several(&stay.iter().cloned().collect::<Vec<_>>())
        ));
    }
    lines
}

/// The same as the last line of JSON, in seconds and shares.
fn result(watched: &WatchResult) -> Value {
    let tally: &Tally = &watched.tally;
    let quantiles = |times: &crosstalk_core::histogram::Histogram| {
        let of = |share| times.quantile(share).map(|nanos| nanos / 1e9);
        json!({ "median": of(0.5), "p99": of(0.99) })
    };
    json!({
        "result": "groups",
        "seen": tally.seen(),
        "inherited": tally.inherited,
        "moved": tally.moved,
        "left": tally.left,
        "missed": tally.missed,
        "late": tally.late,
        "before": tally.before,
        "held": { "inherited": quantiles(&tally.inherited_time), "moved": quantiles(&tally.moved_time) },
        "cpu": tally.cpu.as_secs_f64(),
        "ran": tally.ran.as_secs_f64(),
        "share": tally.share(),
        "restarts": watched.restarts,
        "stay": watched.stay,
    })
}
