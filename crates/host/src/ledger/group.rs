//! Control groups of ours: what is in them is ended, or goes back to where it came from, and
//! then they go.
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

/// Between two looks whether what was killed has ended.
const GLANCE: Duration = Duration::from_millis(2);

/// Makes the groups.
///
/// # Errors
/// When one of them is there already, or the kernel refuses.
pub(super) fn make(paths: &[PathBuf]) -> Result<(), Fault> {
    for path in paths {
        fs::create_dir(path).map_err(|e| {
            let fault = Fault::environment(format!("cannot make a control group: {e}"));
            fault.at(path.display().to_string()).remedy(
                "run it as root; without, in a shell that may have groups: \
                 systemd-run --user --scope -p Delegate=yes bash",
            )
        })?;
    }
    Ok(())
}

/// Empties the groups and takes them away, with all groups below them. Processes in them go to
/// the groups `back`, each from that at the same place; without any they are killed.
///
/// # Errors
/// When something is still there at the deadline.
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
        // Those that are killed end only once they are thawed (by cgroup.kill in any case).
        there.iter().for_each(|path| thaw(path));
        for (path, home) in paths.iter().zip(back) {
            give_back(path, home);
        }
        let refused = there.iter().filter_map(|path| Some((path, remove_tree(path).err()?)));
        let refused = refused.fold(None, |_, one| Some(one));
        let Some((path, error)) = refused else { continue };
        if Instant::now() >= until {
            return Err(Fault::environment(format!("cannot remove the control group: {error}"))
                .at(path.display().to_string())
                .remedy(format!("look at what is in it: cat {}/cgroup.procs", path.display())));
        }
        thread::sleep(GLANCE);
    }
}

/// The group and those below it, the deepest first.
fn tree(path: &Path) -> Vec<PathBuf> {
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<PathBuf> = below.flat_map(|entry| tree(&entry.path())).collect();
    all.push(path.into());
    all
}

/// The processes in a group; none where it is gone. (`tasks` is resctrl's name for the file.)
fn processes(path: &Path) -> Vec<u32> {
    let told = fs::read_to_string(path.join("cgroup.procs"));
    let told = told.or_else(|_| fs::read_to_string(path.join("tasks"))).unwrap_or_default();
    told.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid > 0).collect()
}

fn kill(path: &Path) {
    // To end takes a processor, too, which own work may leave none of to the idle class.
    for group in tree(path) {
        let _ = write(&group.join("cpu.idle"), "0");
    }
    if write(&path.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    // What they start meanwhile is found by the next look.
    tree(path).iter().flat_map(|group| processes(group)).for_each(kill_now);
}

fn thaw(path: &Path) {
    for group in tree(path) {
        // One of them is there at most; a group that is gone is not frozen.
        let _ = write(&group.join("cgroup.freeze"), "0");
        let _ = write(&group.join("freezer.state"), "THAWED");
    }
}

fn give_back(path: &Path, home: &Path) {
    for group in tree(path) {
        for pid in processes(&group) {
            let file = if home.join("cgroup.procs").exists() { "cgroup.procs" } else { "tasks" };
            // It may have ended meanwhile.
            let _ = write(&home.join(file), &pid.to_string());
        }
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for group in tree(path) {
        // Only whether the highest goes counts: resctrl's folders below one go with it, never alone.
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
    fn groups_are_made_and_taken_away_with_those_below() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paths = [folder.path().join("a"), folder.path().join("b")];
        make(&paths).expect("makes");
        fs::create_dir_all(paths[0].join("c/d")).expect("makes");
        assert!(make(&paths).expect_err("are there").remedy.is_some());
        remove(&paths, &[], Duration::from_secs(1)).expect("removes");
        assert!(!paths[0].exists() && !paths[1].exists());
        remove(&paths, &[], Duration::ZERO).expect("gone already");
    }

    #[test]
    fn what_cannot_be_removed_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a");
        make(std::slice::from_ref(&path)).expect("makes");
        fs::write(path.join("no-group-has-this"), "").expect("writes");
        let fault = remove(std::slice::from_ref(&path), &[], Duration::ZERO).expect_err("is not empty");
        assert!(fault.remedy.is_some_and(|said| said.contains("cgroup.procs")));
    }
}
