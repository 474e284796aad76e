//! `crosstalk guard` where control groups can only be read, are no longer mounted, or there is no pressure: in
//! mounts of its own. Skipped where these, or control groups, cannot be made.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::external::{alone, await_that, crowd, dirs, external, inside, notes, settings};
use crate::common::{crosstalk, finish, lacks_groups, stderr, stdout};

/// What a shell says that has mounts of its own, in which `$CROSSTALK` is the program; none where that
/// takes rights that are missing.
fn apart(script: &str) -> Option<Output> {
    if !Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: no mounts of one's own here (unshare -m)");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).env("CROSSTALK", env!("CARGO_BIN_EXE_crosstalk"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(finish(command.spawn().expect("unshare starts")))
}

/// Has all control groups be there for reading only.
const READ_ONLY: &str = "for at in $(grep -E ' (cgroup|cgroup2) ' /proc/self/mounts | cut -d' ' -f2); do \
                         mount -o remount,bind,ro $at || exit 99; done;";

/// Waits until the group NAME has been paused for half a second without a break, as foreground work that leaves nothing
/// has it, and not for a moment, to see whether foreground work would use more.
fn until_paused(name: &str) -> String {
    format!(
        "n=0; while [ $n -lt 10 ]; do n=$((n + 1)); grep -qsE 'FROZEN|^1$' $(find /sys/fs/cgroup -path \
         '*/crosstalk-background-{name}-*' '(' -name freezer.state -o -name cgroup.freeze ')') || n=0; sleep 0.05; \
         done;"
    )
}

#[test]
fn groups_for_reading_only_are_reported_and_nothing_is_half_applied() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("kept", "sleep 300");
    await_that("it begins", || !inside("kept").is_empty());
    let before = settings("kept");
    let dir = tempfile::tempdir().expect("a directory");
    let ran = dir.path().join("ran");
    let start = format!("exec $CROSSTALK exec --background --name never -- touch {}", ran.display());
    for (script, says) in [
        (start.as_str(), "mount -o remount,rw /sys/fs/cgroup"),
        ("sleep 9 & $CROSSTALK guard --pid $!; code=$?; kill $!; exit $code", "mount -o remount,rw"),
        ("exec $CROSSTALK guard --background kept --for '9 s'", "mount -o remount,rw"),
    ] {
        let Some(output) = apart(&format!("{READ_ONLY} {script}")) else { return };
        assert_eq!(output.status.code(), Some(4), "{script}: {}", stderr(&output));
        assert!(stderr(&output).contains(says) && stderr(&output).contains("try:"), "{}", stderr(&output));
    }
    assert!(!ran.exists() && dirs("never").is_empty(), "nothing was started");
    assert_eq!(settings("kept"), before);
    child.end();
}

#[test]
fn where_there_is_no_pressure_the_guard_says_so_once_and_goes_on() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("unseen", "sleep 300");
    await_that("it begins", || !inside("unseen").is_empty());
    let script = "mount -t tmpfs none /proc/pressure || exit 99; \
                  exec $CROSSTALK guard --background unseen --for '2 s' --json";
    if let Some(output) = apart(script) {
        if output.status.code() == Some(99) {
            eprintln!("skipped: this kernel has no pressure to hide");
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(
            notes(&stdout(&output), "this kernel does not account for pressure"),
            1,
            "{}",
            stdout(&output)
        );
        assert!(stdout(&output).contains("\"result\":\"guard\""), "{}", stdout(&output));
    }
    child.end();
}

#[test]
fn groups_that_become_read_only_while_it_guards_do_not_end_it_and_clean_puts_back() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("stuck", "for n in 1 2; do sh -c 'while :; do :; done' & done; wait");
    await_that("they spin", || inside("stuck").len() > 2);
    let before = settings("stuck");
    // Enough foreground work that the guard has something to do.
    let _own = crowd();
    // After a second it has tried to write, and has not ended.
    let paused = until_paused("stuck");
    let script = format!(
        "$CROSSTALK guard --background stuck --json & guard=$!; {paused} {READ_ONLY} sleep 1; kill -TERM $guard && \
         wait $guard"
    );
    if let Some(output) = apart(&script) {
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stdout(&output).contains("\"result\":\"guard\""), "{}", stdout(&output));
        assert!(stderr(&output).contains("not everything could be put back"), "{}", stderr(&output));
        // What could not be written then is in the ledger.
        let output = crosstalk(Path::new("/"), &["clean"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(settings("stuck"), before);
    }
    child.end();
    assert!(dirs("stuck").is_empty());
}

#[test]
fn trees_that_are_unmounted_under_it_are_not_taken_for_groups_that_have_gone() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("unmounted", "for n in 1 2; do sh -c 'while :; do :; done' & done; wait");
    await_that("they spin", || inside("unmounted").len() > 2);
    let before = settings("unmounted");
    let _own = crowd();
    let unmount = "grep -E ' cgroup2? ' /proc/self/mounts | while read -r _ at _; do umount -l $at; done;";
    let paused = until_paused("unmounted");
    let script = format!(
        "$CROSSTALK guard --background unmounted & guard=$!; {paused} {unmount} sleep 1; kill -TERM $guard && \
         wait $guard"
    );
    if let Some(output) = apart(&script) {
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("is not mounted here any more"), "{}", stderr(&output));
        let output = crosstalk(Path::new("/"), &["clean"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(settings("unmounted"), before);
    }
    child.end();
    assert!(dirs("unmounted").is_empty());
}
