//! Which group is meant by a name, and what `crosstalk exec` has started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use crosstalk_cgroup::exec::{BACKGROUND, FOREGROUND, called};
use crosstalk_cgroup::group::{Group, Hierarchy, anybodys, below};

/// How long a process may take to enter its group's directories: in the idle class it waits for others meanwhile.
const ENTERING: Duration = Duration::from_secs(2);
/// The time between two checks whether it has.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A group by its name, by the name that `crosstalk exec --name` gave it, or by that of its program.
///
/// # Errors
/// Where there is none, or `crosstalk exec --foreground` has started what is called so.
pub(super) fn group(name: &Path, hierarchy: &Hierarchy) -> Result<Group, Fault> {
    let text = name.display().to_string();
    let program = called(&text);
    let started = await_entered(hierarchy, |whole| {
        [&text, &program].iter().any(|name| is_called(whole, BACKGROUND, name))
    });
    let find = |name: &str| {
        let one = started.iter().find(|(whole, _)| is_called(whole, BACKGROUND, name));
        one.map(|(_, group)| group.clone())
    };
    // Its name as it was given, then a group of that path, then the name of the program that was started.
    if let Some(group) = find(&text) {
        return Ok(group);
    }
    Group::named(name, hierarchy).or_else(|unknown| match find(&program) {
        Some(group) => Ok(group),
        None if is_foreground(&text, hierarchy) || is_foreground(&program, hierarchy) => Err(Fault::usage(
            format!("{text} is foreground work: `crosstalk exec --foreground` has started it"),
        )
        .at("--background")
        .remedy("start it by `crosstalk exec --background`, or name its processes by --pid")),
        None => Err(unknown.at("--background")),
    })
}

/// What `crosstalk exec --background` has started, by whomever: names and groups. A group that is being entered is
/// left for the next time.
pub(super) fn started(hierarchy: &Hierarchy) -> Vec<(String, Group)> {
    made(hierarchy).into_iter().filter_map(|(name, group)| Some((name, group?))).collect()
}

/// The same, once no group that is `meant` is being entered, or has been for long.
fn await_entered(hierarchy: &Hierarchy, meant: impl Fn(&str) -> bool) -> Vec<(String, Group)> {
    let until = Instant::now() + ENTERING;
    while Instant::now() < until && made(hierarchy).iter().any(|(name, group)| group.is_none() && meant(name))
    {
        thread::sleep(POLL_INTERVAL);
    }
    started(hierarchy)
}

/// The groups that `crosstalk exec --background` has made, by name; `None` for one that is being entered.
fn made(hierarchy: &Hierarchy) -> Vec<(String, Option<Group>)> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for place in anybodys(hierarchy) {
        for name in below(&place).into_iter().filter(|name| name.starts_with(BACKGROUND)) {
            let dir = place.join(&name);
            found.entry(name).or_default().push(dir);
        }
    }
    // In which trees it is elsewhere, one that is in it says so; who has started an empty one is
    // about to start what goes into it.
    let group = |name: &str, dirs: &[PathBuf]| {
        let first = Group::new(BTreeMap::from([(String::new(), dirs.first()?.clone())]));
        Some(Group::around(*first.processes().first()?, name)).filter(|group| is_whole(group, dirs))
    };
    found.into_iter().map(|(name, dirs)| (name.clone(), group(&name, &dirs))).collect()
}

/// Whether the group has all the directories of its name: a process enters them one after another when it starts.
fn is_whole(group: &Group, dirs: &[PathBuf]) -> bool {
    let paths = group.paths();
    dirs.iter().all(|dir| paths.contains(dir))
}

/// Whether the group `whole` was made for work of that kind that was called so.
fn is_called(whole: &str, kind: &str, name: &str) -> bool {
    let mark = whole.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-')?.strip_prefix(name));
    mark.and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|mark| mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether `crosstalk exec --foreground` has started something of this name.
fn is_foreground(name: &str, hierarchy: &Hierarchy) -> bool {
    anybodys(hierarchy).iter().flat_map(|place| below(place)).any(|whole| is_called(&whole, FOREGROUND, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_being_entered_is_left_for_the_next_time() {
        let [v2, cpu] = ["/v2/crosstalk-background-x-0123abcd", "/cpu/crosstalk-background-x-0123abcd"];
        let dirs = [PathBuf::from(v2), PathBuf::from(cpu)];
        let group = |at: &[(&str, &str)]| {
            Group::new(at.iter().map(|(tree, dir)| (tree.to_string(), PathBuf::from(dir))).collect())
        };
        assert!(is_whole(&group(&[("", v2), ("cpu", cpu), ("cpuacct", cpu)]), &dirs));
        assert!(!is_whole(&group(&[("", v2)]), &dirs));
        assert!(!is_whole(&group(&[]), &dirs));
    }

    #[test]
    fn a_group_is_known_by_the_name_that_it_was_given() {
        assert!(is_called("crosstalk-foreground-night-0123abcd", FOREGROUND, "night"));
        for other in [
            "crosstalk-foreground-night-0123abc",
            "crosstalk-foreground-nightly-0123abcd",
            "night",
            "crosstalk-foreground-night",
        ] {
            assert!(!is_called(other, FOREGROUND, "night"), "{other}");
        }
        assert!(!is_called("crosstalk-foreground-night-0123abcd", BACKGROUND, "night"));
    }
}
