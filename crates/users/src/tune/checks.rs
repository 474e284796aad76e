//! What can be wrong with a request, found before anything runs.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use crosstalk_cgroup::group::{Hierarchy, Location, may_write};
use crosstalk_core::units::{Bytes, human};
use crosstalk_core::{Fault, quoted};
use crosstalk_host::disk::disk_of;
use crosstalk_host::process::cannot;

use super::host::memory_of_host;
use super::plan::CONTROLLERS;
use super::request::TuneRequest;
use crate::mix::Activity;
use crate::population::{Load, Population};

/// Checks all of it.
///
/// # Errors
/// A usage fault at fewer than two users, more memory than the host has, or a command whose program is missing; an
/// environment fault if this user may make no groups, a controller is missing, or the files are on no disk whose reading
/// is to be limited.
pub fn check(request: &TuneRequest) -> Result<(), Fault> {
    let population = &request.population;
    let users = population.users();
    if users < 2 {
        return Err(Fault::usage(format!("expected at least two users to group, found {users}")));
    }
    check_memory(request.memory, memory_of_host().ok())?;
    check_programs(population)?;
    check_groups()?;
    population.machine().read_rate.map_or(Ok(()), |_| disk_of(&request.scratch).map(drop))
}

/// `host`: what there is, if that is known.
fn check_memory(memory: Bytes, host: Option<Bytes>) -> Result<(), Fault> {
    match host.filter(|host| memory.0 > host.0) {
        None => Ok(()),
        Some(host) => {
            let (most, found) = (human(host.0 as f64, "B"), human(memory.0 as f64, "B"));
            Err(Fault::usage(format!("expected at most the {most} that this machine has, found {found}"))
                .at("--memory")
                .remedy("give less, or leave it out: then the machine's memory is divided"))
        }
    }
}

fn check_groups() -> Result<(), Fault> {
    let hierarchy = Hierarchy::here();
    let location = Location::find(&hierarchy, &may_write)?;
    let v2 = hierarchy.v2.as_ref().map(|tree| tree.mount.join("cgroup.controllers"));
    let offered = v2.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let is_missing = |name: &&&str| {
        !location.parents.contains_key(**name) && !offered.split_whitespace().any(|word| word == **name)
    };
    match CONTROLLERS.iter().find(is_missing) {
        None => Ok(()),
        Some(name) => {
            Err(Fault::environment(format!("the control groups' controller `{name}` is missing here"))
                .at("/sys/fs/cgroup")
                .remedy("boot without cgroup_disable; v1: mount it; in a container, run it on the host"))
        }
    }
}

/// Checks that the shell finds what each command begins with. Longer scripts show the rest when they run.
fn check_programs(population: &Population) -> Result<(), Fault> {
    let Load::Each(each) = &population.load else { return Ok(()) };
    let mut known = BTreeSet::new();
    for (user, activity) in each.iter().enumerate() {
        let Activity::Run(command) = activity else { continue };
        let Some(program) = first_word(command).filter(|word| known.insert(*word)) else { continue };
        if !shell_finds(program)? {
            let message =
                format!("there is no program `{}`, which user {} is to run", quoted(program), user + 1);
            return Err(Fault::usage(message).remedy("check its name and PATH"));
        }
    }
    Ok(())
}

/// The word that a command begins with, if the shell takes it as it is.
fn first_word(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let word = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')).unwrap_or(word);
    let is_plain = |c: char| c.is_alphanumeric() || "_./+-".contains(c);
    (!word.starts_with('-') && word.chars().all(is_plain) && !word.is_empty()).then_some(word)
}

/// Whether a word is a program, or a word of the shell's own.
fn shell_finds(word: &str) -> Result<bool, Fault> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "command -v \"$1\"", "sh", word]);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(shell.status().map_err(|e| cannot("run the shell", &e))?.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Machine;

    #[test]
    fn there_is_no_more_memory_than_the_machine_has() {
        let check = |memory, host: Option<u64>| check_memory(Bytes(memory), host.map(Bytes));
        assert!(check(8, Some(8)).is_ok() && check(8, None).is_ok());
        let fault = check(9 << 30, Some(8 << 30)).expect_err("is more");
        assert_eq!(fault.place.as_deref(), Some("--memory"));
        assert!(fault.message.contains("8 GiB") && fault.message.contains("found 9 GiB"), "{fault}");
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_its_user() {
        let check = |commands: &[&str]| {
            let machine = Machine { memory: None, read_rate: None };
            let commands = commands.iter().map(|command| (*command).to_string()).collect();
            check_programs(&Population::of_commands(commands, machine).expect("some"))
        };
        let fine = ["'true'", "/bin/true x", "if true; then :; fi", "A=1 no-such", "(no-such)", "cd / && ls"];
        assert_eq!(check(&fine), Ok(()), "what the shell only sees when it runs is left to it");
        let fault = check(&["true", "no-such-program --flag"]).expect_err("is missing");
        assert!(fault.message.contains("`no-such-program`, which user 2"), "{fault}");
        assert!(check(&["'no-such-program' '-c' 'x'"]).is_err() && check(&["./no-such-file"]).is_err());
    }
}
