//! `crosstalk exec` and `crosstalk guard` find programs and groups of any name: no process escapes the guard by its
//! name. Skipped where no control groups can be made.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::common::external::{Running, alone, await_that, inside};
use crate::common::{command, crosstalk, lacks_groups, stderr, stdout};

#[test]
fn a_program_is_found_by_its_name_whatever_characters_that_has() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The name of its group, and that of the program.
    for (group, name) in [("spin.sh", "spin.sh"), ("myjob2J2.sh", "my job\u{1b}[2J(2).sh")] {
        let program = folder.path().join(name);
        fs::write(&program, "#!/bin/sh\nexec sleep 300\n").expect("writes");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("is ours");
        let path = program.display().to_string();
        let child = command(folder.path(), &["exec", "--background", "--", &path]).spawn().expect("starts");
        let child = Running::of(child);
        await_that("it begins", || !inside(group).is_empty());
        for target in [name, group, &path] {
            let output =
                crosstalk(folder.path(), &["guard", "--background", target, "--for", "0.1 s", "--json"]);
            assert_eq!(output.status.code(), Some(0), "{target:?}: {}", stderr(&output));
            assert!(stdout(&output).contains("is guarded from now on"), "{}", stdout(&output));
        }
        child.end();
    }
    let output = crosstalk(folder.path(), &["exec", "--background", "--name", "..", "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A sleeping process with this name, which may be any bytes.
fn sleeper(folder: &Path, name: &[u8]) -> Running {
    let program = folder.join(OsStr::from_bytes(name));
    fs::copy("/bin/sleep", &program).expect("copies");
    Running::of(Command::new(&program).arg("300").spawn().expect("starts"))
}

#[test]
fn a_process_whose_name_is_not_utf_8_is_guarded_like_others() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sleeper = sleeper(folder.path(), b"\xff) Z 1");
    let pid = sleeper.id().to_string();
    let output = crosstalk(folder.path(), &["guard", "--pid", &pid, "--for", "0.1 s"]);
    drop(sleeper);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("process {pid} is guarded")), "{}", stdout(&output));
}

/// A control group of the controller `cpu`, where a guard needs it, and a process in it. Dropping it removes both.
struct GroupWithProcess(PathBuf, Child);

impl Drop for GroupWithProcess {
    fn drop(&mut self) {
        self.1.kill().and_then(|()| self.1.wait()).expect("is ours");
        await_that("its group is removed", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_group_whose_name_is_not_utf_8_is_refused_with_the_reason() {
    let tree = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new);
    let Some(tree) = tree.into_iter().find(|tree| tree.join("cgroup.procs").exists()) else {
        eprintln!("skipped: there are no control groups");
        return;
    };
    let name = [format!("crosstalk-test-{}-", std::process::id()).as_bytes(), b"\xff"].concat();
    let group = tree.join(OsStr::from_bytes(&name));
    if let Err(why) = fs::create_dir(&group) {
        eprintln!("skipped: no control group can be made: {why}");
        return;
    }
    let child = Command::new("sleep").arg("300").spawn().expect("sleep starts");
    let group = GroupWithProcess(group, child);
    fs::write(group.0.join("cgroup.procs"), group.1.id().to_string()).expect("may be moved");
    let mut by_name = command(Path::new("/"), &["guard", "--for", "0.1 s", "--background"]);
    by_name.arg(OsStr::from_bytes(&name));
    let pid = group.1.id().to_string();
    let by_process = command(Path::new("/"), &["guard", "--for", "0.1 s", "--pid", &pid]);
    for mut start in [by_name, by_process] {
        let output = start.output().expect("starts");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("whose name is UTF-8"), "{}", stderr(&output));
    }
}
