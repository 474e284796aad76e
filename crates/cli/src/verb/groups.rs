//! `crosstalk groups create`, `list`, `show` and `remove`.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_groups::{
    CreateRequest, Existence, GroupName, Numbers, Profile, ProfileRequest, Rates, RemoveRequest, Standing,
    User, create, remove, standing, table,
};
use crosstalk_host::Launcher;
use serde_json::{Value, json};

use crate::args::{GroupsArgs, GroupsCreateArgs, GroupsRemoveArgs, GroupsShowArgs, GroupsVerb};
use crate::out::{Out, print_error};

/// The time over which `show` counts.
const COUNTED: Duration = Duration::from_millis(500);
/// What a table has for what is not known or not set.
const NONE: &str = "–";
/// The most names that a line has.
const NAMED: usize = 4;

/// Runs `crosstalk groups`.
pub fn main(args: GroupsArgs, out: &Out) -> Result<ExitCode, Fault> {
    match args.verb {
        GroupsVerb::Create(args) => make(&args, out)?,
        GroupsVerb::List => list(out)?,
        GroupsVerb::Show(args) => show(&args, out)?,
        GroupsVerb::Remove(args) => unmake(&args, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn make(args: &GroupsCreateArgs, out: &Out) -> Result<(), Fault> {
    let size = |text: &Option<String>, option: &str| {
        text.as_deref().map(|text| text.parse::<Bytes>().map_err(|fault| fault.at(option))).transpose()
    };
    let profile = Profile::try_from(ProfileRequest {
        kind: args.profile.into(),
        memory: size(&args.memory, "--memory")?,
        limit: size(&args.memory_limit, "--memory-limit")?,
        cpus: args.cpus,
    })?;
    let user =
        args.user.as_deref().map(|user| User::find(user).map_err(|fault| fault.at("--user"))).transpose()?;
    let request = CreateRequest { names: requested_names(args)?, profile, user };
    let created = create(&request, &Launcher::current())?;
    out.say(&format!("made {}", several(&created.names)));
    created.notes.iter().for_each(|note| print_error(note));
    out.record(&json!({ "result": "groups", "made": created.names, "notes": created.notes }));
    Ok(())
}

/// The names, or those with numbers behind them.
fn requested_names(args: &GroupsCreateArgs) -> Result<Vec<GroupName>, Fault> {
    let names = parse(&args.names)?;
    match (args.count, names.as_slice()) {
        (None, _) => Ok(names),
        (Some(count), [name]) => Ok((0..count).map(|number| name.numbered(number)).collect()),
        (Some(_), _) => Err(Fault::usage(format!("expected one name to number, found {}", names.len()))
            .at("--count")
            .remedy("create them by a command each")),
    }
}

fn parse(names: &[String]) -> Result<Vec<GroupName>, Fault> {
    names.iter().map(|name| name.parse()).collect()
}

fn several(names: &[GroupName]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(GroupName::as_str).collect();
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn list(out: &Out) -> Result<(), Fault> {
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
    print(["group", "profile", "memory", "limit", "CPUs", "user", "uses"], &rows, out);
    out.record(&json!({ "result": "groups", "groups": all.len() }));
    Ok(())
}

fn processes(count: usize) -> String {
    if count == 1 { "1 process".into() } else { format!("{count} processes") }
}

fn show(args: &GroupsShowArgs, out: &Out) -> Result<(), Fault> {
    let within = args.name.as_deref().map(str::parse).transpose()?;
    let all = standing(within.as_ref())?;
    let snapshot = || -> Vec<(Instant, Numbers)> {
        all.iter().map(|one| (Instant::now(), Numbers::read(&one.group))).collect()
    };
    let before = snapshot();
    if !all.is_empty() {
        thread::sleep(COUNTED);
    }
    let after = snapshot();
    let rows: Vec<[String; 8]> = all
        .iter()
        .zip(before.iter().zip(&after))
        .map(|(one, ((began, before), (ended, after)))| {
            let rates = after.since(before, ended.duration_since(*began));
            out.record(&event(one, after, Some(&rates)));
            row(one, after, &rates)
        })
        .collect();
    let head = [
        "group",
        "CPU",
        "memory",
        "working set",
        "refaults",
        "waits: CPU, memory, devices",
        "processes",
        "killed",
    ];
    print(head, &rows, out);
    out.record(&json!({ "result": "groups", "groups": all.len(), "over": COUNTED.as_secs_f64() }));
    Ok(())
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

fn print<const N: usize>(head: [&str; N], rows: &[[String; N]], out: &Out) {
    if rows.is_empty() {
        return out.say("There are no groups. Make one: crosstalk groups create NAME");
    }
    table(head, rows).iter().for_each(|line| out.say(line));
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

fn unmake(args: &GroupsRemoveArgs, out: &Out) -> Result<(), Fault> {
    let names = if args.all { None } else { Some(parse(&args.names)?) };
    let removed = remove(&RemoveRequest { names, kill: args.kill })?;
    match removed.names.as_slice() {
        [] => out.say("There are no groups."),
        names => out.say(&format!("removed {}", several(names))),
    }
    if !removed.vanished.is_empty() {
        let vanished = several(&removed.vanished);
        out.say(&format!("had vanished before, by something else than this command: {vanished}"));
    }
    if removed.stays.0 > 0 {
        let size = human(removed.stays.0 as f64, "B");
        out.say(&format!("{size} stay charged to removed groups, until nothing uses that memory any more"));
    }
    out.record(&json!({
        "result": "groups", "removed": removed.names, "vanished": removed.vanished, "stays": removed.stays,
    }));
    Ok(())
}
