//! `crosstalk groups remove`.

use std::io::{BufRead, IsTerminal, stderr, stdin};

use crosstalk_core::Fault;
use crosstalk_core::units::human;
use crosstalk_groups::{RemoveRequest, processes_in_words, standing};
use serde_json::json;

use super::names::{parse, several};
use crate::args::GroupsRemoveArgs;
use crate::out::{Out, print_error};

/// Removes groups.
pub fn remove(args: &GroupsRemoveArgs, out: &Out) -> Result<(), Fault> {
    if args.all && args.kill && !args.yes && !out.json && stdin().is_terminal() && stderr().is_terminal() {
        confirm()?;
    }
    let names = if args.all { None } else { Some(parse(&args.names)?) };
    let removed = crosstalk_groups::remove(&RemoveRequest { names, kill: args.kill })?;
    match removed.names.as_slice() {
        [] => out.say("There are no groups of this user."),
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

/// Asks the person at the terminal if anything would be killed.
fn confirm() -> Result<(), Fault> {
    let all = standing(None)?;
    let tops = all.iter().filter(|one| one.name.parent().is_none());
    let inside: usize = tops.map(|one| one.group.processes_in_any_tree().len()).sum();
    if inside == 0 {
        return Ok(());
    }
    print_error(&format!(
        "remove all groups ({}) and kill {} in them? [y/N]",
        all.len(),
        processes_in_words(inside as u64)
    ));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).map_err(|e| Fault::environment(format!("no answer: {e}")))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Fault::usage("nothing is removed").remedy("answer y, or add --yes")),
    }
}
