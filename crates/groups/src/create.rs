//! Making groups: all that a command names, or none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crosstalk_cgroup::group::{Group, Hierarchy, Setting, may_write};
use crosstalk_core::Fault;
use crosstalk_host::ledger::{Batch, Entry, Knob};
use crosstalk_host::{Launcher, Ledger};

use crate::budget::{Protections, protections};
use crate::contents::{Contents, Registered};
use crate::name::GroupName;
use crate::parents::{Site, hold};
use crate::profile::Profile;
use crate::registry::{LockedRegistry, Registry};
use crate::systemd;
use crate::user::User;
use crate::when_full::WhenFull;

/// Groups that are to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRequest {
    /// Their names. One that is in another one comes after it.
    pub names: Vec<GroupName>,
    /// What each may have.
    pub profile: Profile,
    /// The user that may put programs into them.
    pub user: Option<User>,
    /// The most processes and threads in each.
    pub processes: Option<u32>,
    /// What is to be done when their memory is full, if that is not what the profile says.
    pub when_full: Option<WhenFull>,
}

/// Groups that were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Their names.
    pub names: Vec<GroupName>,
    /// What this host cannot give them, and what holds for all groups together, in a line each.
    pub notes: Vec<String>,
    /// Controller of v1, or nothing for v2 → the directory that all groups stand in.
    pub parents: BTreeMap<String, PathBuf>,
}

/// Makes groups, and lists them in this user's registry.
///
/// # Errors
/// A usage fault if a name is taken, a parent is missing, or more memory is guaranteed than there is; an environment
/// fault if this user may make no groups, or the kernel refuses. Then none is made.
pub fn create(request: &CreateRequest, launcher: &Launcher) -> Result<Created, Fault> {
    create_from(&Hierarchy::here(), request, launcher)
}

/// The same for a process that was elsewhere in the hierarchy when it began.
///
/// # Errors
/// Those of [`create`].
pub(crate) fn create_from(
    hierarchy: &Hierarchy,
    request: &CreateRequest,
    launcher: &Launcher,
) -> Result<Created, Fault> {
    // Before the registry is locked: what killed commands have left is undone with its lock.
    let ledger = Ledger::open(launcher)?;
    let registry = Registry::own()?;
    let mut locked = registry.lock()?;
    let mut next = with(locked.contents(), request)?;
    let mut site = Site::find(locked.contents(), hierarchy, &may_write, systemd::is_booted())?;
    let machine = site.machine(hierarchy);
    let mut notes = machine.check(&request.profile)?;
    notes.extend(machine.note());
    let protections = protections(&next.groups, &machine)?;
    let mut changes = Changes { knobs: site.enable(&ledger)?, entry: None };
    let parents = site.name(&systemd::HERE, hierarchy)?;
    request.names.iter().try_for_each(|name| check_free(name, &parents.below(name.as_str())))?;
    next.parents = parents.paths_by_tree();
    next.manager = site.manager;
    next.disable.extend(changes.knobs.iter().map(|knob| knob.original().to_string()));
    let batch = Batch {
        parents: parents.paths(),
        names: request.names.iter().map(ToString::to_string).collect(),
        registry: registry.path().into(),
    };
    changes.entry = Some(ledger.batch(batch, &summary(&request.names))?);
    let made = site
        .build(&parents, hierarchy)
        .and_then(|()| make(request, &mut locked, next, &protections))
        .map(|lacking| {
            notes.extend(lacking);
            Created { names: request.names.clone(), notes, parents: parents.paths_by_tree() }
        });
    // If something failed, undoing it takes the lock.
    drop(locked);
    changes.end(made)
}

/// Checks that nobody else has a group of that name: it would be taken for ours, and undone.
pub(crate) fn check_free(name: &GroupName, group: &Group) -> Result<(), Fault> {
    let Some(taken) = group.paths().into_iter().find(|path| path.exists()) else { return Ok(()) };
    let fault = if taken.is_dir() {
        Fault::usage(format!("there is a control group `{name}` that is not registered")).remedy(format!(
            "choose another name; if a killed command has left it: crosstalk clean; else: rmdir {}",
            taken.display()
        ))
    } else {
        kernels_file()
    };
    Err(fault.at(taken.display().to_string()))
}

/// The fault of a name that a file of the kernel has.
pub(crate) fn kernels_file() -> Fault {
    Fault::usage("the kernel has a file of this name").remedy("choose another name")
}

/// Changes that are listed in the ledger until the registry has taken the groups over.
struct Changes {
    // Undone in this order.
    entry: Option<Entry>,
    knobs: Vec<Knob>,
}

impl Changes {
    fn end<T>(self, made: Result<T, Fault>) -> Result<T, Fault> {
        let made = made?;
        self.knobs.into_iter().try_for_each(Knob::forget)?;
        self.entry.map_or(Ok(()), Entry::done)?;
        Ok(made)
    }
}

