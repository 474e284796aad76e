//! `crosstalk guard` on this machine: what is refused, what is withstood, and that nothing is left however
//! it ends. Skipped where no control groups can be made.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::external::{
    Guarding, Running, Spinner, alone, await_promised, await_that, dirs, external, inside, notes, search,
    settings,
};
use common::foreign::is_frozen;
use common::{command, crosstalk, kill, lacks_groups, stderr, stdout};
use serde_json::Value;

#[test]
fn what_cannot_be_is_said() {
    let _alone = alone();
    let code = |args: &[&str]| crosstalk(Path::new("/"), args).status.code();
    assert_eq!(code(&["guard", "--slowdown", "1"]), Some(2));
    assert_eq!(code(&["guard", "--slowdown", "0%"]), Some(2));
    assert_eq!(code(&["guard", "--for", "0 s"]), Some(2));
    assert_eq!(code(&["guard", "--boinc-address", "127.0.0.1:1"]), Some(2), "for whom?");
    assert_eq!(code(&["guard", "--metrics", "127.0.0.1"]), Some(2), "at which port?");
    let output = crosstalk(Path::new("/"), &["guard", "batch"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--background"), "{}", stderr(&output));
    if lacks_groups() {
        return;
    }
    let said = |args: &[&str]| {
        let output = crosstalk(Path::new("/"), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        stderr(&output)
    };
    assert!(said(&["guard", "--background", "no-such-group"]).contains("no-such-group"));
    assert!(said(&["guard", "--pid", "4194303"]).contains("4194303"));
    assert!(said(&["guard", "boinc", "--boinc-address", "127.0.0.1:1"]).contains("127.0.0.1:1"));
    assert!(said(&["guard", "--pid", &std::process::id().to_string()]).contains("has started this guard"));
    let dir = tempfile::tempdir().expect("a directory");
    let rules = dir.path().join("rules.toml");
    let path = rules.display().to_string();
    let text = "[[background]]\ncommand = \"a\"\nuser = \"no-such-user\"\n";
    fs::write(&rules, text).expect("writes");
    let told = said(&["guard", "--rules", &path]);
    assert!(told.contains("schema = \"crosstalk.guard/1\"") && told.contains(&path), "{told}");
    fs::write(&rules, format!("schema = \"crosstalk.guard/1\"\n{text}")).expect("writes");
    let told = said(&["guard", "--rules", &path]);
    assert!(told.contains("unknown user `no-such-user`") && told.contains(&path), "{told}");
    fs::remove_file(&rules).expect("removes");
    assert!(Command::new("mkfifo").arg(&rules).status().expect("coreutils").success());
    assert!(said(&["guard", "--rules", &path]).contains("expected a file"), "and does not wait for it");
    assert!(said(&["guard", "--metrics", "127.0.0.1:99999"]).contains("65535"));
    let told = said(&["guard", "--background", "a\u{1b}[2J"]);
    assert!(!told.contains('\u{1b}') && told.contains("a\\u{1b}[2J"), "{told}");
}

#[test]
fn a_group_that_goes_while_it_is_guarded_is_reported_once() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("going", "sleep 300");
    await_that("it begins", || !inside("going").is_empty());
    let guard = Guarding::begin(&["--background", "going", "--json"]);
    guard.await_look();
    child.end();
    assert!(dirs("going").is_empty(), "its group is gone while the guard runs");
    await_that("its end is reported", || notes(&guard.said(), "going has ended") > 0);
    let lines = guard.said().lines().count();
    await_that("it goes on", || guard.said().lines().count() > lines);
    let (code, said, complained) = guard.end();
    assert_eq!(code, Some(0), "{complained}");
    assert_eq!(notes(&said, "going has ended"), 1, "{said}");
}

#[test]
fn background_work_runs_while_foreground_work_waits_for_its_lock() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = folder.path().join("lock");
    // It gives the lock back once it sees the file that says so, which it cannot see while it is paused.
    let script = format!(
        "exec 9> {0}; flock 9; echo > {0}.taken; until [ -e {0}.wanted ]; do :; done; flock -u 9; while :; do :; done",
        lock.display()
    );
    // It has the lock before there is anything to pause it for.
    let child = external("locker", &script);
    await_that("it has the lock", || folder.path().join("lock.taken").exists());
    let own: Vec<Spinner> = (0..8).map(|_| Spinner::on("0-1023")).collect();
    let guard = Guarding::begin(&["--json"]);
    guard.await_look();
    await_that("it is paused", || is_frozen(&dirs("locker")));
    let mut waiter = Command::new("flock");
    let waiter = Running::start({
        waiter.arg(&lock).arg("true").stdout(Stdio::piped()).stderr(Stdio::piped());
        waiter
    });
    await_that("the guard says so", || notes(&guard.said(), "waits for a lock of") > 0);
    fs::write(folder.path().join("lock.wanted"), "").expect("writes");
    assert!(waiter.finish().status.success(), "it gets the lock although processors are taken");
    await_that("it is paused again", || is_frozen(&dirs("locker")));
    drop(own);
    let (code, _, complained) = guard.end();
    assert_eq!(code, Some(0), "{complained}");
    child.end();
}

#[test]
fn killing_the_guard_at_any_moment_leaves_no_knob_changed_and_nothing_frozen() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("guarded", "for n in 1 2 3 4; do sh -c 'while :; do :; done' & done; wait");
    await_that("they spin", || inside("guarded").len() > 4);
    let before = settings("guarded");
    // Enough foreground work that the guard has something to do.
    let _own: Vec<Spinner> = (0..8).map(|_| Spinner::on("0-1023")).collect();
    // While it begins, and last once everything is paused.
    for millis in [Some(0), Some(30), Some(200), Some(700), None] {
        let mut guard = Running::start(command(Path::new("/"), &["guard", "--background", "guarded"]));
        match millis {
            Some(millis) => std::thread::sleep(Duration::from_millis(millis)),
            None => await_that("it is paused", || is_frozen(&dirs("guarded"))),
        }
        guard.kill();
        await_promised("all is as before", || settings("guarded") == before);
    }
    // And when it ends as it is told to. It takes a moment to be sure that nothing is left over.
    let guard = Guarding::begin(&["--background", "guarded", "--json"]);
    let last = |said: &str| said.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let was_paused = |line: &Value| line["sums"]["paused"].as_f64().is_some_and(|seconds| seconds > 0.5);
    await_that("it is paused for half a second", || {
        last(&guard.said()).is_some_and(|line| was_paused(&line))
    });
    let (code, said, complained) = guard.end();
    assert_eq!(code, Some(0), "{complained}");
    assert_eq!(settings("guarded"), before);
    let result = last(&said).expect("JSON");
    assert_eq!(result["result"], "guard");
    assert_eq!(result["sums"]["highest"], "paused", "foreground work used everything: {result}");
    child.end();
    assert!(dirs("guarded").is_empty());
}

