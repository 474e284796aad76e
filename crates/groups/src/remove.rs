//! Removing groups, and the memory that would stay charged to them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::time::Duration;

use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::process;
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use crate::budget::protections;
use crate::contents::Contents;
use crate::machine::Machine;
use crate::name::GroupName;
use crate::parents::hold;
use crate::registry::Registry;
use crate::systemd;
use crate::text::processes_in_words;

/// How long killed processes may take to end.
const KILL_DEADLINE: Duration = Duration::from_secs(20);
/// The most processes that a fault names.
const NAMED: usize = 3;

/// Groups that are to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveRequest {
    /// Their names; those in them are meant, too. `None`: all.
    pub names: Option<Vec<GroupName>>,
    /// Kill the processes in them.
    pub kill: bool,
}

/// Groups that are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Their names, with those in them.
    pub names: Vec<GroupName>,
    /// Of these, those that did not exist any more.
    pub vanished: Vec<GroupName>,
    /// Memory that stays charged to them, since it is in use elsewhere or nothing takes it. The kernel keeps a removed
    /// group until its last page goes.
    pub stays: Bytes,
}

/// Removes groups, and takes them off this user's registry.
///
/// # Errors
/// A usage fault if there is no such group, it is root's, or processes are in one and are not to be killed: then none is removed. An
/// environment fault if the kernel refuses: then the rest stays registered.
pub fn remove(request: &RemoveRequest) -> Result<Removed, Fault> {
    let Some(registry) = Registry::existing() else {
        return meant(&Contents::default(), request).map(|_| Removed::default());
    };
    let mut locked = registry.lock()?;
    let mut next = locked.contents().clone();
    let parents = next.parent();
    let meant = meant(&next, request)?;
    let tops = tops(&meant);
    for name in &tops {
        vacate(name, &parents.below(name.as_str()), request.kill)?;
    }
    let mut removed = Removed::default();
    for name in &tops {
        removed.stays.0 += parents.below(name.as_str()).reclaim().0;
    }
    // Those within a group come after it.
    let mut fault = None;
    for name in meant.into_iter().rev() {
        let group = parents.below(name.as_str());
        let existed = group.exists();
        match group.remove() {
            Ok(()) => {
                next.groups.remove(&name);
                removed.vanished.extend((!existed).then(|| name.clone()));
                removed.names.push(name);
            }
            Err(f) => {
                fault = Some(f);
                break;
            }
        }
    }
    removed.names.reverse();
    removed.vanished.reverse();
    if next.groups.is_empty() {
        leave(&mut next, &parents);
    }
    locked.replace(next)?;
    lower_protection(locked.contents())?;
    fault.map_or(Ok(removed), Err)
}

/// The names that are meant, with those in them.
fn meant(contents: &Contents, request: &RemoveRequest) -> Result<BTreeSet<GroupName>, Fault> {
    let Some(names) = &request.names else { return Ok(contents.groups.keys().cloned().collect()) };
    names.iter().try_for_each(|name| {
        contents.find(name).map(drop).map_err(|fault| Registry::unlisted(name, fault))
    })?;
    let is_meant = |one: &&GroupName| names.iter().any(|name| *one == name || one.is_in(name));
    Ok(contents.groups.keys().filter(is_meant).cloned().collect())
}

/// Of these, those that are in no other one.
fn tops(names: &BTreeSet<GroupName>) -> Vec<GroupName> {
    let is_top = |name: &&GroupName| name.parent().is_none_or(|parent| !names.contains(&parent));
    names.iter().filter(is_top).cloned().collect()
}

/// Sees to it that no process is in the group.
fn vacate(name: &GroupName, group: &Group, kill: bool) -> Result<(), Fault> {
    let inside = group.processes_in_any_tree();
    if inside.is_empty() {
        return Ok(());
    }
    if inside.contains(&std::process::id()) {
        return Err(Fault::usage("this command runs in it")
            .at(name.to_string())
            .remedy("run it outside of the group"));
    }
    if kill {
        return group.kill_all(KILL_DEADLINE).map_err(|fault| fault.at(name.to_string()));
    }
    let called = |pid: &u32| process::one(*pid).map(|process| format!("{} {pid}", process.name));
    let mut some: Vec<String> = inside.iter().filter_map(called).take(NAMED).collect();
    if inside.len() > some.len() {
        some.push("…".into());
    }
    let are = if inside.len() == 1 { "is" } else { "are" };
    Err(Fault::usage(format!("{} {are} in it: {}", processes_in_words(inside.len() as u64), some.join(", ")))
        .at(name.to_string())
        .remedy(format!("wait for their end, or kill them: crosstalk groups remove --kill {name}")))
}

/// Removes the parents with the last group, and disables what was enabled for them. All of it may be in use by others.
fn leave(next: &mut Contents, parents: &Group) {
    let _ = match next.manager {
        Some(manager) => systemd::HERE.stop(manager),
        None => Ok(()),
    };
    // Not with what is in them: that is another registry's.
    parents.paths().iter().for_each(|path| drop(fs::remove_dir(path)));
    let file = parents.dir("").and_then(|dir| Some(dir.parent()?.join("cgroup.subtree_control")));
    if let Some(file) = file.filter(|_| !parents.exists()) {
        for controller in &next.disable {
            let file = fs::OpenOptions::new().write(true).open(&file);
            let _ = file.and_then(|mut file| file.write_all(controller.as_bytes()));
        }
    }
    *next = Contents::default();
}

/// Protects no more than what is left needs.
fn lower_protection(contents: &Contents) -> Result<(), Fault> {
    if contents.groups.is_empty() {
        return Ok(());
    }
    // What remains is less than what was allowed.
    let machine = Machine { memory: Bytes(u64::MAX), within: None, processors: usize::MAX };
    let protections = protections(&contents.groups, &machine)?;
    hold(contents, &protections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Registered;
    use crate::profile::Profile;

    fn names(of: &[&str]) -> BTreeSet<GroupName> {
        of.iter().map(|name| name.parse().expect("is a name")).collect()
    }

    fn contents(of: &[&str]) -> Contents {
        let group = || Registered::new(Profile::BestEffort { limit: None });
        Contents {
            groups: names(of).into_iter().map(|name| (name, group())).collect(),
            ..Contents::default()
        }
    }

    #[test]
    fn a_group_goes_with_those_in_it() {
        let contents = contents(&["lab", "lab-2", "lab/a", "lab/a/b", "web"]);
        let of = |names: Option<Vec<GroupName>>| meant(&contents, &RemoveRequest { names, kill: false });
        let lab = Some(vec!["lab".parse().expect("is a name")]);
        assert_eq!(of(lab), Ok(names(&["lab", "lab/a", "lab/a/b"])));
        assert_eq!(of(None).map(|all| all.len()), Ok(5));
        let fault = of(Some(vec!["wep".parse().expect("is a name")])).expect_err("is unknown");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `web`?"));
    }

    #[test]
    fn memory_is_taken_at_the_top() {
        let all = names(&["lab", "lab-2", "lab/a", "lab/a/b", "web/x"]);
        assert_eq!(tops(&all), names(&["lab", "lab-2", "web/x"]).into_iter().collect::<Vec<_>>());
    }
}
