//! `crosstalk groups set`.

use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, quoted};
use crosstalk_groups::{SetRequest, User};
use crosstalk_host::Launcher;
use serde_json::json;

use super::names::{parse, several};
use crate::args::GroupsSetArgs;
use crate::out::{Out, print_error};

/// Changes groups.
pub fn set(args: &GroupsSetArgs, out: &Out) -> Result<(), Fault> {
    let request = SetRequest {
        names: parse(&args.names)?,
        kind: args.profile.map(Into::into),
        memory: or_none(&args.memory, "--memory", str::parse::<Bytes>)?,
        limit: or_none(&args.memory_limit, "--memory-limit", str::parse::<Bytes>)?,
        cpus: or_none(&args.cpus, "--cpus", |text| {
            text.parse().map_err(|_| expected("processors such as 1.5", text))
        })?,
        processes: or_none(&args.processes, "--processes", processes)?,
        user: or_none(&args.user, "--user", User::find)?,
        when_full: args.when_full.map(Into::into),
    };
    if request == (SetRequest { names: request.names.clone(), ..SetRequest::default() }) {
        return Err(Fault::usage("there is nothing to change").remedy("add for example --memory-limit 4GiB"));
    }
    let changed = crosstalk_groups::set(&request, &Launcher::current())?;
    out.say(&format!("changed {}", several(&changed.names)));
    changed.notes.iter().for_each(|note| print_error(note));
    out.record(&json!({ "result": "groups", "changed": changed.names, "notes": changed.notes }));
    Ok(())
}

/// The value of an option, `none` included; nothing if it is not named.
fn or_none<T>(
    text: &Option<String>,
    option: &str,
    parse: impl Fn(&str) -> Result<T, Fault>,
) -> Result<Option<Option<T>>, Fault> {
    let parse = |text: &str| match text {
        "none" => Ok(None),
        _ => parse(text).map(Some).map_err(|fault| fault.at(option)),
    };
    text.as_deref().map(parse).transpose()
}

fn processes(text: &str) -> Result<u32, Fault> {
    let number = text.parse().ok().filter(|number| (1..=4_194_304).contains(number));
    number.ok_or_else(|| expected("1 to 4194304 processes", text))
}

fn expected(what: &str, text: &str) -> Fault {
    Fault::usage(format!("expected {what}, or none, found `{}`", quoted(text)))
}