#[test]
fn a_reader_that_does_not_read_holds_no_guard_up() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("unread", "for n in 1 2; do sh -c 'while :; do :; done' & done; wait");
    await_that("they spin", || inside("unread").len() > 2);
    let before = settings("unread");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let metrics = folder.path().join("metrics");
    let samples = || {
        let text = fs::read_to_string(&metrics).unwrap_or_default();
        let told = text.lines().find_map(|line| line.strip_prefix("crosstalk_guard_samples_total "));
        told.map_or(0, |samples| samples.parse::<u64>().expect("a number"))
    };
    for stream in ["output", "error"] {
        // A pipe is full with so much.
        let (_reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(&[b'\n'; 1 << 16]).expect("has room");
        let path = metrics.display().to_string();
        let mut start =
            command(Path::new("/"), &["guard", "--background", "unread", "--metrics", &path, "--json"]);
        match stream {
            "output" => start.stdout(writer),
            _ => start.stderr(writer).stdout(Stdio::null()),
        };
        let mut guard = Running::start(start);
        await_that("it samples", || samples() > 0);
        // It says on standard error that it does not pause.
        kill("-TSTP", guard.id());
        // Each time it publishes how often it has looked it says it, too.
        for _ in 0..2 {
            let so_far = samples();
            await_that("it goes on", || samples() > so_far);
        }
        kill("-TERM", guard.id());
        let mut ended = None;
        await_that("it ends", || {
            ended = guard.child().try_wait().expect("is ours");
            ended.is_some()
        });
        assert_eq!(settings("unread"), before, "{stream}");
        let code = ended.and_then(|status| status.code());
        match guard.child().stderr.take() {
            Some(mut told) if stream == "output" => {
                let mut text = String::new();
                told.read_to_string(&mut text).expect("reads");
                assert!(text.contains("goes on") && text.contains("its reader did not take it"), "{text}");
            }
            _ => {}
        }
        assert_eq!(code, Some(4), "{stream}: not everything reached its reader");
    }
    child.end();
}

/// The files of this name in the groups that were made with that one, and what they say.
fn told(name: &str, file: &str) -> Vec<(PathBuf, String)> {
    let found = settings(name).into_iter().filter(|(path, _)| path.ends_with(file));
    found.map(|(path, text)| (path, text.trim().to_string())).collect()
}

