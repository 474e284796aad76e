//! Groups that outlive the program that makes them: making, emptying and removing one.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst` (cgroup.subtree_control, cgroup.kill, memory.reclaim, rmdir);
//! `cgroup-v1/memory.rst` (memory.force_empty).

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::{is_there, send};

use super::reading::page_bytes;
use super::{Group, collect};

/// Controllers of v2 that are enabled for groups of ours where they are there.
const WANTED: [&str; 5] = ["cpu", "cpuset", "memory", "io", "pids"];
/// Between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long a group may take to be empty after its last process has ended.
const LAST_ENDS: Duration = Duration::from_secs(1);
/// How often to look for processes that those have started that are being killed.
const KILLS: usize = 10;
/// SIGKILL of signal(7).
const SIGKILL: i32 = 9;
/// EBUSY of errno(3): of a group, that it is in use.
const BUSY: i32 = 16;

/// The wanted controllers that `above` has and does not enable for groups in it. None in v1.
pub(super) fn disabled(above: &Path) -> Vec<&'static str> {
    let read = |file: &str| fs::read_to_string(above.join(file)).unwrap_or_default();
    let (there, enabled) = (read("cgroup.controllers"), read("cgroup.subtree_control"));
    let has = |text: &str, name: &str| text.split_whitespace().any(|word| word == name);
    WANTED.into_iter().filter(|name| has(&there, name) && !has(&enabled, name)).collect()
}

impl Group {
    /// The group of this name in this one, whether or not it exists.
    #[must_use]
    pub fn below(&self, name: &str) -> Group {
        Group { dirs: self.dirs.iter().map(|(tree, dir)| (tree.clone(), dir.join(name))).collect() }
    }

    /// Creates it in every tree. The group that it is in must exist, and have its controllers enabled
    /// ([`Group::enable_within`]).
    ///
    /// # Errors
    /// If it exists, or the kernel refuses. What was created until then stays.
    pub fn create(&self) -> Result<(), Fault> {
        self.paths().iter().try_for_each(|path| {
            fs::create_dir(path).map_err(|e| {
                let fault = Fault::environment(format!("cannot create a control group: {e}"));
                let remedy = match e.kind() {
                    ErrorKind::AlreadyExists => "choose another name",
                    _ => "run it as root",
                };
                fault.at(path.display().to_string()).remedy(remedy)
            })
        })
    }

    /// Enables the wanted controllers of v2 for groups in it. It is a group of ours: they go with it.
    ///
    /// # Errors
    /// A usage fault if processes are in it.
    pub fn enable_within(&self) -> Result<(), Fault> {
        let Some(dir) = self.dir("") else { return Ok(()) };
        let disabled = disabled(dir);
        // With processes in it, the kernel enables some controllers, and makes it a root of threads.
        if !disabled.is_empty()
            && fs::read_to_string(dir.join("cgroup.procs")).is_ok_and(|list| !list.is_empty())
        {
            return Err(Fault::usage(
                "processes are in it: in v2 a group has either processes or groups in it",
            )
            .at(dir.display().to_string())
            .remedy("create the group outside of it, or end what runs in it first"));
        }
        for name in disabled {
            // A controller that cannot be enabled is one that the groups do not offer.
            let _ = write(&dir.join("cgroup.subtree_control"), &format!("+{name}"));
        }
        Ok(())
    }

    /// Whether it exists in all trees.
    pub fn is_whole(&self) -> bool {
        self.dirs.values().all(|dir| dir.exists())
    }

