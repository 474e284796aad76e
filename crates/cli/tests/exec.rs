//! `crosstalk exec` on this machine: background work yields, exit codes are passed on, and nothing is left however
//! it ends. Skipped where no control groups can be made.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::external::{Spinner, alone, await_that, dirs, external, inside, ticks};
use crate::common::{command, crosstalk, finish, lacks_groups, stderr, stdout};

#[test]
fn the_exit_code_comes_back_and_signals_go_through() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let run = |kind: &str, script: &str| crosstalk(Path::new("/"), &["exec", kind, "--", "sh", "-c", script]);
    assert_eq!(run("--background", "exit 7").status.code(), Some(7));
    assert_eq!(run("--foreground", "echo said; exit 0").stdout, b"said\n");
    assert_eq!(run("--background", "kill -9 $$").status.code(), Some(137));
    let child = external("signal", "trap 'exit 33' TERM; echo ready; while :; do sleep 0.05; done");
    await_that("it begins", || inside("signal").len() > 1);
    let output = child.end();
    assert_eq!(output.status.code(), Some(33), "{}", stderr(&output));
    assert!(dirs("signal").is_empty(), "its group is gone");
}

#[test]
fn a_frozen_command_receives_the_signal_to_end() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let mut child = external("frozen", "trap 'exit 33' TERM; sleep 100 & while :; do :; done");
    await_that("it catches the signal", || inside("frozen").len() > 1);
    // In the tree in which a guard would freeze it.
    let files = [("cgroup.freeze", "1"), ("freezer.state", "FROZEN")];
    let all = dirs("frozen");
    let found = files.iter().find_map(|(file, word)| {
        Some((all.iter().map(|dir| dir.join(file)).find(|path| path.exists())?, word))
    });
    let Some((path, word)) = found else {
        eprintln!("skipped: no control group here can be frozen");
        return;
    };
    // Its group may be removed already.
    let freeze = || {
        drop(fs::OpenOptions::new().write(true).open(&path).and_then(|mut f| f.write_all(word.as_bytes())))
    };
    // A guard that sees foreground work use all processors freezes it again before it has run.
    let _foreground: Vec<Spinner> = (0..8).map(|_| Spinner::on("0-1023")).collect();
    freeze();
    child.ask_to_end();
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        freeze();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(child.finish().status.code(), Some(33));
    assert!(dirs("frozen").is_empty(), "its group is gone");
}

#[test]
fn impossible_options_are_refused() {
    let _alone = alone();
    let run = |args: &[&str]| crosstalk(Path::new("/"), &[&["exec"], args].concat());
    assert_eq!(run(&["--", "true"]).status.code(), Some(2), "foreground or background?");
    assert_eq!(run(&["--background"]).status.code(), Some(2), "which command?");
    if lacks_groups() {
        return;
    }
    for (args, expected) in [
        (["--", "/no/such/program"].as_slice(), "/no/such/program"),
        (&["--name", "a/b", "--", "true"], "--name"),
        (&["--cores", "9999", "--", "true"], "--cores"),
        (&["--quota", "1e300", "--", "true"], "--quota"),
        (&["--memory", "1e30 GiB", "--", "true"], "--memory"),
        (&["--memory", "0 B", "--", "true"], "--memory"),
        (&["--", ""], "there is no command"),
    ] {
        let output = run(&[&["--background"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn arguments_are_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let mut command = command(Path::new("/"), &["exec", "--background", "--", "printf", "%s"]);
    let output = finish(command.arg(OsStr::from_bytes(b"a\xffb")).spawn().expect("starts"));
    assert_eq!(output.stdout, b"a\xffb", "{}", stderr(&output));
}

#[test]
fn without_privileges_the_fault_has_a_remedy() {
    use std::os::unix::process::CommandExt;
    let _alone = alone();
    let mut command = command(Path::new("/"), &["exec", "--background", "--", "true"]);
    let Ok(child) = command.uid(65_534).gid(65_534).spawn() else {
        eprintln!("skipped: only root can run as another user");
        return;
    };
    let output = finish(child);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("systemd-run --user"), "{}", stderr(&output));
}

#[test]
fn processes_that_it_leaves_end_with_it_and_killing_leaves_nothing() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let ended = external("daemon", "sleep 300 & sleep 300 & exit 3");
    let output = ended.finish();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(dirs("daemon").is_empty());
    let mut child = external("killed", "sleep 300 & sleep 300 & wait");
    await_that("it begins", || inside("killed").len() > 2);
    let pids = inside("killed");
    child.kill();
    await_that("the group is removed", || dirs("killed").is_empty());
    // A process that has ended may be a zombie until its new parent waits for it.
    let ended = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ")
    };
    assert!(pids.iter().all(ended), "{pids:?}");
}

#[test]
fn memory_has_its_limit_and_is_counted_where_it_belongs() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let script = "head -c 400m /dev/zero | tail -c 300m > /dev/null";
    let output =
        crosstalk(Path::new("/"), &["exec", "--background", "--memory", "64 MiB", "--", "sh", "-c", script]);
    if stderr(&output).contains("does not offer a memory limit") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    // `tail` must keep 300 MiB, and has 64.
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    assert!(stderr(&output).contains("more than `--memory 64 MiB`"), "{}", stderr(&output));
}

#[test]
fn a_group_has_no_more_than_its_caller() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let limits = "find /sys/fs/cgroup -path '*crosstalk-background-inner-*' \
                \\( -name cpu.max -o -name cpu.cfs_quota_us \\) -exec cat {} +";
    for (options, expected) in
        [(&[][..], "50000"), (&["--quota", "1"], "50000"), (&["--quota", "0.25"], "25000")]
    {
        let mut args = vec!["exec", "--foreground", "--quota", "0.5", "--", env!("CARGO_BIN_EXE_crosstalk")];
        args.extend(["exec", "--background", "--name", "inner"]);
        args.extend(options);
        args.extend(["--", "sh", "-c", limits]);
        let output = crosstalk(Path::new("/"), &args);
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(out.split_whitespace().next(), Some(expected), "{options:?}: {out} {err}");
    }
}

#[test]
fn foreground_work_gets_the_processor_beside_eight_background_spinners() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let script = "for n in 1 2 3 4 5 6 7 8; do taskset -c 0 sh -c 'while :; do :; done' & done; wait";
    let child = external("spin", script);
    await_that("they spin", || inside("spin").len() > 8);
    let spinner = Spinner::on("0");
    let foreground = || ticks(spinner.id());
    let background = || inside("spin").into_iter().map(ticks).sum::<u64>();
    let (foreground_before, background_before) = (foreground(), background());
    let used = || (foreground() - foreground_before, background() - background_before);
    // Ticks of both together: other programs may use the processor meanwhile.
    await_that("they have used 200 ticks", || used().0 + used().1 > 200);
    let (foreground_ticks, background_ticks) = used();
    child.end();
    assert!(
        dirs("spin").is_empty(),
        "its group is gone, although foreground work leaves it no processor to end on"
    );
    assert!(
        foreground_ticks > 20 * background_ticks,
        "{foreground_ticks} ticks beside {background_ticks} of background work"
    );
}
