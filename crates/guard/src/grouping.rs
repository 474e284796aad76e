//! The groups of a process and its descendants: those that they have to themselves, and one that is made for them where
//! they share theirs with others.

use crosstalk_core::Fault;

use super::guarded_group::GuardedGroup;
use super::guarded_groups::GuardedGroups;
use super::rules::Rules;
use crosstalk_cgroup::exec::{GUESTS, USAGE};
use crosstalk_cgroup::group::{Group, OwnGroup};
use crosstalk_cgroup::process::{Process, all, descendants};

/// Controllers of v1 in whose trees nobody is moved: memory's charges would not follow, and nothing is
/// done to numbers of processes.
const STAYS: [&str; 2] = ["memory", "pids"];
/// How often descendants are searched for: each time all that are there are moved.
const SEARCHES: usize = 3;

/// Guards a process and its descendants, but for those that rules say are foreground work.
///
/// # Errors
/// Where it is not there, is foreground work or has started this guard, or its group cannot be guarded.
pub(super) fn guard_process(
    pid: u32,
    name: &str,
    rules: &Rules,
    groups: &GuardedGroups,
) -> Result<GuardedGroup, Fault> {
    let processes = all();
    let first = find(pid, &processes)?;
    let tree = background_tree(pid, &processes, rules);
    if tree.contains(&std::process::id()) {
        return Err(Fault::usage(format!("process {pid} has started this guard: it cannot be background"))
            .at("--pid")
            .remedy("guard from another terminal, or as a service of its own"));
    }
    if tree.is_empty() {
        return Err(Fault::usage(format!("process {pid} is foreground work by a rule")));
    }
    let (alone, shared) =
        Group::of_process(pid)?.parted(|controller| is_alone(first, controller, &tree, &processes));
    let (_, shared) = shared.parted(|controller| STAYS.contains(&controller));
    if shared.is_nowhere() {
        return groups.guard(name, alone, None);
    }
    let made = OwnGroup::for_guests(GUESTS, &shared, &groups.ledger)?;
    // Who comes to be while others are moved is found the next time. Those that it has put into
    // other groups stay there: that has a reason.
    for _ in 0..SEARCHES {
        let processes = all();
        let tree = background_tree(pid, &processes, rules);
        let left = processes.iter().filter(|one| tree.contains(&one.pid) && one.groups == first.groups);
        for one in left {
            made.group().take_in(one.pid)?;
        }
    }
    let group = alone.with(made.group());
    groups.guard(name, group, Some(made))
}

/// The group of a process that it and its descendants have to themselves.
///
/// # Errors
/// Where it shares it with others, or is not there.
pub(super) fn group_alone(pid: u32) -> Result<Group, Fault> {
    let processes = all();
    let first = find(pid, &processes)?;
    let tree = descendants(pid, &processes);
    let (alone, _) =
        Group::of_process(pid)?.parted(|controller| is_alone(first, controller, &tree, &processes));
    if alone.file(&USAGE).is_some() {
        return Ok(alone);
    }
    Err(Fault::environment(format!(
        "process {pid} shares its control group with others, so that its CPU time cannot be read apart from foreground work's"
    ))
    .remedy("start it as a service of its own, or guard as root"))
}

fn find(pid: u32, processes: &[Process]) -> Result<&Process, Fault> {
    processes.iter().find(|process| process.pid == pid).ok_or_else(|| {
        Fault::usage(format!("there is no process {pid}")).remedy("find its number: pgrep -l NAME")
    })
}

/// A process and its descendants, without those that rules say are foreground work, and theirs.
fn background_tree(pid: u32, all: &[Process], rules: &Rules) -> Vec<u32> {
    let left: Vec<Process> = all.iter().filter(|process| !rules.foreground(process)).cloned().collect();
    if left.iter().any(|process| process.pid == pid) { descendants(pid, &left) } else { Vec::new() }
}

/// Whether a process and its descendants have their group in a tree to themselves.
fn is_alone(first: &Process, controller: &str, tree: &[u32], all: &[Process]) -> bool {
    let Some(group) = first.group(controller).filter(|group| *group != "/") else { return false };
    let inside = |other: &str| {
        other.strip_prefix(group).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    let there = all.iter().filter(|process| process.group(controller).is_some_and(inside));
    there.into_iter().all(|process| tree.contains(&process.pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, groups: &str) -> Process {
        Process { pid, parent, groups: groups.into(), ..Process::default() }
    }

    #[test]
    fn a_service_has_its_group_to_itself_and_a_login_has_not() {
        let service = "0::/system.slice/boinc-client.service";
        let all = [
            process(1, 0, "0::/init.scope"),
            process(7, 1, service),
            process(8, 7, service),
            process(9, 1, "0::/user.slice/session-1.scope"),
            process(10, 9, "0::/user.slice/session-1.scope"),
        ];
        assert!(is_alone(&all[1], "", &[7, 8], &all));
        assert!(!is_alone(&all[4], "", &[10], &all), "its shell is there, too");
        assert!(!is_alone(&process(7, 1, "0::/"), "", &[7], &all), "the top is everybody's");
    }

    #[test]
    fn each_tree_is_read_by_itself() {
        let all = [process(7, 1, "2:memory:/\n1:cpu:/batch"), process(9, 1, "2:memory:/\n1:cpu:/batch2")];
        assert!(is_alone(&all[0], "cpu", &[7], &all));
        assert!(!is_alone(&all[0], "memory", &[7], &all), "the top is everybody's");
        let below = [process(7, 1, "1:cpu:/batch"), process(9, 1, "1:cpu:/batch/other")];
        assert!(!is_alone(&below[0], "cpu", &[7], &below), "another is below it");
    }

    #[test]
    fn what_is_foreground_by_a_rule_is_no_part_of_background_work() {
        let rules = Rules::parse("schema = \"crosstalk.guard/1\"\n[[foreground]]\ncommand = \"editor\"", "")
            .expect("reads");
        let named = |pid, parent, name: &str| Process { name: name.into(), ..process(pid, parent, "0::/") };
        let all = [named(7, 1, "batch"), named(8, 7, "editor"), named(9, 8, "sh"), named(10, 7, "sh")];
        assert_eq!(background_tree(7, &all, &rules), [7, 10]);
        assert_eq!(background_tree(8, &all, &rules), [0_u32; 0]);
    }
}
