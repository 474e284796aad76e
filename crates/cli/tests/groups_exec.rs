//! `crosstalk exec --group`: commands in named groups, and what is said of how they end. Each test has a registry of its
//! own, and names of its own. Skipped where no control groups can be made.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use serde_json::Value;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{finish, kill, stderr, stdout};

#[test]
fn a_command_begins_in_its_group_and_what_it_leaves_stays() {
    let Some(registry) = Registry::new("exec") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    let exec = |script: &str| registry.run(&["exec", "--group", &lab, "--", "sh", "-c", script]);
    let output = exec("cat /proc/self/cgroup; exit 7");
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let within = stdout(&output).lines().filter(|line| line.ends_with(&format!("/{lab}"))).count();
    assert_eq!(within, registry.dirs(&lab).len(), "in every tree: {}", stdout(&output));
    assert_eq!(exec("kill -9 $$").status.code(), Some(137));
    assert_eq!(exec("").status.code(), Some(0));
    let output = registry.run(&["exec", "--group", &lab, "--json", "--", "true"]);
    let result: Value = serde_json::from_str(stdout(&output).trim()).expect("a line of JSON");
    assert_eq!((&result["result"], &result["exit"]), (&"exec".into(), &0.into()));
    assert!(result["cpu"].as_f64().is_some_and(|cpu| cpu > 0.0), "{result}");
    // A script that ends leaves what it has started.
    let output = exec("sleep 300 >/dev/null 2>&1 & echo $!");
    let pid: u32 = stdout(&output).trim().parse().expect("a number");
    let inside = || registry.setting(&lab, &["cgroup.procs"]).expect("is there");
    assert_eq!(inside(), pid.to_string());
    let output = registry.run(&["groups", "remove", &lab]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains(&format!("1 process is in it: sleep {pid}")) && said.contains("--kill"), "{said}");
    assert_eq!(registry.listed(), [lab.as_str()], "it stays");
    registry.done(&["groups", "remove", "--kill", &lab]);
    assert!(!Path::new(&format!("/proc/{pid}/exe")).exists());
}

#[test]
fn signals_go_to_the_command() {
    let Some(registry) = Registry::new("signals") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    let script = "trap 'exit 33' TERM; touch ready; while :; do sleep 0.05; done";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut start = registry.command(&["exec", "--group", &lab, "--", "sh", "-c", script]);
    let child = Running::start({
        start.current_dir(folder.path());
        start
    });
    await_that("it catches the signal", || folder.path().join("ready").exists());
    let output = child.end();
    assert_eq!(output.status.code(), Some(33), "{}", stderr(&output));
}

