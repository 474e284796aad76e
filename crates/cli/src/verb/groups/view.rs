//! What groups may have and use: `list` prints it, `show` counts over a time.

use std::io::IsTerminal;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_groups::{
    Existence, GroupName, Numbers, Profile, Rates, Standing, Threads, processes_in_words, standing, table,
};
use serde_json::{Value, json};

use super::names::parse;
use crate::args::GroupsShowArgs;
use crate::out::Out;

/// The time over which `show` counts.
const COUNTED: Duration = Duration::from_millis(500);
/// What a table has for what is not known or not set.
pub const NONE: &str = "–";

/// Runs `crosstalk groups list`.
pub fn list(out: &Out) -> Result<(), Fault> {
    let all = standing(None)?;
    let size = |bytes: Option<Bytes>| bytes.map_or(NONE.into(), |bytes| human(bytes.0 as f64, "B"));
    let rows: Vec<[String; 8]> = all
        .iter()
        .map(|one| {
            let (profile, numbers) = (&one.registered.profile, Numbers::read(&one.group));
            out.record(&event(one, &numbers, None));
            [
                called(one),
                profile.name().into(),
                size(profile.guaranteed().or(profile.requested())),
                size(profile.limit()),
                cpus(profile),
                one.registered.processes.map_or(NONE.into(), |most| most.to_string()),
                one.registered.user.clone().unwrap_or(NONE.into()),
                format!(
                    "{} in {}{}",
                    size(numbers.memory),
                    processes_in_words(numbers.processes as u64),
                    refused(numbers.threads.as_ref())
                ),
            ]
        })
        .collect();
    let head = ["group", "profile", "memory", "limit", "CPUs", "processes", "user", "uses"];
    lines(head, &rows).iter().for_each(|line| out.say(line));
    out.record(&json!({ "result": "groups", "groups": all.len() }));
    Ok(())
}

/// Starts of processes that a limit refused, if it refused any.
fn refused(threads: Option<&Threads>) -> String {
    let refused = threads.map_or(0, |threads| threads.refused);
    if refused == 0 { String::new() } else { format!(", starts refused: {refused}") }
}

/// The processors of a profile: a limit, or a share.
fn cpus(profile: &Profile) -> String {
    match (profile, profile.cpus()) {
        (_, None) => NONE.into(),
        (Profile::Guaranteed { .. }, Some(cpus)) => format!("{cpus} at most"),
        (_, Some(cpus)) => format!("share of {cpus}"),
    }
}

/// Runs `crosstalk groups show`.
pub fn show(args: &GroupsShowArgs, out: &Out) -> Result<(), Fault> {
    let within = parse(&args.names)?;
    let before = Snapshot::take(&within)?;
    if !before.0.is_empty() {
        thread::sleep(COUNTED);
    }
    let counted = Snapshot::take(&within)?.since(&before);
    counted.iter().for_each(|one| out.record(&event(&one.standing, &one.numbers, Some(&one.rates))));
    let is_folded = within.is_empty() && std::io::stdout().is_terminal();
    let (idle, busy): (Vec<_>, Vec<_>) = counted.iter().partition(|one| is_folded && one.is_idle());
    if !busy.is_empty() || idle.is_empty() {
        rows(&busy).iter().for_each(|line| out.say(line));
    }
    if !idle.is_empty() {
        out.say(&folded(&idle));
    }
    out.record(&json!({ "result": "groups", "groups": counted.len(), "over": COUNTED.as_secs_f64() }));
    Ok(())
}

/// What was counted for each group until a time.
pub struct Snapshot(Vec<(Standing, Instant, Numbers)>);

/// What was counted for a group over a time.
pub struct GroupReading {
    pub standing: Standing,
    pub numbers: Numbers,
    pub rates: Rates,
}

impl GroupReading {
    /// Whether nothing happens in it, and nothing did that an operator should know.
    fn is_idle(&self) -> bool {
        let none = |rate: Option<f64>| rate.is_none_or(|rate| rate < 0.005);
        let (rates, numbers) = (&self.rates, &self.numbers);
        self.standing.existence() == Existence::Whole
            && [rates.processors, rates.refaults, rates.waits.cpu, rates.waits.memory, rates.waits.io]
                .into_iter()
                .all(none)
            && numbers.oom_kills.unwrap_or(0) == 0
            && numbers.threads.is_none_or(|threads| threads.refused == 0)
    }
}

