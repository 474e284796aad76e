//! `crosstalk groups keep`: who is ended when memory is full. A group of 256 MiB is the machine, so that the host is in
//! no danger. Skipped where no control groups can be made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

use serde_json::Value;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{kill, stderr, stdout};

/// A keeper, and what it has printed.
struct Keeper {
    child: Child,
    said: PathBuf,
}

impl Keeper {
    fn start(registry: &Registry) -> Keeper {
        let said = registry.folder.path().join("said");
        let mut start = registry.command(&["--json", "groups", "keep"]);
        start.stdout(fs::File::create(&said).expect("makes"));
        let keeper = Keeper { child: start.spawn().expect("starts"), said };
        await_that("it keeps", || !keeper.of("keeps").is_empty());
        keeper
    }

    /// Its events of a kind.
    fn of(&self, event: &str) -> Vec<Value> {
        let text = fs::read_to_string(&self.said).expect("reads");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    }

    fn end(mut self) {
        kill("-INT", self.child.id());
        assert_eq!(self.child.wait().expect("is ours").code(), Some(0));
    }
}

/// A program in a group that has so many MiB, says so, and stays.
fn holds(registry: &Registry, group: &str, mib: u64) -> Running {
    let ready = registry.folder.path().join(format!("ready-{}", group.replace('/', "-")));
    // The shell's variable has as much.
    let script = format!("x=$(head -c {mib}m /dev/zero | tr '\\0' x); touch {}; sleep 600", ready.display());
    let running = Running::start(registry.command(&["exec", "--group", group, "--", "sh", "-c", &script]));
    await_that("it has its memory", || ready.exists());
    running
}

/// A program in a group that needs more and more. It writes to memory itself: a system call may fail.
fn grows(registry: &Registry, group: &str) -> Running {
    let script = "x=$(head -c 600m /dev/zero | tr '\\0' x); sleep 600";
    Running::start(registry.command(&["exec", "--group", group, "--", "sh", "-c", script]))
}

fn kernel_kills(registry: &Registry) -> u64 {
    let shown = registry.lines(&["groups", "list"]);
    shown.iter().filter_map(|line| line["oom_kills"].as_u64()).sum()
}

fn held(registry: &Registry, group: &str) -> bool {
    let control = registry.setting(group, &["memory.oom_control"]);
    let v1 = control.is_some_and(|text| text.contains("oom_kill_disable 1"));
    v1 || registry.setting(group, &["memory.high"]).is_some_and(|high| high != "max")
}

#[test]
fn the_group_that_is_most_above_its_request_is_ended_and_no_other() {
    let Some(registry) = Registry::new("keep") else { return };
    let machine = registry.named("machine");
    let [steady, rest, grower] = ["steady", "rest", "grower"].map(|name| format!("{machine}/{name}"));
    registry.done(&["groups", "create", &machine, "--memory-limit", "256 MiB"]);
    registry.run(&["groups", "create", &steady, "--memory", "40 MiB"]);
    registry.run(&["groups", "create", &grower]);
    registry.done(&["groups", "create", &rest, "--profile", "besteffort", "--when-full", "kernel"]);
    let mut others = [holds(&registry, &steady, 8), holds(&registry, &rest, 8)];
    let keeper = Keeper::start(&registry);
    assert_eq!(keeper.of("keeps")[0]["groups"], serde_json::json!([machine]));
    let output = grows(&registry, &grower).finish();
    assert_eq!(output.status.code(), Some(137), "{}{}", stdout(&output), stderr(&output));
    let why = format!(
        "`groups keep` ended group `{grower}`: the memory of {machine}, 256 MiB, is full, and it was most above its request"
    );
    assert!(stderr(&output).contains(&why), "{}", stderr(&output));
    await_that("it is reported", || !keeper.of("ended").is_empty());
    let ended = &keeper.of("ended")[0];
    assert_eq!(
        (&ended["group"], &ended["reason"]),
        (&grower.as_str().into(), &"above-request".into()),
        "{ended:#}"
    );
    assert_eq!(ended["full"], serde_json::json!({ "of": machine, "limit": 256 << 20 }));
    assert!(ended["memory"].as_u64() > Some(64 << 20) && ended["processes"].as_u64() >= Some(2), "{ended:#}");
    assert!(ended["named"].to_string().contains("sh "), "{ended:#}");
    assert!(others.iter_mut().all(|other| other.child().try_wait().expect("waits").is_none()), "they go on");
    assert_eq!(kernel_kills(&registry), 0, "the kernel chose nobody");
    assert_eq!((keeper.of("ended").len(), keeper.of("killed").len()), (1, 0));
    keeper.end();
    assert!(!held(&registry, &machine), "it is put back");
}