    /// The processes in it and below in any tree, in ascending order. A process may be in it in one tree only.
    pub fn processes_in_any_tree(&self) -> Vec<u32> {
        let mut all = Vec::new();
        self.paths().iter().for_each(|dir| collect(dir, &mut all));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Kills the processes in it and below, and does not wait for their end. New ones can be started in it: not so after
    /// `cgroup.kill`, as Linux 6.18 kills at once what begins there by `CLONE_INTO_CGROUP`. Returns how many were there.
    pub fn kill(&self) -> usize {
        let (mut known, mut killed) = (Vec::new(), 0);
        // Again for those that were started meanwhile, unless they are too fast.
        for _ in 0..KILLS {
            let inside = self.processes_in_any_tree();
            let new: Vec<u32> = inside.into_iter().filter(|pid| !known.contains(pid)).collect();
            if new.is_empty() {
                return killed;
            }
            killed += new.iter().filter(|pid| is_there(**pid)).count();
            new.iter().for_each(|pid| send(*pid, SIGKILL));
            known.extend(new);
        }
        killed
    }

    /// Kills the processes in it and below, until none is left. The group is to be removed then: see [`Group::kill`].
    ///
    /// # Errors
    /// If some are left at the deadline, with their ids.
    pub fn kill_all(&self, deadline: Duration) -> Result<(), Fault> {
        let until = Instant::now() + deadline;
        loop {
            let left = self.processes_in_any_tree();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(Fault::environment(format!("processes {left:?} do not end"))
                    .remedy("see what they wait for in /proc/PID/stack"));
            }
            // At once, with those that they start meanwhile; in v1 the next attempt finds these.
            let killed = self.dir("").is_some_and(|dir| write(&dir.join("cgroup.kill"), "1").is_ok());
            if !killed || self.dirs.len() > 1 {
                left.into_iter().for_each(|pid| send(pid, SIGKILL));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Lets the kernel take the memory that is charged to it, and to removed groups that were in it. Returns how many
    /// bytes of pages stay: they are in use elsewhere, or nothing takes them.
    pub fn reclaim(&self) -> Bytes {
        let Some(charged) = self.charged().filter(|bytes| bytes.0 > 0) else { return Bytes(0) };
        // It fails if it cannot take all.
        let _ = if let Some(file) = self.file(&[("memory", "memory.force_empty")]) {
            write(&file, "0")
        } else if let Some(file) = self.file(&[("", "memory.reclaim")]) {
            write(&file, &charged.0.to_string())
        } else {
            Ok(())
        };
        let stat = self.file(&[("memory", "memory.stat"), ("", "memory.stat")]);
        let stays = stat.and_then(|file| page_bytes(&fs::read_to_string(file).ok()?));
        // The kernel's own memory is charged to the parent then.
        Bytes(stays.unwrap_or(0))
    }

    /// Lets the kernel take memory that is charged to it until no more than `most` is, so that this can become its
    /// limit. v1 does that by itself when the limit is set. v2 would kill processes.
    ///
    /// # Errors
    /// What stays charged if that is more.
    pub fn reclaim_to(&self, most: Bytes) -> Result<(), Bytes> {
        let above = |charged: &Bytes| charged.0 > most.0;
        let Some(charged) = self.charged().filter(above) else { return Ok(()) };
        if self.file(&[("memory", "memory.limit_in_bytes")]).is_some() {
            return Ok(());
        }
        if let Some(file) = self.file(&[("", "memory.reclaim")]) {
            // It fails if it cannot take all.
            let _ = write(&file, &(charged.0 - most.0).to_string());
        }
        self.charged().filter(above).map_or(Ok(()), Err)
    }

    /// Memory that is charged to it, with all in it; `None` without a memory controller.
    pub fn charged(&self) -> Option<Bytes> {
        let file = self.file(&[("memory", "memory.usage_in_bytes"), ("", "memory.current")])?;
        Some(Bytes(fs::read_to_string(file).ok()?.trim().parse().ok()?))
    }

    /// Removes it from every tree, with groups in it that hold no process. A tree that does not have it is no error.
    ///
    /// # Errors
    /// If the kernel refuses, since a process is in it.
    pub fn remove(&self) -> Result<(), Fault> {
        let until = Instant::now() + LAST_ENDS;
        self.paths().iter().try_for_each(|path| {
            while let Err(e) = remove_tree(path) {
                // A process that was killed counts until it has ended.
                let may_end = e.raw_os_error() == Some(BUSY) && self.processes_in_any_tree().is_empty();
                if !may_end || Instant::now() >= until {
                    return Err(Fault::environment(format!("cannot remove the control group: {e}"))
                        .at(path.display().to_string())
                        .remedy(format!("look at what is in it: cat {}/cgroup.procs", path.display())));
                }
                thread::sleep(POLL_INTERVAL);
            }
            Ok(())
        })
    }
}

/// Removes a directory, and first those in it if there are any.
fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => {
            let inner: Vec<PathBuf> = fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path())
                .collect();
            if inner.is_empty() {
                return Err(e);
            }
            inner.iter().try_for_each(|path| remove_tree(path))?;
            fs::remove_dir(path)
        }
        Ok(()) => Ok(()),
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A group in two trees, which are plain folders.
    fn group() -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dirs = ["", "memory"].map(|tree| {
            let dir = folder.path().join(format!("tree-{tree}"));
            fs::create_dir(&dir).expect("makes");
            (tree.to_string(), dir)
        });
        (folder, Group::new(BTreeMap::from(dirs)))
    }

