//! What groups may have: `crosstalk groups set` changes it while programs run in them, for all or none; and sizes that are
//! more than there is. Skipped where no control groups can be made.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::external::await_that;
use crate::common::groups::Registry;
use crate::common::{kill, stderr, stdout};

#[test]
fn groups_are_changed_while_programs_run_in_them() {
    let Some(registry) = Registry::new("set") else { return };
    let (lab, web) = (registry.named("lab"), registry.named("web"));
    registry.done(&["groups", "create", &lab, &web, "--memory-limit", "64 MiB", "--processes", "500"]);
    registry.done(&["exec", "--group", &lab, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 &"]);
    let limit = |name: &str| registry.setting(name, &["memory.max", "memory.limit_in_bytes"]);
    let inside = || registry.setting(&lab, &["cgroup.procs"]);
    let before = inside();
    let set = |args: &[&str]| {
        let output = registry.run(&[&["groups", "set"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(set(&[&lab, &web, "--memory-limit", "128 MiB"]), format!("changed {lab}, {web}\n"));
    assert_eq!([limit(&lab), limit(&web)], [Some("134217728".into()), Some("134217728".into())]);
    set(&[&lab, "--profile", "guaranteed", "--memory", "256 MiB", "--cpus", "0.5", "--processes", "none"]);
    assert_eq!(limit(&lab).as_deref(), Some("268435456"));
    let weight = || registry.setting(&lab, &["cpu.weight", "cpu.shares"]);
    assert!(["50", "512"].contains(&weight().as_deref().expect("is offered")), "{:?}", weight());
    let quota = || registry.setting(&lab, &["cpu.max", "cpu.cfs_quota_us"]).expect("is offered");
    assert!(quota().starts_with("50000"), "{}", quota());
    assert_eq!(registry.setting(&lab, &["pids.max"]).as_deref(), Some("max"));
    set(&[&lab, "--profile", "besteffort"]);
    assert!(["max 100000", "-1"].contains(&quota().as_str()), "{}", quota());
    let idle = || registry.setting(&lab, &["cpu.idle"]);
    assert!(idle().is_none_or(|idle| idle == "1"));
    assert_ne!(limit(&lab).as_deref(), Some("268435456"), "the limit was what was guaranteed");
    set(&[&lab, "--profile", "burstable", "--cpus", "2"]);
    assert!(idle().is_none_or(|idle| idle == "0"));
    assert!(["200", "2048"].contains(&weight().as_deref().expect("is offered")), "{:?}", weight());
    let shown = registry.lines(&["groups", "list"]);
    assert_eq!(shown[0]["registered"], serde_json::json!({ "profile": "burstable", "cpus": 2.0 }));
    assert_eq!((inside(), before.is_some()), (before, true), "it runs on");
}

#[test]
fn of_groups_that_cannot_all_be_changed_none_is() {
    let Some(registry) = Registry::new("set-none") else { return };
    // The first one is changed before the second one cannot be.
    let (small, full) = (registry.named("a-small"), registry.named("full"));
    registry.done(&["groups", "create", &full, "--memory-limit", "512 MiB"]);
    registry.done(&["groups", "create", &small, "--memory-limit", "512 MiB", "--profile", "besteffort"]);
    let processor =
        || [&["cpu.idle"][..], &["cpu.weight", "cpu.shares"]].map(|files| registry.setting(&small, files));
    let idle = processor();
    // Memory that is not of a file: without swap nothing takes it.
    let shell = "(head -c 64m /dev/zero | tail -c 48m | sleep 300) >/dev/null 2>&1 &";
    registry.done(&["exec", "--group", &full, "--", "sh", "-c", shell]);
    let charged = || -> u64 {
        let text = registry.setting(&full, &["memory.usage_in_bytes", "memory.current"]);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    await_that("it holds memory", || charged() > 40 << 20);
    if fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1) {
        eprintln!("skipped: what it holds can be swapped out");
        return;
    }
    let limit = |name: &str| registry.setting(name, &["memory.max", "memory.limit_in_bytes"]);
    let before = registry.lines(&["groups", "list"]);
    let output =
        registry.run(&["groups", "set", &full, &small, "--profile", "burstable", "--memory-limit", "8 MiB"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stderr(&output);
    let expected = "the kernel cannot push out enough for a limit of 8 MiB";
    assert!(said.contains(&format!("`{full}` uses ")) && said.contains(expected), "{said}");
    assert_eq!([limit(&small), limit(&full)], [Some("536870912".into()), Some("536870912".into())]);
    let registered =
        |lines: &[Value]| lines.iter().map(|line| line["registered"].clone()).collect::<Vec<_>>();
    assert_eq!(registered(&registry.lines(&["groups", "list"])), registered(&before));
    assert_eq!(processor(), idle);
    assert!(charged() > 40 << 20, "it runs on");
    assert!(!registry.done(&["clean"]).contains("undone"), "nothing is left to undo");
}

#[test]
fn a_killed_change_is_undone() {
    let Some(registry) = Registry::new("set-killed") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab, "--count", "40", "--memory-limit", "64 MiB"]);
    let names: Vec<String> = (0..40).map(|number| format!("{lab}-{number}")).collect();
    let limit = |name: &str| registry.setting(name, &["memory.max", "memory.limit_in_bytes"]);
    let mut args = vec!["groups", "set", "--memory-limit", "128 MiB"];
    args.extend(names.iter().map(String::as_str));
    let mut child = registry.command(&args).spawn().expect("starts");
    while limit(&names[3]).as_deref() != Some("134217728") && child.try_wait().expect("waits").is_none() {
        std::thread::yield_now();
    }
    kill("-KILL", child.id());
    child.wait().expect("is ours");
    registry.done(&["clean"]);
    let listed = registry.lines(&["groups", "list"]);
    let group = listed.iter().find(|line| line["name"] == names[0].as_str()).expect("is listed");
    if group["registered"]["limit"] == 67_108_864 {
        assert!(names.iter().all(|name| limit(name).as_deref() == Some("67108864")));
    } else {
        eprintln!("skipped: it was done before it was killed");
    }
    args[3] = "96 MiB";
    registry.done(&args);
    assert!(names.iter().all(|name| limit(name).as_deref() == Some("100663296")));
}

#[test]
fn file_pages_are_pushed_out_for_a_lower_limit() {
    let Some(registry) = Registry::new("set-lower") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    registry.cache_file(&lab);
    let charged = || -> u64 {
        let text = registry.setting(&lab, &["memory.usage_in_bytes", "memory.current"]);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    if charged() < 30 << 20 {
        eprintln!("skipped: file pages are not charged here");
        return;
    }
    let output = registry.run(&["groups", "set", &lab, "--memory-limit", "8 MiB"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("pages were pushed out for its limit of 8 MiB"), "{}", stderr(&output));
    assert!(charged() <= 8 << 20);
}

#[test]
fn sizes_above_the_machine_are_noted_or_refused() {
    let Some(registry) = Registry::new("sizes") else { return };
    let [big, wide, sure] = ["big", "wide", "sure"].map(|name| registry.named(name));
    let output = registry.run(&["groups", "create", &big, "--memory-limit", "900000 GiB"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("a memory limit of 900000 GiB never binds"), "{}", stderr(&output));
    let output = registry.run(&["groups", "create", &wide, "--cpus", "8000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("--cpus 8000 is only a share"), "{}", stderr(&output));
    let guaranteed = ["--profile", "guaranteed", "--memory", "64 MiB", "--cpus", "8000"];
    let output = registry.run(&[&["groups", "create", &sure], &guaranteed[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("--cpus: 8000 processors cannot be guaranteed: this machine has"), "{said}");
    assert_eq!(registry.listed(), [big, wide]);
}

#[test]
fn where_groups_stand_and_what_limits_them_there_is_printed() {
    let Some(registry) = Registry::new("where") else { return };
    let lab = registry.named("lab");
    let made = registry.lines(&["groups", "create", &lab]);
    let mut parents: Vec<PathBuf> = made[0]["parents"]
        .as_object()
        .expect("a tree each")
        .values()
        .map(|path| Path::new(path.as_str().expect("a path")).join(&lab))
        .collect();
    parents.sort();
    parents.dedup();
    let mut dirs = registry.dirs(&lab);
    dirs.sort();
    assert_eq!(parents, dirs);
    let shown = registry.lines(&["groups", "show", &lab]);
    let shown = shown[0]["directories"].as_object().expect("a tree each");
    assert!(shown.values().all(|path| dirs.contains(&PathBuf::from(path.as_str().expect("a path")))));
    let files = ["memory.limit_in_bytes", "memory.max"];
    let above = dirs.iter().filter_map(|dir| dir.parent());
    let limit = above.flat_map(|dir| files.map(|file| dir.join(file))).find(|file| file.exists());
    let limit = limit.expect("there is a memory controller");
    let was = fs::read_to_string(&limit).expect("reads");
    fs::write(&limit, "1073741824").expect("root may");
    let output = registry.run(&["groups", "create", &registry.named("within")]);
    // v1 writes that there is none as the largest number that it has, and reads it so, too.
    fs::write(&limit, was.trim()).expect("root may");
    assert!(
        stderr(&output).contains("all groups together have 1 GiB, by the limit of "),
        "{}",
        stderr(&output)
    );
}
