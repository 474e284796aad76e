//! Creating and removing control groups. Before a group is removed, its processes are killed, or
//! moved back to their original group.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst` (cgroup.kill, cgroup.freeze, rmdir),
//! `cgroup-v1/cgroups.rst`, `cgroup-v1/freezer-subsystem.rst`.

use crosstalk_core::Fault;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::kill_now;

/// Between two attempts to remove a group.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Creates the groups.
///
/// # Errors
/// If one of them exists already, or the kernel refuses.
pub(super) fn create(paths: &[PathBuf]) -> Result<(), Fault> {
    for path in paths {
        fs::create_dir(path).map_err(|e| {
            let fault = Fault::environment(format!("cannot create a control group: {e}"));
            fault.at(path.display().to_string()).remedy(
                "run it as root, or in a shell that may create groups: \
                 systemd-run --user --scope -p Delegate=yes bash",
            )
        })?;
    }
    Ok(())
}

/// Empties and removes the groups, and all groups below them. Processes are moved to the groups `back`, by
/// position in `paths`. If `back` is empty, they are killed.
///
/// # Errors
/// If a group still exists at the deadline.
pub(super) fn remove(paths: &[PathBuf], back: &[PathBuf], deadline: Duration) -> Result<(), Fault> {
    let until = Instant::now() + deadline;
    loop {
        let there: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
        if there.is_empty() {
            return Ok(());
        }
        if back.is_empty() {
            there.iter().for_each(|path| kill(path));
        }
        // Killed processes end only after they are thawed; cgroup.kill does that itself.
        there.iter().for_each(|path| thaw(path));
        for (path, original) in paths.iter().zip(back) {
            move_back(path, original);
        }
        let refused = there.iter().filter_map(|path| Some((path, remove_tree(path).err()?)));
        let refused = refused.fold(None, |_, one| Some(one));
        let Some((path, error)) = refused else { continue };
        if Instant::now() >= until {
            return Err(Fault::environment(format!("cannot remove the control group: {error}"))
                .at(path.display().to_string())
                .remedy(format!("look at what is in it: cat {}/cgroup.procs", path.display())));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The group and all groups below it, the deepest first.
fn tree(path: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<PathBuf> = below.flat_map(|entry| tree(&entry.path())).collect();
    all.push(path.into());
    all
}

/// The processes in a group; none if it is gone. (resctrl's file is called `tasks`.)
fn processes(path: &Path) -> Vec<u32> {
    let list = fs::read_to_string(path.join("cgroup.procs"));
    let list = list.or_else(|_| fs::read_to_string(path.join("tasks"))).unwrap_or_default();
    list.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid > 0).collect()
}

fn kill(path: &Path) {
    // Ending takes CPU time too, of which foreground work may leave none to the idle class.
    for group in tree(path) {
        let _ = write(&group.join("cpu.idle"), "0");
    }
    if write(&path.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    // Processes that they start meanwhile are killed by the next attempt.
    tree(path).iter().flat_map(|group| processes(group)).for_each(kill_now);
}

fn thaw(path: &Path) {
    for group in tree(path) {
        // v2 has the first file, v1 the second one. A group that is gone is not frozen.
        let _ = write(&group.join("cgroup.freeze"), "0");
        let _ = write(&group.join("freezer.state"), "THAWED");
    }
}

fn move_back(path: &Path, original: &Path) {
    for group in tree(path) {
        for pid in processes(&group) {
            let file = if original.join("cgroup.procs").exists() { "cgroup.procs" } else { "tasks" };
            // The process may have ended meanwhile.
            let _ = write(&original.join(file), &pid.to_string());
        }
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for group in tree(path) {
        // Only the last result counts: resctrl removes folders below a group only with the group.
        last = match fs::remove_dir(&group) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
    }
    last
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_created_and_removed_with_those_below() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paths = [folder.path().join("a"), folder.path().join("b")];
        create(&paths).expect("creates");
        fs::create_dir_all(paths[0].join("c/d")).expect("creates");
        assert!(create(&paths).expect_err("exist").remedy.is_some());
        remove(&paths, &[], Duration::from_secs(1)).expect("removes");
        assert!(!paths[0].exists() && !paths[1].exists());
        remove(&paths, &[], Duration::ZERO).expect("gone already");
    }

    #[test]
    fn a_group_that_cannot_be_removed_is_a_fault() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a");
        create(std::slice::from_ref(&path)).expect("creates");
        fs::write(path.join("no-group-has-this"), "").expect("writes");
        let fault = remove(std::slice::from_ref(&path), &[], Duration::ZERO).expect_err("is not empty");
        assert!(fault.remedy.is_some_and(|said| said.contains("cgroup.procs")));
    }
}
