//! Changing groups: all that a command names, or none. Programs in them go on.

use std::collections::BTreeSet;

use crosstalk_cgroup::group::{Hierarchy, may_write};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::{Launcher, Ledger};

use crate::budget::protections;
use crate::changes::Changes;
use crate::contents::{Contents, Registered};
use crate::name::GroupName;
use crate::parents::{Site, hold};
use crate::profile::Profile;
use crate::registry::Registry;
use crate::request::{ProfileKind, ProfileRequest};
use crate::systemd;
use crate::user::User;
use crate::when_full::WhenFull;

/// A change to groups. What is `None` stays as it is; of what is `Some(None)` there is none from then on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SetRequest {
    /// Their names.
    pub names: Vec<GroupName>,
    /// Another profile. It keeps the memory, the limit and the processors that it has a place for.
    pub kind: Option<ProfileKind>,
    /// Memory that is protected.
    pub memory: Option<Option<Bytes>>,
    /// Memory that is never exceeded.
    pub limit: Option<Option<Bytes>>,
    /// Processors.
    pub cpus: Option<Option<f64>>,
    /// The most processes and threads in each.
    pub processes: Option<Option<u32>>,
    /// The user that may put programs into them.
    pub user: Option<Option<User>>,
    /// What is to be done when their memory is full.
    pub when_full: Option<WhenFull>,
}

/// Groups that were changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Their names.
    pub names: Vec<GroupName>,
    /// What happened to their memory, and what this host cannot give them, in a line each.
    pub notes: Vec<String>,
}

/// Changes groups of this user's registry. A kill undoes it, too. One in the moment between the new registry and the
/// ledger's last entry may leave sizes that the registry does not have: the same request again sets them.
///
/// # Errors
/// A usage fault if there is no such group, or the request is one that [`create`](crate::create()) refuses; an
/// environment fault if a group uses more memory than its new limit and the kernel cannot push it out, or the kernel
/// refuses otherwise. Then none is changed.
pub fn set(request: &SetRequest, launcher: &Launcher) -> Result<Changed, Fault> {
    let Some(registry) = Registry::existing() else {
        return with(&Contents::default(), request).map(|_| Changed { names: Vec::new(), notes: Vec::new() });
    };
    // Before the registry is locked: what killed commands have left is undone with its lock.
    let ledger = Ledger::open(launcher)?;
    let mut locked = registry.lock()?;
    let before = locked.contents().clone();
    let next = with(&before, request)?;
    let hierarchy = Hierarchy::here();
    let site = Site::find(&before, &hierarchy, &may_write, systemd::is_booted())?;
    let machine = site.machine(&hierarchy);
    let mut notes = Vec::new();
    for name in &request.names {
        notes.extend(machine.check(&next.groups[name].profile).map_err(|fault| of(name, fault))?);
    }
    let (old, new) = (protections(&before.groups, &machine), protections(&next.groups, &machine)?);
    let mut changes = Changes::default();
    let done = changes
        .make(&before, &next, &request.names, &ledger)
        .and_then(|()| hold(&next, &new))
        .and_then(|()| {
            let user = request.user.as_ref();
            user.map_or(Ok(()), |user| changes.share(&next, &request.names, user.as_ref()))
        })
        .and_then(|()| locked.replace(next));
    if let Err(fault) = done {
        changes.undo();
        // It held before, unless the machine has less since.
        let _ = old.and_then(|old| hold(&before, &old));
        return Err(fault);
    }
    notes.extend(changes.leave()?);
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    Ok(Changed { names: request.names.clone(), notes })
}

/// The registry with the changes.
fn with(contents: &Contents, request: &SetRequest) -> Result<Contents, Fault> {
    let mut next = contents.clone();
    for name in &request.names {
        let found = contents.find(name).map_err(|fault| Registry::unlisted(name, fault))?;
        let changed = changed(found, request).map_err(|fault| of(name, fault))?;
        next.groups.insert(name.clone(), changed);
    }
    Ok(next)
}

