//! The registry: the file that lists the groups that are to exist.
//!
//! It is `groups.json` in a folder beside that of the undo ledgers: `/run/crosstalk-groups` for root. Other users may
//! read it, since a group may be shared with them. It is replaced as a whole (rename(2)), and locked meanwhile. A
//! reboot removes it, as it removes the groups.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crosstalk_cgroup::group::Group;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_host::ledger::{self, RegistryLock};
use serde::{Deserialize, Serialize};

use crate::name::GroupName;
use crate::profile::Profile;

/// The version of the file.
const SCHEMA: &str = "crosstalk.groups/1";
const FILE: &str = "groups.json";
/// Where root's registry is, for users with whom a group is shared.
const ROOTS: &str = "/run/crosstalk-groups";
/// How long to wait for another command.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// A group that is to exist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Registered {
    /// What it may have.
    #[serde(flatten)]
    pub profile: Profile,
    /// The user that may put programs into it, besides its maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
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

    /// The registries that this user may read: its own, and root's for groups that are shared.
    pub fn readable() -> Vec<Registry> {
        let runtime =
            std::env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("crosstalk-groups"));
        let roots = runtime.into_iter().chain([PathBuf::from(ROOTS)]).map(|folder| folder.join(FILE));
        // Nobody else's: its names are used as root's own.
        let roots = roots.filter(|path| fs::metadata(path).is_ok_and(|file| file.uid() == 0));
        let mut all: Vec<Registry> = Self::own().into_iter().collect();
        for path in roots {
            if !all.iter().any(|known| known.path == path) {
                all.push(Registry { path });
            }
        }
        all
    }

    fn beside(ledgers: &Path, owner: u32) -> Result<Registry, Fault> {
        let name = ledgers.file_name().unwrap_or_default().to_string_lossy();
        let folder = ledgers.with_file_name(format!("{name}-groups"));
        make(&folder, owner)?;
        Ok(Registry { path: folder.join(FILE) })
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

fn make(folder: &Path, owner: u32) -> Result<(), Fault> {
    let at = |fault: Fault| fault.at(folder.display().to_string());
    match DirBuilder::new().mode(0o755).create(folder) {
        Ok(()) => {
            fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(|e| unreadable(folder, &e))?
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => {
            return Err(at(Fault::environment(format!("cannot keep the registry of groups here: {e}"))));
        }
    }
    // Links are not followed: in /tmp another user may have created the entry.
    let found = fs::symlink_metadata(folder).map_err(|e| unreadable(folder, &e))?;
    if found.is_dir() && found.uid() == owner && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(at(Fault::environment("expected a folder that only you can write to"))
        .remedy("remove it, and try again"))
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
    use crosstalk_core::units::Bytes;

    fn registry() -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let owner = fs::metadata(folder.path()).expect("is there").uid();
        let registry = Registry::beside(&folder.path().join("crosstalk"), owner).expect("its folder is made");
        (folder, registry)
    }

    fn contents(names: &[&str]) -> Contents {
        let profile = Profile::Burstable { memory: Some(Bytes(1 << 20)), limit: None, cpus: None };
        let group = Registered { profile, user: Some("alice".into()) };
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