#[test]
fn external_work_never_gets_more_than_its_owner_gave_it() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let script = "for n in 1 2; do sh -c 'while :; do :; done' & done; wait";
    let mut starts = command(
        Path::new("/"),
        &["exec", "--background", "--name", "held", "--cores", "1", "--", "sh", "-c", script],
    );
    let child = Running::of(starts.spawn().expect("starts"));
    await_that("they spin", || inside("held").len() > 2);
    let freezers = || [told("held", "freezer.state"), told("held", "cgroup.freeze")].concat();
    if freezers().is_empty() || told("held", "cpuset.cpus").is_empty() {
        eprintln!("skipped: here are no groups that can be paused or have processors of their own");
        return;
    }
    // Its owner has paused it.
    let went = freezers();
    for (path, text) in &went {
        fs::write(path, if text == "THAWED" { "FROZEN" } else { "1" }).expect("may be set");
    }
    let is_frozen = || freezers().iter().all(|(_, text)| text == "FROZEN" || text == "1");
    await_that("it is paused", is_frozen);
    let before = settings("held");
    let processors = told("held", "cpuset.cpus");
    // Foreground work that leaves room, and foreground work that leaves none, have the guard do something.
    for spinners in [1, 8] {
        let _own: Vec<Spinner> = (0..spinners).map(|_| Spinner::on("0-1023")).collect();
        let mut guard =
            Running::start(command(Path::new("/"), &["guard", "--background", "held", "--for", "2 s"]));
        while guard.child().try_wait().expect("is ours").is_none() {
            assert!(is_frozen(), "its owner has paused it");
            assert_eq!(told("held", "cpuset.cpus"), processors);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(settings("held"), before);
    }
    // What is paused does not end.
    went.iter().for_each(|(path, text)| fs::write(path, text).expect("may be set"));
    child.end();
}

#[test]
fn a_process_is_guarded_in_a_group_of_its_own_and_goes_back() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let spinner = Spinner::on("0-1023");
    let place = || fs::read_to_string(format!("/proc/{}/cgroup", spinner.id())).expect("runs");
    let before = place();
    let pid = spinner.id().to_string();
    let mut guard = Running::start(command(Path::new("/"), &["guard", "--pid", &pid]));
    await_that("it is taken in", || place() != before);
    assert!(place().contains("crosstalk-guests-"), "{}", place());
    guard.kill();
    await_that("it is back", || place() == before);
    await_that("nothing is left", || {
        let mut found = Vec::new();
        search(Path::new("/sys/fs/cgroup"), "crosstalk-guests-", &mut found);
        found.is_empty()
    });
    let output = crosstalk(Path::new("/"), &["guard", "--pid", &pid, "--once"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("of a processor"), "{}", stdout(&output));
    assert_eq!(place(), before);
}

#[test]
fn numbers_are_told_and_two_guards_of_one_group_are_refused() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let child = external("told", "sleep 300");
    await_that("it begins", || !inside("told").is_empty());
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("guard.prom");
    let path = file.display().to_string();
    let first = Guarding::begin(&["--background", "told", "--metrics", &path, "--explain"]);
    await_that("numbers come", || {
        fs::read_to_string(&file).is_ok_and(|text| text.contains("crosstalk_guard_samples_total"))
    });
    let second: Output = crosstalk(dir.path(), &["guard", "--background", "told", "--for", "1 s"]);
    assert_eq!(second.status.code(), Some(2), "{}", stderr(&second));
    let who = format!("another guard (process {}) has the group of told", first.id());
    assert!(stderr(&second).contains(&who), "{}", stderr(&second));
    assert!(fs::read_to_string(&file).is_ok_and(|text| text.ends_with("# EOF\n")));
    let (code, _, complained) = first.end();
    assert_eq!(code, Some(0), "{complained}");
    assert!(!file.exists(), "no numbers of a guard that has ended");
    child.end();
}

#[test]
fn ctrl_z_does_not_stop_it_and_a_reaper_that_is_stopped_does_not_keep_it_from_ending() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let guard = Guarding::begin(&["--for", "2 s", "--json"]);
    let reaper = || {
        let found =
            Command::new("pgrep").args(["-P", &guard.id().to_string()]).output().expect("pgrep starts");
        String::from_utf8_lossy(&found.stdout).lines().next().and_then(|pid| pid.parse::<u32>().ok())
    };
    // It has heard of its reapers then.
    guard.await_look();
    kill("-STOP", reaper().expect("is there"));
    kill("-TSTP", guard.id());
    let (code, _, complained) = guard.finish();
    assert_eq!(code, Some(0), "{complained}");
    assert!(complained.contains("it goes on"), "{complained}");
}
