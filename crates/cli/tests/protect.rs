//! The condition `protect`: where background work is while foreground work runs, and that it is as
//! before when that has ended. Skipped without root and where no control groups can be made.

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::thread::sleep;
use std::time::Duration;

use common::external::{alone, await_that, crowd};
use common::{command, crosstalk, finish, journal, kill, lacks_groups, stderr};
use crosstalk_cgroup::group::{Group, Hierarchy, Setting};
use crosstalk_cgroup::process;

const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "Foreground work under protection"
looks = [1]
seed = 6

[experiment.owner]
work.own = { kind = "primes", threads = "all", limit = 3000, events = 8000 }
work.external = { kind = "burner", threads = "all", priority = "normal" }
conditions.protect = "$protect"
factors = { protect = LEVELS }
"#;

fn lacks() -> bool {
    let root = fs::metadata("/proc/self").expect("is there").uid() == 0;
    if !root {
        eprintln!("skipped: it takes root");
    }
    !root || lacks_groups()
}

/// The study with these levels.
fn study(levels: &[&str]) -> String {
    STUDY.replace("LEVELS", &format!("{levels:?}"))
}

fn begin(dir: &Path, levels: &[&str]) -> Child {
    begin_on("local", dir, levels)
}

fn begin_on(testbed: &str, dir: &Path, levels: &[&str]) -> Child {
    fs::write(dir.join("protect.toml"), study(levels)).expect("writes");
    command(dir, &["run", "./protect.toml", "--out", "run", "--testbed", testbed]).spawn().expect("starts")
}

/// What must hold of where background work was.
type Check = fn(&State) -> bool;

/// How an agent was scheduled at one moment, and in which group.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    pid: u32,
    nice: i32,
    /// Under SCHED_IDLE.
    idle_class: bool,
    /// In a group that was made for it,
    inside: bool,
    /// which has `cpu.idle`,
    idle: bool,
    /// or a quota,
    limited: bool,
    /// while a guard was there that was to keep foreground work's slowdown to so many percent.
    guarded: Option<f64>,
}

impl State {
    /// As whoever has started it.
    fn as_before(&self) -> bool {
        let own = process::one(std::process::id()).expect("is there");
        !self.inside && self.nice == own.nice && self.idle_class == own.idle_class
    }
}

fn words(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The slowdown that a guard was given, in percent.
fn slowdown(words: &[String]) -> Option<f64> {
    let at = words.iter().position(|word| word == "--slowdown")?;
    words.get(at + 1)?.strip_suffix('%')?.parse().ok()
}

/// How the agents of a run are scheduled now.
fn agents(run: u32) -> Vec<State> {
    let all = process::all();
    let does = |pid: u32, verb: &str| words(pid).get(1).is_some_and(|word| word == verb);
    let agents: Vec<_> =
        all.iter().filter(|process| process.parent == run && does(process.pid, "agent")).collect();
    // It is the agent without work that has started it.
    let started = |guard: &&process::Process| agents.iter().any(|agent| agent.pid == guard.parent);
    let guards = all.iter().filter(started).filter(|process| does(process.pid, "guard"));
    let guarded = guards.map(|guard| words(guard.pid)).find_map(|words| slowdown(&words));
    agents
        .into_iter()
        .map(|agent| {
            let group = Group::of_process(agent.pid).ok();
            let set = |setting: &Setting| {
                group.as_ref().and_then(|group| fs::read_to_string(group.place(setting)?).ok())
            };
            let quota = set(&Setting::Quota(None)).unwrap_or_default();
            State {
                pid: agent.pid,
                nice: agent.nice,
                idle_class: agent.idle_class,
                inside: agent.groups.contains("crosstalk-study-"),
                idle: set(&Setting::Idle(true)).is_some_and(|idle| idle.trim() == "1"),
                limited: !quota.is_empty() && !quota.starts_with("max") && !quota.starts_with("-1"),
                guarded,
            }
        })
        .collect()
}

/// Runs to its end; how its agents were scheduled meanwhile, in order.
fn observe(mut run: Child) -> (Output, Vec<State>) {
    let mut seen = Vec::new();
    while run.try_wait().expect("waits").is_none() {
        seen.extend(agents(run.id()));
        sleep(Duration::from_millis(5));
    }
    (finish(run), seen)
}

/// Groups of background work of studies that are there.
fn groups() -> Vec<PathBuf> {
    let hierarchy = Hierarchy::here();
    let trees = hierarchy.trees().into_iter();
    let places = trees.flat_map(|tree| tree.here().into_iter().chain([tree.mount.clone()]));
    let entries = places.flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    let ours = |path: &PathBuf| path.to_string_lossy().contains("crosstalk-study-");
    entries.map(|entry| entry.path()).filter(ours).collect()
}

#[test]
fn background_work_is_where_its_level_says_and_goes_back() {
    if lacks() {
        return;
    }
    let _alone = alone();
    let cases: [(&str, Check); 6] = [
        ("nice", |state| state.nice == 19 && !state.idle_class && !state.inside),
        ("sched-idle", |state| state.idle_class && !state.inside),
        ("cpu-idle", |state| state.inside && state.idle && state.guarded.is_none()),
        ("quota 50%", |state| state.inside && state.limited && !state.idle),
        ("guard", |state| state.inside && state.guarded == Some(1.0)),
        ("guard 5%", |state| state.inside && state.guarded == Some(5.0)),
    ];
    let dir = tempfile::tempdir().expect("a directory");
    let levels: Vec<&str> = ["none"].into_iter().chain(cases.iter().map(|(level, _)| *level)).collect();
    let (output, seen) = observe(begin(dir.path(), &levels));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let ended: Vec<(String, Option<String>)> = journal(&dir.path().join("run"))
        .iter()
        .filter(|line| line["line"] == "attempt" && line["status"] != "started")
        .map(|line| (line["levels"]["protect"].to_string(), line["reason"].as_str().map(String::from)))
        .collect();
    // There is time to see that all have gone back.
    assert_eq!(
        ended.last().map(|(level, _)| level.as_str()),
        Some("\"none\""),
        "give another seed: {ended:?}"
    );
    for (level, holds) in cases {
        let failed =
            ended.iter().find_map(|(of, why)| (*of == format!("{level:?}")).then_some(why)?.as_ref());
        if failed.is_some_and(|why| why.contains("does not offer the idle class")) {
            eprintln!("skipped: {level}: {failed:?}");
            continue;
        }
        assert_eq!(failed, None, "{level}");
        let first = seen.iter().position(holds);
        let first = first.unwrap_or_else(|| panic!("{level} was never seen: {seen:?}"));
        let agent = seen[first].pid;
        let mut after = seen[first..].iter().filter(|state| state.pid == agent);
        assert!(after.any(State::as_before), "{level}: it does not go back: {seen:?}");
        // Foreground work stays what it is.
        let own = seen.iter().find(|state| state.pid != agent).expect("an agent of its own").pid;
        assert!(seen.iter().filter(|state| state.pid == own).all(State::as_before), "{level}");
    }
    assert!(groups().is_empty(), "{:?}", groups());
}

/// The name of the group that was given to a guard which descends from `run`.
fn guarded_group(run: u32) -> Option<String> {
    let all = process::all();
    let parent = |pid: u32| all.iter().find(|process| process.pid == pid).map(|process| process.parent);
    let descends = |pid: u32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == run);
    let guards = all.iter().map(|process| (process.pid, words(process.pid)));
    let mut guards = guards.filter(|(pid, words)| slowdown(words).is_some() && descends(*pid));
    let (_, words) = guards.next()?;
    let group = words.into_iter().find(|word| word.contains("crosstalk-study-"))?;
    group.rsplit('/').next().map(String::from)
}

