//! What a registry says: the groups that are to exist, and where they stand.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crosstalk_cgroup::group::Group;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use serde::{Deserialize, Serialize};

use crate::name::GroupName;
use crate::profile::Profile;
use crate::when_full::WhenFull;

/// The version of the file.
pub const SCHEMA: &str = "crosstalk.groups/1";

/// A group that is to exist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Registered {
    /// What it may have.
    #[serde(flatten)]
    pub profile: Profile,
    /// The user that may put programs into it, besides its maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The most processes and threads in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// What is to be done when its memory is full, if that is not what its profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
}

impl Registered {
    /// A group of this profile, with what that says.
    pub fn new(profile: Profile) -> Self {
        Registered { profile, user: None, processes: None, when_full: None }
    }

    /// What is to be done when its memory is full.
    pub fn when_full(&self) -> WhenFull {
        self.when_full.unwrap_or(WhenFull::of(&self.profile))
    }
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    pub(crate) schema: String,
    /// Controller of v1, or nothing for v2 → the directory that all groups stand in.
    #[serde(default)]
    pub parents: BTreeMap<String, PathBuf>,
    /// Whether the service manager of the system or of the user made the parent of v2, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<Manager>,
    /// What disables the controllers again that were enabled for the parents: `-cpu`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disable: Vec<String>,
    /// The groups.
    pub groups: BTreeMap<GroupName, Registered>,
}

/// A service manager, systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// The machine's.
    System,
    /// This user's own.
    User,
}

impl Default for Contents {
    fn default() -> Self {
        Contents {
            schema: SCHEMA.into(),
            parents: BTreeMap::new(),
            manager: None,
            disable: Vec::new(),
            groups: BTreeMap::new(),
        }
    }
}

impl Contents {
    /// The group that all stand in.
    pub fn parent(&self) -> Group {
        Group::new(self.parents.clone())
    }

    /// The registered group of that name.
    ///
    /// # Errors
    /// A usage fault that names the nearest one if there is none.
    pub fn find(&self, name: &GroupName) -> Result<&Registered, Fault> {
        self.groups.get(name).ok_or_else(|| unregistered(name, &self.groups))
    }
}

/// The fault of a name that no group has: the nearest one.
pub fn unregistered<T>(name: &GroupName, groups: &BTreeMap<GroupName, T>) -> Fault {
    let fault = unknown("group", name.as_str(), groups.keys().map(GroupName::as_str));
    match fault.remedy.as_deref() {
        None => fault.remedy("there is none; make one: crosstalk groups create NAME"),
        Some(near) if near.starts_with("did you mean") => fault,
        // There may be a thousand.
        Some(_) => fault.remedy("see those that there are: crosstalk groups list"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(names: &[&str]) -> Contents {
        let group = || Registered::new(Profile::BestEffort { limit: None });
        let groups = names.iter().map(|name| (name.parse().expect("is a name"), group()));
        Contents { groups: groups.collect(), ..Contents::default() }
    }

    #[test]
    fn an_unknown_group_is_answered_with_the_nearest() {
        let find = |contents: Contents, name: &str| {
            contents
                .find(&name.parse().expect("is a name"))
                .expect_err("is unknown")
                .remedy
                .expect("a remedy")
        };
        assert_eq!(find(contents(&["lab/alice", "web"]), "lab/alise"), "did you mean `lab/alice`?");
        assert!(find(contents(&["web"]), "laboratory").contains("crosstalk groups list"));
        assert!(find(Contents::default(), "lab").contains("crosstalk groups create"));
    }
}
