//! What groups may have and use: `list` prints it once, `show` counts over a time, once or again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_groups::{Existence, GroupName, Numbers, Rates, Standing, standing, table};
use serde_json::{Value, json};

use crate::args::GroupsShowArgs;
use crate::out::Out;
use crate::picture::Picture;
use crate::signal;

/// The time over which `show` counts.
const COUNTED: Duration = Duration::from_millis(500);
/// The same of each picture with `--watch`.
const WATCHED: Duration = Duration::from_secs(1);
/// How often that checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a table has for what is not known or not set.
const NONE: &str = "–";

/// Runs `crosstalk groups list`.
pub fn list(out: &Out) -> Result<(), Fault> {
    let all = standing(None)?;
    let size = |bytes: Option<Bytes>| bytes.map_or(NONE.into(), |bytes| human(bytes.0 as f64, "B"));
    let rows: Vec<[String; 7]> = all
        .iter()
        .map(|one| {
            let (profile, numbers) = (&one.registered.profile, Numbers::read(&one.group));
            out.record(&event(one, &numbers, None));
            [
                called(one),
                profile.name().into(),
                size(profile.guaranteed().or(profile.requested())),
                size(profile.limit()),
                profile.cpus().map_or(NONE.into(), |cpus| cpus.to_string()),
                one.registered.user.clone().unwrap_or(NONE.into()),
                format!("{} in {}", size(numbers.memory), processes(numbers.processes)),
            ]
        })
        .collect();
    let head = ["group", "profile", "memory", "limit", "CPUs", "user", "uses"];
    lines(head, &rows).iter().for_each(|line| out.say(line));
    out.record(&json!({ "result": "groups", "groups": all.len() }));
    Ok(())
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".into() } else { format!("{count} processes") }
}

/// Runs `crosstalk groups show`.
pub fn show(args: &GroupsShowArgs, out: &Out) -> Result<(), Fault> {
    let within = super::parse(&args.names)?;
    if args.watch {
        return watch(&within, out);
    }
    let before = snapshot(&within)?;
    if !before.is_empty() {
        thread::sleep(COUNTED);
    }
    let after = snapshot(&within)?;
    counted(&before, &after, out).iter().for_each(|line| out.say(line));
    out.record(&json!({ "result": "groups", "groups": after.len(), "over": COUNTED.as_secs_f64() }));
    Ok(())
}

/// Shows it every second, until it is interrupted.
fn watch(within: &[GroupName], out: &Out) -> Result<(), Fault> {
    let interrupted = signal::interrupted()?;
    let draws = Picture::is_possible(out);
    let (mut picture, mut before) = (Picture::new(out), snapshot(within)?);
    while wait(&interrupted) {
        let after = snapshot(within)?;
        let lines = counted(&before, &after, out);
        if draws {
            let cut = |line: String| line.chars().take(out.width()).collect();
            picture.draw(&lines.into_iter().map(cut).collect::<Vec<String>>());
        } else {
            lines.iter().for_each(|line| out.say(line));
            out.say("");
        }
        before = after;
    }
    out.record(&json!({ "result": "groups", "groups": before.len(), "over": WATCHED.as_secs_f64() }));
    Ok(())
}

/// Waits for the next picture. Returns false if it was interrupted.
fn wait(interrupted: &AtomicBool) -> bool {
    let until = Instant::now() + WATCHED;
    while Instant::now() < until {
        if interrupted.load(Ordering::SeqCst) {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// What was counted for a group until a time.
type Reading = (Standing, Instant, Numbers);

fn snapshot(within: &[GroupName]) -> Result<Vec<Reading>, Fault> {
    let read = |one: Standing| {
        let (at, numbers) = (Instant::now(), Numbers::read(&one.group));
        (one, at, numbers)
    };
    let mut all = standing(None)?;
    if !within.is_empty() {
        within.iter().try_for_each(|name| standing(Some(name)).map(drop))?;
        all.retain(|one| within.iter().any(|name| one.name == *name || one.name.is_in(name)));
    }
    Ok(all.into_iter().map(read).collect())
}

/// The lines of the table between two snapshots; prints them as JSON. A group may have come meanwhile.
fn counted(before: &[Reading], after: &[Reading], out: &Out) -> Vec<String> {
    let rows: Vec<[String; 8]> = after
        .iter()
        .map(|(one, ended, numbers)| {
            let earlier = before.iter().find(|(earlier, ..)| earlier.name == one.name);
            let rates = earlier.map_or(Rates::default(), |(_, began, before)| {
                numbers.since(before, ended.duration_since(*began))
            });
            out.record(&event(one, numbers, Some(&rates)));
            row(one, numbers, &rates)
        })
        .collect();
    let head = ["group", "CPU", "memory", "working set", "refaults", "waits", "processes", "killed"];
    lines(head, &rows)
}

fn row(one: &Standing, numbers: &Numbers, rates: &Rates) -> [String; 8] {
    let or_none = |value: Option<String>| value.unwrap_or(NONE.into());
    let size = |bytes: Bytes| human(bytes.0 as f64, "B");
    let share = |share: Option<f64>| or_none(share.map(|share| format!("{:.0} %", share * 100.0)));
    let memory = numbers.memory.map(|memory| match numbers.limit {
        Some(limit) => format!("{} of {}", size(memory), size(limit)),
        None => size(memory),
    });
    [
        called(one),
        or_none(rates.processors.map(|processors| format!("{processors:.2}"))),
        or_none(memory),
        or_none(numbers.working_set.map(size)),
        or_none(rates.refaults.map(|rate| human(rate, "1/s"))),
        format!("{}, {}, {}", share(rates.waits.cpu), share(rates.waits.memory), share(rates.waits.io)),
        numbers.processes.to_string(),
        or_none(numbers.oom_kills.map(|kills| kills.to_string())),
    ]
}

/// The name, and whether the group is gone.
fn called(one: &Standing) -> String {
    match one.existence() {
        Existence::Whole => one.name.to_string(),
        Existence::Partly => format!("{} (partly removed)", one.name),
        Existence::Vanished => format!("{} (vanished)", one.name),
    }
}

fn lines<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["There are no groups. Make one: crosstalk groups create NAME".into()];
    }
    table(head, rows)
}

/// A line of JSON for a group; units are seconds, bytes and processors.
fn event(one: &Standing, numbers: &Numbers, rates: Option<&Rates>) -> Value {
    json!({
        "event": "group",
        "name": one.name,
        "registered": one.registered,
        "exists": one.existence(),
        "cpu": numbers.cpu.map(|time| time.as_secs_f64()),
        "memory": numbers.memory,
        "limit": numbers.limit,
        "working_set": numbers.working_set,
        "refaults": numbers.refaults,
        "processes": numbers.processes,
        "oom_kills": numbers.oom_kills,
        "rates": rates,
    })
}
