//! `crosstalk groups` with its verbs.

mod cost;
mod effect;
mod frame;
mod keep;
mod keys;
mod names;
mod page;
mod tune;
mod tune_text;
mod view;
mod watch;
mod working_set;

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_groups::{
    CreateRequest, GroupName, Profile, ProfileRequest, RemoveRequest, User, create, remove,
};
use crosstalk_host::Launcher;
use serde_json::json;

use crate::args::{GroupsArgs, GroupsCreateArgs, GroupsRemoveArgs, GroupsVerb};
use crate::out::{Out, print_error};
use names::{parse, several};

pub use keep::why;
pub use watch::place;

/// Runs `crosstalk groups`.
pub fn main(args: GroupsArgs, out: &Out) -> Result<ExitCode, Fault> {
    match args.verb {
        GroupsVerb::Create(args) => make(&args, out)?,
        GroupsVerb::List => view::list(out)?,
        GroupsVerb::Show(args) if args.working_set => working_set::show(&args, out)?,
        GroupsVerb::Show(args) if args.watch => page::watch(&args, out)?,
        GroupsVerb::Show(args) => view::show(&args, out)?,
        GroupsVerb::Watch(args) => return watch::main(&args, out),
        GroupsVerb::Keep(args) => keep::keep(&args, out)?,
        GroupsVerb::Remove(args) => unmake(&args, out)?,
        GroupsVerb::Tune(args) => tune::main(&args, out)?,
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
    let when_full = args.when_full.map(Into::into);
    let names = requested_names(args)?;
    let request = CreateRequest { names, profile, user, processes: args.processes, when_full };
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
