//! Control groups that are created together and then handed over to a registry: a file that lists the groups that are
//! to stay. Its replacement by a new version (rename(2)) hands all of them over at once. Until then the ledger removes
//! them.
//!
//! The registry is JSON. Its `groups` have the names that are listed as keys; nothing else of it matters here.

use crosstalk_core::Fault;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::group;

/// Between two attempts to lock a registry.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Groups that are created together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The directories that the groups stand in, one in each hierarchy. They are removed with the last group.
    pub parents: Vec<PathBuf>,
    /// The groups' names below each of the parents. One that is in another one comes after it.
    pub names: Vec<String>,
    /// The file that takes them over.
    pub registry: PathBuf,
}

/// The lock of a registry: one process at a time changes it and what it lists.
#[derive(Debug)]
pub struct RegistryLock {
    /// The registry's folder, locked while it is open (flock(2)).
    _folder: File,
}

impl RegistryLock {
    /// Takes the lock of the registry at this path.
    ///
    /// # Errors
    /// If its folder cannot be opened, or another process has the lock during the whole timeout.
    pub fn take(registry: &Path, timeout: Duration) -> Result<RegistryLock, Fault> {
        let path = registry.parent().unwrap_or(Path::new("/"));
        let at = |fault: Fault| fault.at(path.display().to_string());
        let folder = File::open(path).map_err(|e| at(Fault::environment(e.to_string())))?;
        let until = Instant::now() + timeout;
        loop {
            match folder.try_lock() {
                Ok(()) => return Ok(RegistryLock { _folder: folder }),
                Err(TryLockError::Error(e)) => {
                    return Err(at(Fault::environment(format!("cannot lock it: {e}"))));
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(at(Fault::environment(
                        "another command changes control groups at the moment",
                    ))
                    .remedy("wait until it has ended, and try again"));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

/// What matters of a registry here.
#[derive(Deserialize)]
struct Listed {
    groups: BTreeMap<String, IgnoredAny>,
}

/// The names that a registry lists; none if there is no registry.
fn listed(registry: &Path) -> Result<BTreeMap<String, IgnoredAny>, Fault> {
    let at = |e: String| Fault::environment(e).at(registry.display().to_string());
    match fs::read(registry) {
        Ok(text) => {
            let listed: Listed = serde_json::from_slice(&text).map_err(|e| at(e.to_string()))?;
            Ok(listed.groups)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(e) => Err(at(e.to_string())),
    }
}

/// Removes the groups that the registry does not list, with what is in them.
///
/// # Errors
/// If one still exists at the deadline, or the registry cannot be locked or read.
pub(super) fn remove_unlisted(batch: &Batch, deadline: Duration) -> Result<(), Fault> {
    let _lock = match batch.registry.parent().is_some_and(Path::exists) {
        true => Some(RegistryLock::take(&batch.registry, deadline)?),
        // Without a folder there is no registry, and nobody has its lock.
        false => None,
    };
    let listed = listed(&batch.registry)?;
    let names = batch.names.iter().rev().filter(|name| !listed.contains_key(*name));
    let paths = names.flat_map(|name| batch.parents.iter().map(move |parent| parent.join(name)));
    // The kernel may have a file of that name.
    let there: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    group::remove(&there, &[], deadline)?;
    if listed.is_empty() {
        // One that holds other groups stays.
        batch.parents.iter().for_each(|parent| drop(fs::remove_dir(parent)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the trees `a` and `b`, and a batch of `names` in it; all of them exist.
    fn batch(names: &[&str]) -> (tempfile::TempDir, Batch) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parents = ["a", "b"].map(|tree| folder.path().join(tree).join("groups")).to_vec();
        let all = parents.iter().flat_map(|parent| names.iter().map(|name| parent.join(name)));
        all.for_each(|path| fs::create_dir_all(path).expect("creates"));
        let names = names.iter().map(|name| (*name).to_string()).collect();
        let registry = folder.path().join("groups.json");
        (folder, Batch { parents, names, registry })
    }

    #[test]
    fn without_a_registry_all_are_removed_with_their_parents() {
        let (_folder, batch) = batch(&["lab", "lab/alice", "other"]);
        remove_unlisted(&batch, Duration::from_secs(1)).expect("removes");
        assert!(batch.parents.iter().all(|parent| !parent.exists()));
        remove_unlisted(&batch, Duration::from_secs(1)).expect("has nothing to do");
    }

    #[test]
    fn what_the_registry_lists_stays() {
        let (_folder, batch) = batch(&["lab", "other"]);
        fs::write(&batch.registry, r#"{"schema":"x","groups":{"lab":{"memory":1}}}"#).expect("writes");
        remove_unlisted(&batch, Duration::from_secs(1)).expect("removes");
        let there = |name: &str| batch.parents.iter().all(|parent| parent.join(name).exists());
        let gone = |name: &str| batch.parents.iter().all(|parent| !parent.join(name).exists());
        assert!(there("lab") && gone("other"));
    }

    #[test]
    fn a_file_of_the_kernels_is_no_group() {
        let (_folder, batch) = batch(&["lab"]);
        fs::write(batch.parents[0].join("tasks"), "").expect("writes");
        let batch = Batch { names: vec!["tasks".into()], ..batch };
        remove_unlisted(&batch, Duration::ZERO).expect("has nothing to do");
    }

    #[test]
    fn a_damaged_registry_removes_nothing() {
        let (_folder, batch) = batch(&["lab"]);
        fs::write(&batch.registry, "{").expect("writes");
        let fault = remove_unlisted(&batch, Duration::from_secs(1)).expect_err("is damaged");
        assert!(fault.place.is_some_and(|place| place.ends_with("groups.json")));
        assert!(batch.parents.iter().all(|parent| parent.join("lab").exists()));
    }

    #[test]
    fn one_process_at_a_time_has_the_lock() {
        let (_folder, batch) = batch(&["lab"]);
        let lock = RegistryLock::take(&batch.registry, Duration::ZERO).expect("nobody has it");
        let fault = remove_unlisted(&batch, Duration::ZERO).expect_err("another has it");
        assert!(fault.message.contains("another command"), "{fault}");
        drop(lock);
        // Processes that other tests start have all files open for a moment.
        remove_unlisted(&batch, Duration::from_secs(5)).expect("removes");
    }
}