#[test]
fn besteffort_groups_are_ended_first() {
    let Some(registry) = Registry::new("keep-order") else { return };
    let machine = registry.named("machine");
    let [user, rest] = ["user", "rest"].map(|name| format!("{machine}/{name}"));
    registry.done(&["groups", "create", &machine, "--memory-limit", "256 MiB"]);
    registry.done(&["groups", "create", &user]);
    registry.done(&["groups", "create", &rest, "--profile", "besteffort"]);
    let rest_runs = holds(&registry, &rest, 16);
    let keeper = Keeper::start(&registry);
    let order = &keeper.of("keeps")[0]["order"];
    assert_eq!((&order[0]["group"], &order[0]["reason"]), (&rest.as_str().into(), &"best-effort".into()));
    let user_runs = grows(&registry, &user);
    await_that("both are ended, one after the other", || keeper.of("ended").len() == 2);
    let ended: Vec<Value> = keeper.of("ended").iter().map(|event| event["group"].clone()).collect();
    assert_eq!(ended, [rest.as_str(), user.as_str()]);
    let output = rest_runs.finish();
    let why = format!(
        "`groups keep` ended group `{rest}`: the memory of {machine}, 256 MiB, is full, and besteffort"
    );
    assert!(output.status.code() == Some(137) && stderr(&output).contains(&why), "{output:?}");
    assert_eq!(user_runs.finish().status.code(), Some(137));
    assert_eq!(kernel_kills(&registry), 0);
    keeper.end();
}

#[test]
fn a_group_at_its_own_limit_is_ended_whole_warned_of_or_left_to_the_kernel() {
    let Some(registry) = Registry::new("keep-own") else { return };
    let [end, warn, kernel] = ["end", "warn", "kernel"].map(|name| registry.named(name));
    for (name, rule) in [(&end, "end"), (&warn, "warn"), (&kernel, "kernel")] {
        registry.done(&["groups", "create", name, "--memory-limit", "32 MiB", "--when-full", rule]);
    }
    let listed = registry.lines(&["groups", "list"]);
    assert_eq!(listed[0]["registered"]["when_full"], "end", "{listed:#?}");
    let mut beside = holds(&registry, &end, 2);
    let keeper = Keeper::start(&registry);
    assert_eq!(keeper.of("keeps")[0]["groups"], serde_json::json!([end]));
    let output = grows(&registry, &end).finish();
    let why = format!("(SIGKILL): `groups keep` ended group `{end}`: the memory of {end}, 32 MiB, is full\n");
    assert!(output.status.code() == Some(137) && stderr(&output).contains(&why), "{output:?}");
    await_that("it is reported", || !keeper.of("ended").is_empty());
    let ended = &keeper.of("ended")[0];
    assert_eq!((&ended["group"], &ended["reason"]), (&end.as_str().into(), &"own-limit".into()), "{ended:#}");
    await_that("it is ended whole", || beside.child().try_wait().expect("waits").is_some());
    assert_eq!(kernel_kills(&registry), 0);
    // Files in memory cannot be pushed out.
    let file = Path::new("/dev/shm").join(&warn);
    let script = format!("head -c 31900k /dev/zero >{}", file.display());
    registry.run(&["exec", "--group", &warn, "--", "sh", "-c", &script]);
    await_that("it is reported", || {
        keeper.of("nearly").iter().any(|event| event["full"]["of"] == warn.as_str())
    });
    fs::remove_file(file).expect("is ours");
    let killed = grows(&registry, &kernel);
    await_that("the kernel's choice is named", || {
        keeper.of("killed").iter().any(|event| event["group"] == kernel.as_str())
    });
    drop(killed);
    keeper.end();
}