#[test]
fn a_run_that_is_killed_leaves_neither_group_nor_guard() {
    if lacks() {
        return;
    }
    let _alone = alone();
    // A virtual cluster takes all of its processes along, those that undo what they did among them.
    for testbed in ["local", "virtual"] {
        let dir = tempfile::tempdir().expect("a directory");
        let run = begin_on(testbed, dir.path(), &["guard"]);
        let mut name = None;
        await_that("background work is guarded", || {
            name = guarded_group(run.id());
            name.is_some()
        });
        let name = name.expect("as seen above");
        kill("-KILL", run.id());
        finish(run);
        let left = || {
            let speaks_of_it = |pid: u32| words(pid).iter().any(|word| word.contains(&name));
            let guards = process::all().into_iter().filter(|one| speaks_of_it(one.pid));
            let groups = groups().into_iter().filter(|path| path.ends_with(&name));
            (guards.count(), groups.count())
        };
        await_that("nothing of it is left", || left() == (0, 0));
    }
}

#[test]
fn what_is_no_level_and_protection_from_nobody_are_refused_at_their_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |study: &str, says: &str| {
        fs::write(dir.path().join("protect.toml"), study).expect("writes");
        let output = crosstalk(dir.path(), &["plan", "./protect.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains("protect.toml:10") && told.contains(says), "{told}");
    };
    refused(&study(&["none", "guard 0%"]), "guard 0%");
    let external = "work.external = { kind = \"burner\", threads = \"all\", priority = \"normal\" }";
    refused(&study(&["none", "nice"]).replace(external, "# nobody"), "no work here lasts");
}

#[test]
fn a_protected_attempt_ends_on_a_machine_that_others_load() {
    if lacks() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    // What the guard takes for foreground work, which keeps background work from running while that is protected.
    let _others = crowd();
    let levels = ["nice", "sched-idle", "cpu-idle", "quota 10%", "guard"];
    let short = study(&levels).replace("events = 8000", "events = 800");
    fs::write(dir.path().join("protect.toml"), short).expect("writes");
    let output = crosstalk(dir.path(), &["run", "./protect.toml", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = journal(&dir.path().join("run"));
    let attempts: Vec<_> = lines.iter().filter(|line| line["line"] == "attempt").collect();
    let ended = |level: &str| {
        let own = attempts.iter().filter(|line| line["levels"]["protect"] == level);
        own.filter_map(|line| line["status"].as_str()).collect::<Vec<_>>()
    };
    for level in levels {
        assert_eq!(ended(level), ["started", "finished"], "{level}: {attempts:?}");
    }
}
