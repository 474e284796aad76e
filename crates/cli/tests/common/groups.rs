//! A registry of named groups of a test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::external::search;
use super::{command, finish, stderr, stdout};

/// One test at a time: the last group of a registry goes with the parents, which others stand in, too.
static PARENTS: Mutex<()> = Mutex::new(());

/// A registry of its own. Dropping it removes its groups.
pub struct Registry {
    _parents: MutexGuard<'static, ()>,
    pub folder: tempfile::TempDir,
    /// What its groups' names begin with.
    name: String,
}

impl Registry {
    /// `None` where this user can make no groups.
    pub fn new(test: &str) -> Option<Registry> {
        let parents = PARENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Others may look for a group that is shared with them.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("is ours");
        let registry =
            Registry { _parents: parents, folder, name: format!("t{}-{test}", std::process::id()) };
        let output = registry.run(&["groups", "create", &registry.named("probe")]);
        if output.status.code() == Some(4) && stderr(&output).contains("control groups") {
            eprintln!("skipped: {}", stderr(&output).trim());
            return None;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let output = registry.run(&["groups", "remove", &registry.named("probe")]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        Some(registry)
    }

    pub fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(Path::new("/"), args);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        finish(self.command(args).spawn().expect("crosstalk starts"))
    }

    /// One that succeeds: what it prints.
    pub fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    /// Has 40 MiB of a file's pages charged to a group, which has no program then.
    pub fn cache_file(&self, group: &str) {
        let file = self.folder.path().join("data");
        let script =
            format!("head -c 40m /dev/zero > {0} && sync {0} && cat {0} > /dev/null", file.display());
        self.done(&["exec", "--group", group, "--", "sh", "-c", &script]);
    }

    /// The lines of one that speaks JSON.
    pub fn lines(&self, args: &[&str]) -> Vec<Value> {
        let text = self.done(&[args, &["--json"]].concat());
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The registered groups.
    pub fn listed(&self) -> Vec<String> {
        let lines = self.lines(&["groups", "list"]);
        let groups = lines.iter().filter(|line| line["event"] == "group");
        groups.map(|line| line["name"].as_str().expect("a name").to_string()).collect()
    }

    /// The directories of a group, one in each tree.
    pub fn dirs(&self, name: &str) -> Vec<PathBuf> {
        let mut parents = Vec::new();
        search(Path::new("/sys/fs/cgroup"), "crosstalk-groups", &mut parents);
        let dirs = parents.into_iter().map(|parent| parent.join(name));
        dirs.filter(|dir| dir.exists()).collect()
    }

    /// The content of the first of these files that a group has.
    pub fn setting(&self, name: &str, files: &[&str]) -> Option<String> {
        let dirs = self.dirs(name);
        let paths = dirs.iter().flat_map(|dir| files.iter().map(|file| dir.join(file)));
        let text = paths.filter_map(|path| fs::read_to_string(path).ok()).next();
        text.map(|text| text.trim().to_string())
    }

    /// All directories of this test's groups.
    pub fn left(&self) -> Vec<PathBuf> {
        let mut left = Vec::new();
        let mut parents = Vec::new();
        search(Path::new("/sys/fs/cgroup"), "crosstalk-groups", &mut parents);
        parents.iter().for_each(|parent| search(parent, &self.name, &mut left));
        left
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let output = self.run(&["groups", "remove", "--all", "--kill"]);
        if !std::thread::panicking() {
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            assert!(self.left().is_empty(), "{:?}", self.left());
        }
    }
}