/// Makes the groups, and has the registry take them over. Returns what the host cannot give.
fn make(
    request: &CreateRequest,
    locked: &mut LockedRegistry,
    next: Contents,
    protections: &Protections,
) -> Result<Vec<String>, Fault> {
    let parents = next.parent();
    let mut notes = Vec::new();
    let mut enabled: Option<GroupName> = None;
    for name in &request.names {
        let group = parents.below(name.as_str());
        if let Some(parent) = name.parent().filter(|parent| enabled.as_ref() != Some(parent)) {
            let above = parents.below(parent.as_str());
            above.enable_within().map_err(|fault| Fault { place: None, ..fault }.at(parent.to_string()))?;
            enabled = Some(parent);
        }
        group.create()?;
        request.profile.apply(&group)?;
        if let Some(most) = request.processes {
            group.set(&Setting::Processes(Some(most.into())))?;
        }
        if let Some(user) = &request.user {
            user.admit(&group)?;
        }
        if notes.is_empty() {
            notes.extend(request.profile.shortfall(&group));
            notes.extend(request.user.as_ref().and_then(|user| user.shortfall(&group)));
        }
    }
    hold(&next, protections)?;
    locked.replace(next)?;
    Ok(notes)
}

/// The registry with the requested groups.
pub(crate) fn with(contents: &Contents, request: &CreateRequest) -> Result<Contents, Fault> {
    let mut next = contents.clone();
    for name in &request.names {
        if let Some(parent) = name.parent() {
            next.find(&parent).map_err(|fault| missing_parent(fault, name, &next))?;
        }
        let user = request.user.as_ref().map(|user| user.name.clone());
        let group = Registered {
            profile: request.profile,
            user,
            processes: request.processes,
            when_full: request.when_full,
        };
        if next.groups.insert(name.clone(), group).is_some() {
            return Err(Fault::usage(format!("there is a group `{name}`, or it is named twice"))
                .at(name.to_string())
                .remedy(format!(
                    "choose another name; to change it: crosstalk groups set {name} --memory-limit 4GiB"
                )));
        }
    }
    Ok(next)
}

/// The fault of a group whose parent is missing: the nearest name, and the command that makes all that is missing.
fn missing_parent(fault: Fault, name: &GroupName, contents: &Contents) -> Fault {
    let mut missing = vec![name.clone()];
    while let Some(parent) = missing[0].parent().filter(|parent| !contents.groups.contains_key(parent)) {
        missing.insert(0, parent);
    }
    let missing: Vec<&str> = missing.iter().map(GroupName::as_str).collect();
    let near = fault.remedy.clone().filter(|said| said.starts_with("did you mean"));
    let near = near.map_or(String::new(), |near| format!("{near} or "));
    fault
        .at(name.to_string())
        .remedy(format!("{near}make it, too: crosstalk groups create {}", missing.join(" ")))
}

/// The groups, for people.
fn summary(names: &[GroupName]) -> String {
    match names {
        [only] => format!("control group {only}"),
        [first, second] => format!("control groups {first} and {second}"),
        [first, rest @ ..] => format!("control groups {first} and {} more", rest.len()),
        [] => "no control group".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::request::ProfileRequest;

    fn request(names: &[&str]) -> CreateRequest {
        CreateRequest {
            names: names.iter().map(|name| name.parse().expect("is a name")).collect(),
            profile: Profile::try_from(ProfileRequest::default()).expect("is whole"),
            user: Some(User { name: "alice".into(), id: 1000 }),
            processes: None,
            when_full: None,
        }
    }

    #[test]
    fn a_parent_is_registered_or_comes_first() {
        let empty = Contents::default();
        let contents = with(&empty, &request(&["lab", "lab/alice"])).expect("in this order");
        assert_eq!(contents.groups.len(), 2);
        assert!(contents.groups.values().all(|group| group.user.as_deref() == Some("alice")));
        assert!(with(&contents, &request(&["lab/bob"])).is_ok());
        let fault = with(&empty, &request(&["lab/alice", "lab"])).expect_err("in this order");
        assert_eq!(fault.place.as_deref(), Some("lab/alice"));
        assert!(fault.remedy.is_some_and(|said| said.contains("create lab lab/alice")));
        let remedy = |name: &str| with(&contents, &request(&[name])).expect_err("is missing").remedy;
        let make = "make it, too: crosstalk groups create";
        assert_eq!(remedy("x/y"), Some(format!("{make} x x/y")), "x is not like lab");
        assert_eq!(remedy("x/y/z"), Some(format!("{make} x x/y x/y/z")));
        assert_eq!(remedy("lap/bob"), Some(format!("did you mean `lab`? or {make} lap lap/bob")));
    }

    #[test]
    fn a_name_is_given_once() {
        let contents = with(&Contents::default(), &request(&["lab"])).expect("is new");
        for names in [&["lab"][..], &["web", "web"]] {
            let fault = with(&contents, &request(names)).expect_err("is taken");
            assert!(fault.message.contains("there is a group") && fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn what_is_not_ours_is_not_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parents = Group::new([(String::new(), folder.path().to_path_buf())].into());
        let check = |name: &str| check_free(&name.parse().expect("is a name"), &parents.below(name));
        assert_eq!(check("lab"), Ok(()));
        fs::create_dir(folder.path().join("lab")).expect("makes");
        fs::write(folder.path().join("tasks"), "").expect("writes");
        assert!(check("lab").expect_err("is another's").remedy.is_some_and(|said| said.contains("rmdir")));
        assert!(check("tasks").expect_err("is the kernel's").message.contains("the kernel has a file"));
    }

    #[test]
    fn many_are_summed_up() {
        let of = |names: &[&str]| summary(&request(names).names);
        assert_eq!(of(&["a"]), "control group a");
        assert_eq!(of(&["a", "b"]), "control groups a and b");
        assert_eq!(of(&["a", "b", "c"]), "control groups a and 2 more");
    }
}