fn changed(group: &Registered, request: &SetRequest) -> Result<Registered, Fault> {
    let now = ProfileRequest::from(group.profile);
    let now = request.kind.map_or(now, |kind| now.of_kind(kind));
    let profile = Profile::try_from(ProfileRequest {
        kind: now.kind,
        memory: request.memory.unwrap_or(now.memory),
        limit: request.limit.unwrap_or(now.limit),
        cpus: request.cpus.unwrap_or(now.cpus),
    })?;
    let user = request.user.as_ref().map(|user| user.as_ref().map(|user| user.name.clone()));
    Ok(Registered {
        profile,
        user: user.unwrap_or(group.user.clone()),
        processes: request.processes.unwrap_or(group.processes),
        when_full: request.when_full.or(group.when_full),
    })
}

/// The fault of one of several groups.
fn of(name: &GroupName, fault: Fault) -> Fault {
    Fault { message: format!("`{name}`: {}", fault.message), ..fault }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: Bytes = Bytes(1 << 30);

    fn name(text: &str) -> GroupName {
        text.parse().expect("is a name")
    }

    fn contents(of: &[(&str, Profile)]) -> Contents {
        let group = |(text, profile): &(&str, Profile)| (name(text), Registered::new(*profile));
        Contents { groups: of.iter().map(group).collect(), ..Contents::default() }
    }

    fn guaranteed(cpus: Option<f64>) -> Profile {
        Profile::Guaranteed { memory: GIB, cpus }
    }

    #[test]
    fn what_is_not_named_stays() {
        let registered = Registered {
            processes: Some(7),
            user: Some("alice".into()),
            ..Registered::new(guaranteed(Some(2.0)))
        };
        let set = |request: SetRequest| changed(&registered, &request);
        assert_eq!(set(SetRequest::default()), Ok(registered.clone()));
        let more = set(SetRequest { memory: Some(Some(Bytes(2 << 30))), ..SetRequest::default() });
        assert_eq!(
            more.map(|group| group.profile),
            Ok(Profile::Guaranteed { memory: Bytes(2 << 30), cpus: Some(2.0) })
        );
        let none =
            SetRequest { user: Some(None), processes: Some(None), cpus: Some(None), ..SetRequest::default() };
        assert_eq!(set(none), Ok(Registered::new(guaranteed(None))));
        let fault =
            set(SetRequest { limit: Some(Some(GIB)), ..SetRequest::default() }).expect_err("is its memory");
        assert_eq!(fault.place.as_deref(), Some("--memory-limit"));
    }

    #[test]
    fn another_profile_keeps_what_it_has_a_place_for() {
        let to = |profile: Profile, kind: ProfileKind| {
            let request = SetRequest { kind: Some(kind), ..SetRequest::default() };
            changed(&Registered::new(profile), &request).map(|group| group.profile)
        };
        let (memory, cpus) = (Some(GIB), Some(2.0));
        let burstable = Profile::Burstable { memory, limit: Some(Bytes(2 << 30)), cpus };
        assert_eq!(to(burstable, ProfileKind::Guaranteed), Ok(guaranteed(cpus)));
        assert_eq!(
            to(burstable, ProfileKind::BestEffort),
            Ok(Profile::BestEffort { limit: Some(Bytes(2 << 30)) })
        );
        assert_eq!(
            to(guaranteed(cpus), ProfileKind::Burstable),
            Ok(Profile::Burstable { memory, limit: None, cpus })
        );
        let fault =
            to(Profile::BestEffort { limit: memory }, ProfileKind::Guaranteed).expect_err("needs memory");
        assert!(fault.remedy.is_some_and(|said| said.contains("--memory")));
    }

    #[test]
    fn all_that_are_named_are_known() {
        let contents = contents(&[("lab", guaranteed(None))]);
        let request = SetRequest {
            names: vec![name("lab"), name("lap")],
            processes: Some(Some(9)),
            ..SetRequest::default()
        };
        let fault = with(&contents, &request).expect_err("is unknown");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `lab`?"));
    }
}
