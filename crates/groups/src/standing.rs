//! The groups that are registered, and whether the kernel still has them.

use std::collections::BTreeMap;

use crosstalk_cgroup::group::Group;
use crosstalk_core::Fault;
use serde::Serialize;

use crate::contents::{Registered, unregistered};
use crate::name::GroupName;
use crate::registry::Registry;

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
    let (mut all, mut parents) = (BTreeMap::new(), Vec::new());
    for registry in registries {
        let contents = registry.read()?;
        for (name, registered) in contents.groups.clone() {
            // Of two of the same name this user's own counts.
            all.entry(name).or_insert((registered, parents.len()));
        }
        parents.push(contents.parent());
    }
    if let Some(name) = within.filter(|name| !all.contains_key(name)) {
        return Err(unregistered(name, &all));
    }
    let meant = |name: &GroupName| within.is_none_or(|within| name == within || name.is_in(within));
    let found = all.into_iter().filter(|(name, _)| meant(name));
    let standing = found.map(|(name, (registered, registry))| {
        let group = parents[registry].below(name.as_str());
        Standing { name, registered, group }
    });
    Ok(standing.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A registry in a folder whose groups are folders, too.
    fn registry(folder: &Path, names: &[&str], memory: u64) -> Registry {
        let group = format!(r#"{{"profile":"guaranteed","memory":{memory}}}"#);
        let groups: Vec<String> = names.iter().map(|name| format!(r#""{name}":{group}"#)).collect();
        let parents = ["cpu", "memory"].map(|tree| format!(r#""{tree}":"{}/{tree}""#, folder.display()));
        let text = format!(
            r#"{{"schema":"crosstalk.groups/1","parents":{{{}}},"groups":{{{}}}}}"#,
            parents.join(","),
            groups.join(",")
        );
        let path = folder.join("groups.json");
        fs::write(&path, text).expect("writes");
        Registry::at(path)
    }

    fn name(text: &str) -> GroupName {
        text.parse().expect("is a name")
    }

    #[test]
    fn own_groups_come_before_those_of_root() {
        let (own, roots) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let registries =
            [registry(own.path(), &["lab", "lab/alice"], 1), registry(roots.path(), &["lab", "web"], 2)];
        let all = among(&registries, None).expect("reads");
        let found: Vec<(&str, u64)> = all
            .iter()
            .map(|one| (one.name.as_str(), one.registered.profile.guaranteed().expect("is guaranteed").0))
            .collect();
        assert_eq!(found, [("lab", 1), ("lab/alice", 1), ("web", 2)]);
        assert_eq!(all[2].group.dir("cpu"), Some(roots.path().join("cpu/web").as_path()));
        let within = among(&registries, Some(&name("lab"))).expect("reads");
        assert_eq!(within.len(), 2, "with those in it");
        let fault = among(&registries, Some(&name("wep"))).expect_err("is unknown");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `web`?"));
    }

    #[test]
    fn a_group_exists_in_all_trees_in_some_or_in_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let registries = [registry(folder.path(), &["lab"], 1)];
        let existence = || among(&registries, None).expect("reads")[0].existence();
        assert_eq!(existence(), Existence::Vanished);
        fs::create_dir_all(folder.path().join("cpu/lab")).expect("makes");
        assert_eq!(existence(), Existence::Partly);
        fs::create_dir_all(folder.path().join("memory/lab")).expect("makes");
        assert_eq!(existence(), Existence::Whole);
    }
}
