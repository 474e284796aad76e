//! The registry: the file that lists the groups that are to exist.
//!
//! It is `groups.json` in a folder beside that of the undo ledgers: `/run/crosstalk-groups` for root. Other users may
//! read it, since a group may be shared with them. It is replaced as a whole (rename(2)), and locked meanwhile. A
//! reboot removes it, as it removes the groups.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::ledger::{self, RegistryLock};
use crosstalk_host::user::is_root;

use crate::contents::{Contents, SCHEMA};
use crate::name::GroupName;

const FILE: &str = "groups.json";
/// Where root's registry is, for users with whom a group is shared.
const ROOTS: &str = "/run/crosstalk-groups";
/// How long to wait for another command.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// A registry, which need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    path: PathBuf,
}

/// A registry that no other command changes meanwhile.
#[derive(Debug)]
pub struct LockedRegistry {
    path: PathBuf,
    contents: Contents,
    _lock: RegistryLock,
}

impl Registry {
    /// This user's registry. Its folder is created if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created, or somebody else can write to it.
    pub fn own() -> Result<Registry, Fault> {
        let ledgers = ledger::folder()?;
        let owner = fs::metadata(&ledgers).map_err(|e| unreadable(&ledgers, &e))?.uid();
        Self::beside(&ledgers, owner)
    }

    /// This user's registry if its folder exists. Nothing is created, for commands that create no group.
    pub fn existing() -> Option<Registry> {
        let ledgers = ledger::existing_folder()?;
        let (owner, folder) = (fs::metadata(&ledgers).ok()?.uid(), folder_beside(&ledgers));
        check(&folder, owner).is_ok().then(|| Registry { path: folder.join(FILE) })
    }

    /// The registries that this user may read: its own, and root's for groups that are shared.
    pub fn readable() -> Vec<Registry> {
        let runtime =
            std::env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("crosstalk-groups"));
        let roots = runtime.into_iter().chain([PathBuf::from(ROOTS)]).map(|folder| folder.join(FILE));
        // Nobody else's: its names are used as root's own.
        let roots = roots.filter(|path| fs::metadata(path).is_ok_and(|file| file.uid() == 0));
        let mut all: Vec<Registry> = Self::existing().into_iter().collect();
        for path in roots {
            if !all.iter().any(|known| known.path == path) {
                all.push(Registry { path });
            }
        }
        all
    }

    /// The fault of a name that this user's registry does not have: root's has it, or it is unknown.
    pub(crate) fn unlisted(name: &GroupName, fault: Fault) -> Fault {
        let lists = |registry: Registry| registry.read().is_ok_and(|read| read.groups.contains_key(name));
        if Self::readable().into_iter().any(lists) { roots(&format!("`{name}` is root's")) } else { fault }
    }

    fn beside(ledgers: &Path, owner: u32) -> Result<Registry, Fault> {
        let folder = folder_beside(ledgers);
        make(&folder, owner)?;
        Ok(Registry { path: folder.join(FILE) })
    }

    /// The registry at a path.
    #[cfg(test)]
    pub(crate) fn at(path: PathBuf) -> Registry {
        Registry { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says; nothing if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn read(&self) -> Result<Contents, Fault> {
        let text = match fs::read(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Contents::default()),
            text => text.map_err(|e| unreadable(&self.path, &e))?,
        };
        let contents: Contents =
            serde_json::from_slice(&text).map_err(|e| damaged(&self.path, &e.to_string()))?;
        if contents.schema != SCHEMA {
            return Err(damaged(&self.path, &format!("expected schema {SCHEMA}, found {}", contents.schema)));
        }
        Ok(contents)
    }

    /// Locks it, and reads it.
    ///
    /// # Errors
    /// Those of [`Registry::read`], and if another command has it locked for long.
    pub fn lock(&self) -> Result<LockedRegistry, Fault> {
        let lock = RegistryLock::take(&self.path, LOCK_TIMEOUT)?;
        Ok(LockedRegistry { path: self.path.clone(), contents: self.read()?, _lock: lock })
    }
}

impl LockedRegistry {
    /// What it says.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Replaces it by a new version. One without groups is removed.
    ///
    /// # Errors
    /// If it cannot be written; then it says what it said.
    pub fn replace(&mut self, contents: Contents) -> Result<(), Fault> {
        let done = if contents.groups.is_empty() {
            match fs::remove_file(&self.path) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed,
            }
        } else {
            self.rename_over(&contents)
        };
        done.map_err(|e| {
            Fault::environment(format!("cannot write the registry of groups: {e}"))
                .at(self.path.display().to_string())
                .remedy("free space there")
        })?;
        self.contents = contents;
        Ok(())
    }

    fn rename_over(&self, contents: &Contents) -> std::io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&new)?;
        file.write_all(&serde_json::to_vec(contents)?)?;
        // Also under a strict umask.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.sync_data()?;
        fs::rename(&new, &self.path)
    }
}