    #[test]
    fn a_group_is_created_in_every_tree_and_removed_with_those_in_it() {
        let (_folder, parent) = group();
        let lab = parent.below("lab");
        assert!(!lab.exists());
        lab.create().expect("creates");
        assert!(lab.is_whole());
        assert!(lab.create().expect_err("exists").remedy.is_some_and(|said| said.contains("another name")));
        lab.below("alice").create().expect("creates");
        fs::remove_dir(lab.below("alice").dir("memory").expect("has one")).expect("is empty");
        assert!(lab.below("alice").exists() && !lab.below("alice").is_whole());
        lab.remove().expect("removes");
        assert!(!lab.exists());
        lab.remove().expect("is gone already");
        assert!(lab.below("alice").create().is_err(), "the group that it is in is missing");
    }

    #[test]
    fn in_v2_controllers_are_enabled_for_groups_within() {
        let (folder, parent) = group();
        let unified = folder.path().join("tree-");
        fs::write(unified.join("cgroup.controllers"), "cpuset cpu memory rdma\n").expect("writes");
        fs::write(unified.join("cgroup.subtree_control"), "memory\n").expect("writes");
        assert_eq!(disabled(&unified), ["cpu", "cpuset"]);
        parent.enable_within().expect("no process is in it");
        let enabled = fs::read_to_string(unified.join("cgroup.subtree_control")).expect("reads");
        assert!(enabled.contains("+cpu"), "{enabled}");
        fs::write(unified.join("cgroup.subtree_control"), "").expect("writes");
        fs::write(unified.join("cgroup.procs"), "7\n").expect("writes");
        assert!(parent.enable_within().expect_err("has a process").message.contains("processes are in it"));
    }

    #[test]
    fn what_stays_charged_is_read_after_it_was_taken() {
        let (folder, group) = group();
        assert_eq!((group.charged(), group.reclaim()), (None, Bytes(0)));
        let memory = folder.path().join("tree-memory");
        fs::write(memory.join("memory.usage_in_bytes"), "4096\n").expect("writes");
        fs::write(memory.join("memory.force_empty"), "").expect("writes");
        fs::write(memory.join("memory.stat"), "total_cache 4096\ntotal_rss 0\n").expect("writes");
        assert_eq!(group.reclaim(), Bytes(4096));
        assert_eq!(fs::read_to_string(memory.join("memory.force_empty")).expect("reads"), "0");
    }

    #[test]
    fn v2_takes_memory_before_a_limit_is_set() {
        let (folder, group) = group();
        assert_eq!(group.reclaim_to(Bytes(1)), Ok(()), "without a controller");
        let group = Group::new([(String::new(), folder.path().join("tree-"))].into());
        fs::write(folder.path().join("tree-/memory.current"), "4096\n").expect("writes");
        assert_eq!(group.reclaim_to(Bytes(4096)), Ok(()));
        assert_eq!(group.reclaim_to(Bytes(4095)), Err(Bytes(4096)), "before Linux 5.19");
        fs::write(folder.path().join("tree-/memory.reclaim"), "").expect("writes");
        assert_eq!(group.reclaim_to(Bytes(96)), Err(Bytes(4096)), "nothing takes it");
        assert_eq!(fs::read_to_string(folder.path().join("tree-/memory.reclaim")).expect("reads"), "4000");
    }

    #[test]
    fn processes_of_all_trees_count() {
        let (folder, group) = group();
        fs::write(folder.path().join("tree-/cgroup.procs"), "7\n").expect("writes");
        fs::write(folder.path().join("tree-memory/cgroup.procs"), "7\n5\n").expect("writes");
        fs::create_dir(folder.path().join("tree-/within")).expect("makes");
        fs::write(folder.path().join("tree-/within/cgroup.procs"), "9\n").expect("writes");
        assert_eq!(group.processes_in_any_tree(), [5, 7, 9]);
    }
}
