//! The mount namespace in which a test watches, and the watcher.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crosstalk_host::starts::PendingStarts;
use crosstalk_host::user::is_root;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{finish, kill, stderr, stdout};

/// A user that no machine has.
pub const USER: u32 = 47_110;

/// A mount namespace, a registry of groups, and a folder that any user may read.
pub struct Scene {
    pub holder: Running,
    pub registry: Registry,
}

impl Scene {
    pub fn new(test: &str) -> Option<Scene> {
        let skipped = |why: &str| {
            eprintln!("skipped: {why}");
            None
        };
        if !is_root() {
            return skipped("only root sees which programs others start");
        }
        if let Err(e) = PendingStarts::open() {
            return skipped(&format!("no fanotify: {e}"));
        }
        let registry = Registry::new(test)?;
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--propagation", "private", "sleep", "600"]);
        let holder = Running::start(unshare);
        let own = fs::read_link("/proc/self/ns/mnt").expect("is there");
        let link = format!("/proc/{}/ns/mnt", holder.id());
        await_that("it has a mount namespace", || fs::read_link(&link).is_ok_and(|link| link != own));
        Some(Scene { holder, registry })
    }

    pub fn folder(&self) -> &Path {
        self.registry.folder.path()
    }

    /// A program in the namespace.
    pub fn inside(&self, program: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).arg("--");
        command.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A shell's line, run by a user.
    pub fn by(&self, user: u32, line: &str) -> Command {
        let mut program = Command::new("setpriv");
        program.args(["--reuid", &user.to_string(), "--regid", &user.to_string(), "--clear-groups"]);
        program.args(["sh", "-c", line]);
        let mut command = self.inside(&program);
        command.current_dir("/");
        command
    }

    /// What a shell's line prints that a user runs.
    pub fn prints(&self, user: u32, line: &str) -> String {
        let output = finish(self.by(user, line).spawn().expect("nsenter starts"));
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        stdout(&output)
    }

    pub fn rules(&self, text: &str) -> PathBuf {
        let path = self.folder().join("rules.toml");
        fs::write(&path, format!("schema = \"crosstalk.watch/1\"\n{text}")).expect("writes");
        path
    }

    /// A watcher with rules, once it watches.
    pub fn watch(&self, rules: &str, more: &[&str]) -> Watch {
        let rules = self.rules(rules);
        let mut args = vec!["groups", "watch", "--json", "--rules", rules.to_str().expect("is text")];
        args.extend(more);
        let said = self.folder().join("said");
        let complaints = self.folder().join("complaints");
        let mut command = self.inside(&self.registry.command(&args));
        command.stdout(fs::File::create(&said).expect("makes"));
        command.stderr(fs::File::create(&complaints).expect("makes"));
        let watch = Watch { process: command.spawn().expect("starts"), said, complaints };
        await_that("it watches", || watch.said().contains("\"watching\""));
        watch
    }
}

/// A running `groups watch`.
pub struct Watch {
    pub process: Child,
    pub said: PathBuf,
    pub complaints: PathBuf,
}

impl Watch {
    pub fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("reads")
    }

    pub fn complaints(&self) -> String {
        fs::read_to_string(&self.complaints).expect("reads")
    }

    /// The number of the watcher's process, which answers.
    pub fn watcher(&self) -> Option<u32> {
        let id = self.process.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let named = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "crosstalk-watch")
        };
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(named)
    }

    /// Ends it: its last line.
    pub fn end(mut self) -> serde_json::Value {
        kill("-INT", self.process.id());
        let status = self.process.wait().expect("is ours");
        assert_eq!(status.code(), Some(0), "{}", self.complaints());
        let said = self.said();
        serde_json::from_str(said.lines().last().expect("a result")).expect("is JSON")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether each tree of a group says so in a text of `/proc/PID/cgroup`.
pub fn is_in(scene: &Scene, group: &str, cgroup: &str) -> bool {
    let trees = scene.registry.dirs(group).len();
    trees > 0 && cgroup.lines().filter(|line| line.ends_with(&format!("/{group}"))).count() == trees
}