fn folder_beside(ledgers: &Path) -> PathBuf {
    let name = ledgers.file_name().unwrap_or_default().to_string_lossy();
    ledgers.with_file_name(format!("{name}-groups"))
}

fn make(folder: &Path, owner: u32) -> Result<(), Fault> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Ok(()) => {
            fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(|e| unreadable(folder, &e))?
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => {
            return Err(Fault::environment(format!("cannot keep the registry of groups here: {e}"))
                .at(folder.display().to_string()));
        }
    }
    check(folder, owner)
}

/// Whether it is a folder that only its owner can write to.
fn check(folder: &Path, owner: u32) -> Result<(), Fault> {
    // Links are not followed: in /tmp another user may have created the entry.
    let found = fs::symlink_metadata(folder).map_err(|e| unreadable(folder, &e))?;
    if found.is_dir() && found.uid() == owner && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(Fault::environment("expected a folder that only you can write to")
        .at(folder.display().to_string())
        .remedy("remove it, and try again"))
}

/// The fault of groups that another registry has, which this user may read.
pub(crate) fn roots(whose: &str) -> Fault {
    Fault::environment(whose).remedy(match is_root() {
        true => "run it with the XDG_RUNTIME_DIR of the command that made it, or with none",
        false => "run it as root",
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot read it: {error}")).at(path.display().to_string())
}

fn damaged(path: &Path, why: &str) -> Fault {
    Fault::environment(format!("the registry of groups is damaged: {why}"))
        .at(path.display().to_string())
        .remedy("remove it, and the directories `crosstalk-groups` below /sys/fs/cgroup")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Registered;
    use crate::profile::Profile;
    use crosstalk_core::units::Bytes;

    fn registry() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let owner = fs::metadata(folder.path()).expect("is there").uid();
        let registry = Registry::beside(&folder.path().join("crosstalk"), owner).expect("its folder is made");
        (folder, registry)
    }

    fn contents(names: &[&str]) -> Contents {
        let profile = Profile::Burstable { memory: Some(Bytes(1 << 20)), limit: None, cpus: None };
        let group = Registered { user: Some("alice".into()), ..Registered::new(profile) };
        let groups = names.iter().map(|name| (name.parse().expect("is a name"), group.clone()));
        Contents { groups: groups.collect(), ..Contents::default() }
    }

    #[test]
    fn what_is_written_is_read_again_by_everybody() {
        let (folder, registry) = registry();
        assert_eq!(registry.read(), Ok(Contents::default()), "there is none yet");
        registry.lock().expect("is free").replace(contents(&["lab", "lab/alice"])).expect("writes");
        assert_eq!(registry.read(), Ok(contents(&["lab", "lab/alice"])));
        let mode = |path: &Path| fs::metadata(path).expect("is there").mode() & 0o777;
        let parent = registry.path().parent().expect("has one");
        assert_eq!((mode(registry.path()), mode(parent)), (0o644, 0o755));
        assert!(parent.starts_with(folder.path()) && parent.ends_with("crosstalk-groups"));
    }

    #[test]
    fn the_file_has_the_names_and_requests_as_they_are_written_down() {
        let (_folder, registry) = registry();
        registry.lock().expect("is free").replace(contents(&["lab"])).expect("writes");
        let text = fs::read_to_string(registry.path()).expect("reads");
        let expected = r#"{"schema":"crosstalk.groups/1","parents":{},"groups":{"lab":{"profile":"burstable","memory":1048576,"user":"alice"}}}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn without_groups_there_is_no_file() {
        let (_folder, registry) = registry();
        registry.lock().expect("is free").replace(contents(&["lab"])).expect("writes");
        registry.lock().expect("is free").replace(Contents::default()).expect("removes");
        assert!(!registry.path().exists());
        registry.lock().expect("is free").replace(Contents::default()).expect("is gone already");
    }

    #[test]
    fn a_damaged_one_is_reported_with_a_remedy() {
        let (_folder, registry) = registry();
        for text in [
            "{",
            r#"{"schema":"crosstalk.groups/9","groups":{}}"#,
            r#"{"schema":"crosstalk.groups/1","groups":{"..":{"profile":"burstable"}}}"#,
        ] {
            fs::write(registry.path(), text).expect("writes");
            let fault = registry.read().expect_err("is damaged");
            assert!(fault.message.contains("damaged") && fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let owner = fs::metadata(folder.path()).expect("is there").uid();
        let ledgers = folder.path().join("crosstalk");
        fs::create_dir(folder.path().join("crosstalk-groups")).expect("makes");
        fs::set_permissions(folder.path().join("crosstalk-groups"), Permissions::from_mode(0o777))
            .expect("is ours");
        assert!(Registry::beside(&ledgers, owner).is_err());
        fs::set_permissions(folder.path().join("crosstalk-groups"), Permissions::from_mode(0o755))
            .expect("is ours");
        assert!(Registry::beside(&ledgers, owner).is_ok());
        assert!(Registry::beside(&ledgers, owner + 1).is_err(), "another's");
    }
}