/// Idle groups on one line.
fn folded(idle: &[&GroupReading]) -> String {
    let names: Vec<&str> = idle.iter().map(|one| one.standing.name.as_str()).collect();
    let memory: u64 = idle.iter().filter_map(|one| one.numbers.memory).map(|bytes| bytes.0).sum();
    let groups = if idle.len() == 1 { "idle group has" } else { "idle groups have" };
    format!(
        "{} {groups} {} of memory: {} (with their names, or --json, they are listed)",
        idle.len(),
        human(memory as f64, "B"),
        names.join(", ")
    )
}

impl Snapshot {
    /// Counts for these groups and those in them; for all if there is no name.
    pub fn take(within: &[GroupName]) -> Result<Snapshot, Fault> {
        within.iter().try_for_each(|name| standing(Some(name)).map(drop))?;
        let is_meant = |one: &Standing| {
            within.is_empty() || within.iter().any(|name| one.name == *name || one.name.is_in(name))
        };
        let read = |one: Standing| {
            let (at, numbers) = (Instant::now(), Numbers::read(&one.group));
            (one, at, numbers)
        };
        Ok(Snapshot(standing(None)?.into_iter().filter(is_meant).map(read).collect()))
    }

    /// What was counted since an earlier one. A group may have come meanwhile.
    pub fn since(&self, before: &Snapshot) -> Vec<GroupReading> {
        let counted = |(one, ended, numbers): &(Standing, Instant, Numbers)| {
            let earlier = before.0.iter().find(|(earlier, ..)| earlier.name == one.name);
            let rates = earlier.map_or(Rates::default(), |(_, began, before)| {
                numbers.since(before, ended.duration_since(*began))
            });
            GroupReading { standing: one.clone(), numbers: numbers.clone(), rates }
        };
        self.0.iter().map(counted).collect()
    }
}

/// The lines of the table.
pub fn rows(counted: &[&GroupReading]) -> Vec<String> {
    let rows: Vec<[String; 10]> =
        counted.iter().map(|one| row(&one.standing, &one.numbers, &one.rates)).collect();
    let head = [
        "group",
        "CPU",
        "memory",
        "working set",
        "refaults",
        "waits: CPU/memory/disk",
        "delay",
        "processes",
        "refused",
        "killed",
    ];
    lines(head, &rows)
}

fn row(one: &Standing, numbers: &Numbers, rates: &Rates) -> [String; 10] {
    let or_none = |value: Option<String>| value.unwrap_or(NONE.into());
    let size = |bytes: Bytes| human(bytes.0 as f64, "B");
    let memory = numbers.memory.map(|memory| match numbers.limit {
        Some(limit) => format!("{} of {}", size(memory), size(limit)),
        None => size(memory),
    });
    [
        called(one),
        or_none(rates.processors.map(|processors| format!("{processors:.2}"))),
        or_none(memory),
        or_none(numbers.working_set.map(size)),
        rate(rates.refaults),
        [rates.waits.cpu, rates.waits.memory, rates.waits.io].map(share).join(" / "),
        delay(rates.delay),
        within(numbers),
        or_none(numbers.threads.map(|threads| threads.refused.to_string())),
        or_none(numbers.oom_kills.map(|kills| kills.to_string())),
    ]
}

/// How many processes there are, and with a limit how many threads these have of how many they may.
fn within(numbers: &Numbers) -> String {
    match numbers.threads {
        Some(Threads { count, limit: Some(limit), .. }) => {
            format!("{} ({count} of {limit})", numbers.processes)
        }
        _ => numbers.processes.to_string(),
    }
}

/// How long a thread that was ready waited for a processor.
pub fn delay(delay: Option<f64>) -> String {
    delay.map_or(NONE.into(), |delay| human(delay, "s"))
}

/// A share of the time.
pub fn share(share: Option<f64>) -> String {
    share.map_or(NONE.into(), |share| format!("{:.0} %", share * 100.0))
}

/// So many a second.
pub fn rate(rate: Option<f64>) -> String {
    rate.map_or(NONE.into(), |rate| human(rate, "1/s"))
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
pub fn event(one: &Standing, numbers: &Numbers, rates: Option<&Rates>) -> Value {
    json!({
        "event": "group",
        "name": one.name,
        "registered": one.registered,
        "exists": one.existence(),
        "directories": one.group.paths_by_tree(),
        "cpu": numbers.cpu.map(|time| time.as_secs_f64()),
        "memory": numbers.memory,
        "limit": numbers.limit,
        "working_set": numbers.working_set,
        "refaults": numbers.refaults,
        "processes": numbers.processes,
        "threads": numbers.threads,
        "oom_kills": numbers.oom_kills,
        "rates": rates,
    })
}