#[test]
fn a_killed_or_stopped_keeper_leaves_the_choice_to_the_kernel() {
    let Some(registry) = Registry::new("keep-killed") else { return };
    let small = registry.named("small");
    registry.done(&["groups", "create", &small, "--memory-limit", "32 MiB"]);
    for signal in ["-KILL", "-STOP"] {
        let mut keeper = Keeper::start(&registry);
        assert!(held(&registry, &small));
        kill(signal, keeper.child.id());
        if signal == "-KILL" {
            keeper.child.wait().expect("is ours");
        }
        await_that("it is put back", || !held(&registry, &small));
        let script = "head -c 600m /dev/zero | tail -c 500m >/dev/null";
        let output = registry.run(&["exec", "--group", &small, "--", "sh", "-c", script]);
        assert!(stderr(&output).contains("was out of its memory"), "{output:?}");
        keeper.child.kill().expect("is ours");
        let _ = keeper.child.wait();
    }
}

#[test]
fn what_a_keeper_leaves_that_was_killed_with_its_reapers_is_undone_by_the_next_command() {
    let Some(registry) = Registry::new("keep-all-killed") else { return };
    let small = registry.named("small");
    registry.done(&["groups", "create", &small, "--memory-limit", "32 MiB"]);
    for next in [&["exec", "--group", &small, "--", "true"][..], &["groups", "show"], &["groups", "list"]] {
        let mut keeper = Keeper::start(&registry);
        let id = keeper.child.id();
        let reapers = || {
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("it runs");
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        };
        await_that("it has two reapers", || reapers().len() == 2);
        let all = [vec![id], reapers()].concat();
        all.iter().for_each(|pid| kill("-STOP", *pid));
        all.iter().for_each(|pid| kill("-KILL", *pid));
        keeper.child.wait().expect("is ours");
        assert!(held(&registry, &small), "nobody is left to undo it");
        registry.done(next);
        assert!(!held(&registry, &small), "{next:?}");
    }
}

#[test]
fn it_leaves_the_group_that_it_is_started_in_and_runs_once_and_as_root() {
    let Some(registry) = Registry::new("keep-place") else { return };
    let small = registry.named("small");
    registry.done(&["groups", "create", &small, "--memory-limit", "32 MiB"]);
    let said = registry.folder.path().join("said");
    let program = env!("CARGO_BIN_EXE_crosstalk");
    let args = ["exec", "--group", &small, "--", program, "--json", "groups", "keep"];
    let mut start = registry.command(&args);
    start.stdout(fs::File::create(&said).expect("makes"));
    let keeper = Keeper { child: start.spawn().expect("starts"), said };
    await_that("it keeps", || !keeper.of("keeps").is_empty());
    let inside = || {
        registry
            .dirs(&small)
            .iter()
            .any(|dir| fs::read_to_string(dir.join("cgroup.procs")).is_ok_and(|pids| !pids.is_empty()))
    };
    await_that("its own group cannot stop it", || !inside());
    let second = registry.run(&["groups", "keep"]);
    assert_eq!(second.status.code(), Some(4), "{}", stderr(&second));
    assert!(stderr(&second).contains("another groups keep runs already: process "), "{}", stderr(&second));
    keeper.end();
    assert!(!held(&registry, &small));
    let mut user = std::process::Command::new("setpriv");
    user.args(["--reuid", "65534", "--clear-groups", program, "groups", "keep"]);
    user.env("XDG_RUNTIME_DIR", registry.folder.path());
    let output = user.output().expect("runs");
    assert!(stderr(&output).contains("run it as root") && stdout(&output).is_empty(), "{output:?}");
}

#[test]
fn a_wrong_share_is_refused() {
    let Some(registry) = Registry::new("keep-wrong") else { return };
    for (args, said) in [
        (&["groups", "keep", "--available", "5"][..], "--available"),
        (&["groups", "keep", "--available", "-1 %"], "--available"),
        (&["groups", "keep", "--available", "101 %"], "--available: expected 0 % to 50 %"),
        (&["groups", "keep", "--available", "1000000 %"], "--available: expected 0 % to 50 %"),
        (&["groups", "create", "x", "--when-full", "panic"], "possible values: end, warn, kernel"),
    ] {
        let output = registry.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}
