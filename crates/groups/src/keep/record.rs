//! Which groups `groups keep` has ended, and why: a file beside the registry, for whoever waits for a process of theirs.
//!
//! It is written before the processes are killed, so that it is there when the first of them has ended. It has the
//! last end of each registered group.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::event::FullMemory;
use super::victim::Reason;
use crate::name::GroupName;
use crate::registry::Registry;

/// The file, beside the registry. Users with whom a group is shared may read it.
const FILE: &str = "ended.json";

/// The end of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupEnd {
    /// Why it was chosen.
    pub reason: Reason,
    /// Which memory was full.
    pub full: FullMemory,
    /// How many ends of groups there were before it: no other one has the number.
    number: u64,
}

type Record = BTreeMap<GroupName, GroupEnd>;

/// Records that a group is about to be ended. `exists`: which groups are registered still. Without the record the group
/// is ended all the same.
pub fn add(name: &GroupName, reason: Reason, full: &FullMemory, exists: impl Fn(&GroupName) -> bool) {
    if let Ok(registry) = Registry::own() {
        let _ = add_at(&beside(&registry), name, reason, full, exists);
    }
}

/// The last ends of a group, one of each registry that this user may read.
pub fn ends(name: &GroupName) -> Vec<GroupEnd> {
    Registry::readable().iter().filter_map(|registry| read(&beside(registry)).remove(name)).collect()
}

fn beside(registry: &Registry) -> PathBuf {
    registry.path().with_file_name(FILE)
}

/// One that is damaged says nothing.
fn read(path: &Path) -> Record {
    fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

fn add_at(
    path: &Path,
    name: &GroupName,
    reason: Reason,
    full: &FullMemory,
    exists: impl Fn(&GroupName) -> bool,
) -> std::io::Result<()> {
    let mut record = read(path);
    let number = record.values().map(|end| end.number + 1).max().unwrap_or(0);
    record.retain(|name, _| exists(name));
    record.insert(name.clone(), GroupEnd { reason, full: full.clone(), number });
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec(&record)?)?;
    // Also under a strict umask.
    fs::set_permissions(&new, Permissions::from_mode(0o644))?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Bytes;

    #[test]
    fn each_end_is_another_one_and_groups_that_are_gone_are_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(FILE);
        let name = |text: &str| text.parse::<GroupName>().expect("is a name");
        let full = FullMemory { of: None, limit: Bytes(1 << 30), available: None };
        let add = |of: &str| add_at(&path, &name(of), Reason::BestEffort, &full, |one| *one != name("gone"));
        assert_eq!(read(&path), Record::new(), "there is none yet");
        add("lab/bob").expect("writes");
        let first = read(&path);
        add("gone").expect("writes");
        add("lab/bob").expect("writes");
        let second = read(&path);
        assert_ne!(first[&name("lab/bob")], second[&name("lab/bob")], "it was ended twice");
        assert_eq!(second.keys().collect::<Vec<_>>(), [&name("lab/bob")]);
        fs::write(&path, "{").expect("writes");
        assert_eq!(read(&path), Record::new(), "it is damaged");
    }
}
