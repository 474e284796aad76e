//! `crosstalk groups` with its verbs.

mod cost;
mod effect;
mod frame;
mod keep;
mod keys;
mod names;
mod page;
mod remove;
mod set;
mod tune;
mod tune_text;
mod view;
mod watch;
mod working_set;

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_groups::{CreateRequest, GroupName, Profile, ProfileRequest, User, create};
use crosstalk_host::{Launcher, Ledger};
use serde_json::json;

use crate::args::{GroupsArgs, GroupsCreateArgs, GroupsVerb};
use crate::out::{Out, print_error};
use names::{parse, several};

pub use keep::why;
pub use watch::place;

/// Runs `crosstalk groups`.
pub fn main(args: GroupsArgs, out: &Out) -> Result<ExitCode, Fault> {
    if matches!(args.verb, GroupsVerb::List | GroupsVerb::Show(_)) {
        // Settings of a killed `groups keep`, in which programs may wait.
        Ledger::undo_abandoned();
    }
    match args.verb {
        GroupsVerb::Create(args) => make(&args, out)?,
        GroupsVerb::Set(args) => set::set(&args, out)?,
        GroupsVerb::List => view::list(out)?,
        GroupsVerb::Show(args) if args.working_set => working_set::show(&args, out)?,
        GroupsVerb::Show(args) if args.watch => page::watch(&args, out)?,
        GroupsVerb::Show(args) => view::show(&args, out)?,
        GroupsVerb::Watch(args) => return watch::main(&args, out),
        GroupsVerb::Keep(args) => keep::keep(&args, out)?,
        GroupsVerb::Remove(args) => remove::remove(&args, out)?,
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
    out.record(&json!({ "result": "groups", "made": created.names, "notes": created.notes, "parents": created.parents }));
    Ok(())
}

/// The names, or those with numbers behind them.
fn requested_names(args: &GroupsCreateArgs) -> Result<Vec<GroupName>, Fault> {
    let names = parse(&args.names)?;
    match (args.count, names.as_slice()) {
        (None, _) => Ok(names),
        (Some(count), [name]) => (0..count).map(|number| name.numbered(number)).collect(),
        (Some(_), _) => Err(Fault::usage(format!("expected one name to number, found {}", names.len()))
            .at("--count")
            .remedy("create them by a command each")),
    }
}
