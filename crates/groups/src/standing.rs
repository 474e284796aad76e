//! The groups that are registered, and whether the kernel still has them.

use std::collections::BTreeMap;

use crosstalk_cgroup::group::Group;
use crosstalk_core::Fault;
use serde::Serialize;

use crate::name::GroupName;
use crate::registry::{Registered, Registry, unregistered};

/// Whether a registered group exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Existence {
    /// In every tree.
    Whole,
    /// Some of its directories were removed behind our back.
    Partly,
    /// All were.
    Vanished,
}

/// A registered group.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Its name.
    pub name: GroupName,
    /// What it may have.
    pub registered: Registered,
    /// Its directories, which may be gone.
    pub group: Group,
}

impl Standing {
    /// Whether it exists.
    pub fn existence(&self) -> Existence {
        match (self.group.exists(), self.group.is_whole()) {
            (false, _) => Existence::Vanished,
            (true, false) => Existence::Partly,
            (true, true) => Existence::Whole,
        }
    }
}

/// The groups that this user may see: all, or one and those in it.
///
/// # Errors
/// A usage fault if there is no such group; otherwise if a registry cannot be read.
pub fn standing(within: Option<&GroupName>) -> Result<Vec<Standing>, Fault> {
    among(&Registry::readable(), within)
}

fn among(registries: &[Registry], within: Option<&GroupName>) -> Result<Vec<Standing>, Fault> {
    let mut all: BTreeMap<GroupName, (Registered, Group)> = BTreeMap::new();
    for registry in registries {
        let contents = registry.read()?;
        let parent = contents.parent();
        for (name, registered) in contents.groups {
            // Of two of the same name this user's own counts.
            let group = parent.below(name.as_str());
            all.entry(name).or_insert((registered, group));
        }
    }
    if let Some(name) = within.filter(|name| !all.contains_key(name)) {
        return Err(unregistered(name, &all));
    }
    let meant = |name: &GroupName| within.is_none_or(|within| name == within || name.is_in(within));
    let found = all.into_iter().filter(|(name, _)| meant(name));
    Ok(found.map(|(name, (registered, group))| Standing { name, registered, group }).collect())
}