#[test]
fn a_command_that_needs_too_much_memory_is_reported_with_its_group() {
    let Some(registry) = Registry::new("memory") else { return };
    let small = registry.named("small");
    registry.done(&["groups", "create", &small, "--memory-limit", "32 MiB"]);
    let script = "head -c 400m /dev/zero | tail -c 300m > /dev/null";
    let output = registry.run(&["exec", "--group", &small, "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains(&format!("group `{small}` was out of its memory of 32 MiB")), "{said}");
    assert!(said.contains("`sh` ended with exit code 137; the kernel killed a process"), "{said}");
    let shown = registry.lines(&["groups", "show", &small]);
    assert!(shown[0]["oom_kills"].as_u64().is_some_and(|kills| kills > 0), "{shown:?}");
}

#[test]
fn a_fork_bomb_is_contained_and_reported() {
    let Some(registry) = Registry::new("bomb") else { return };
    let [bomb, calm] = ["bomb", "calm"].map(|name| registry.named(name));
    let output = registry.run(&["groups", "create", &bomb, &calm, "--processes", "12"]);
    if stderr(&output).contains("does not offer") {
        eprintln!("skipped: nothing counts processes here");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // A shell ends when it cannot start a process.
    let script = "while :; do sleep 300 >/dev/null 2>&1 & done";
    let output = registry.run(&["exec", "--group", &bomb, "--", "sh", "-c", script]);
    assert_ne!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains(&format!("group `{bomb}` has as many processes as it may: ")), "{said}");
    let shown = registry.lines(&["groups", "show"]);
    let of = |name: &str| shown.iter().find(|line| line["name"] == name).expect("is shown");
    let threads = &of(&bomb)["threads"];
    assert!(threads["count"].as_u64().is_some_and(|count| (1..=12).contains(&count)), "{threads}");
    assert!(threads["refused"].as_u64() >= Some(1) && threads["limit"] == 12, "{threads}");
    assert_eq!(of(&calm)["threads"]["refused"], 0);
    let table = registry.done(&["groups", "list"]);
    assert!(table.contains(", starts refused: "), "{table}");
    let table = registry.done(&["groups", "show"]);
    assert!(table.contains("refused") && table.contains(" of 12)"), "{table}");
    registry.done(&["exec", "--group", &calm, "--", "true"]);
}

#[test]
fn a_command_that_somebody_kills_is_not_said_to_lack_memory() {
    let Some(registry) = Registry::new("other-kill") else { return };
    let small = registry.named("small");
    registry.done(&["groups", "create", &small, "--memory-limit", "20 MiB"]);
    let ready = registry.folder.path().join("ready");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; while :; do sleep 0.1; done", ready.display());
    let sleeper = Running::start(registry.command(&["exec", "--group", &small, "--", "sh", "-c", &script]));
    await_that("it runs", || ready.exists());
    let hog = registry.run(&[
        "exec",
        "--group",
        &small,
        "--",
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=200M",
        "count=1",
    ]);
    let said = stderr(&hog);
    assert_eq!(hog.status.code(), Some(137), "{said}");
    if fs::File::open("/dev/kmsg").is_ok_and(|mut log| log.read(&mut [0; 16384]).is_ok()) {
        assert!(said.contains(&format!("`dd` was killed (SIGKILL): group `{small}` was out")), "{said}");
    }
    let pid = fs::read_to_string(&ready).expect("reads").trim().parse().expect("a number");
    kill("-KILL", pid);
    let output = sleeper.finish();
    assert_eq!(output.status.code(), Some(137));
    let said = stderr(&output);
    assert!(said.contains("`sh` was killed (SIGKILL); the kernel killed a process"), "{said}");
    assert!(said.contains("perhaps this one"), "{said}");
}

#[test]
fn a_shared_group_takes_its_users_programs() {
    let Some(registry) = Registry::new("shared") else { return };
    let [shared, own] = ["shared", "own"].map(|name| registry.named(name));
    registry.done(&["groups", "create", &own]);
    let output = registry.run(&["groups", "create", &shared, "--user", "65534"]);
    if stderr(&output).contains("cannot share it") {
        eprintln!("skipped: only root can give files away");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    if stderr(&output).contains("only from within it") {
        eprintln!("skipped: v2 alone lets a user move nothing into a group of root's");
        return;
    }
    let owner = |file: &str| {
        let paths = registry.dirs(&shared).into_iter().map(|dir| dir.join(file));
        paths.filter_map(|path| fs::metadata(path).ok()).map(|file| file.uid()).collect::<Vec<_>>()
    };
    assert!(owner("cgroup.procs").iter().all(|user| *user == 65_534));
    assert!(owner("cpu.shares").iter().chain(&owner("memory.limit_in_bytes")).all(|user| *user == 0));
    let by_user = |args: &[&str]| {
        let child = registry.command(args).uid(65_534).gid(65_534).spawn().expect("starts");
        finish(child)
    };
    let output = by_user(&["exec", "--group", &shared, "--", "cat", "/proc/self/cgroup"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("memory:{}", "/")), "{}", stdout(&output));
    assert!(stdout(&output).lines().any(|line| line.ends_with(&format!("/{shared}"))), "{}", stdout(&output));
    let output = by_user(&["exec", "--group", &own, "--", "true"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("may not put programs into group"), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("crosstalk groups set {own} --user")), "{}", stderr(&output));
    registry.done(&["groups", "set", &own, "--user", "65534"]);
    assert_eq!(by_user(&["exec", "--group", &own, "--", "true"]).status.code(), Some(0), "it is shared now");
    registry.done(&["groups", "set", &own, "--user", "none"]);
    assert_eq!(by_user(&["exec", "--group", &own, "--", "true"]).status.code(), Some(4), "and no more");
    let output = by_user(&["groups", "set", &own, "--user", "65534"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("is root's"), "{}", stderr(&output));
    let output = by_user(&["groups", "remove", &own]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains(&format!("`{own}` is root's")) && said.contains("run it as root"), "{said}");
    let output = by_user(&["groups", "create", &registry.named("x")]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("systemd-run --user"), "{}", stderr(&output));
}
