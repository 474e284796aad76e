//! `crosstalk groups show --working-set`: finds what a group re-reads beside what it read once. Skipped where no
//! control groups can be made.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{kill, stderr};

const MIB: u64 = 1 << 20;
/// Files that are read again and again, and files that are read once.
const HOT: u64 = 32;
const COLD: u64 = 48;

/// A program in a group that has read both, and reads one again and again.
fn reader(registry: &Registry, group: &str) -> Running {
    let folder = registry.folder.path().join(group.replace('/', "-"));
    fs::create_dir(&folder).expect("makes");
    let script = format!(
        "head -c {HOT}m /dev/urandom >hot; head -c {COLD}m /dev/urandom >cold; sync hot cold; \
         cat hot hot cold >/dev/null; touch ready; while :; do cat hot; done >/dev/null"
    );
    let mut start = registry.command(&["exec", "--group", group, "--", "sh", "-c", &script]);
    start.current_dir(&folder);
    let running = Running::start(start);
    await_that("it has read its files", || folder.join("ready").exists());
    running
}

fn limit(registry: &Registry, group: &str) -> Option<String> {
    registry.setting(group, &["memory.limit_in_bytes", "memory.high"])
}

#[test]
fn what_is_read_again_is_needed_and_the_rest_is_pushed_out() {
    let Some(registry) = Registry::new("needs") else { return };
    let [lab, idle] = ["lab", "idle"].map(|name| registry.named(name));
    let alice = format!("{lab}/alice");
    registry.done(&["groups", "create", &lab, &alice, &idle]);
    let running = reader(&registry, &alice);
    let before = limit(&registry, &alice);
    let lines = registry.lines(&["groups", "show", "--working-set", "--window", "250 ms", &alice]);
    let [found, result] = &lines[..] else { panic!("{lines:#?}") };
    assert_eq!((&found["event"], &found["name"]), (&"working-set".into(), &alice.as_str().into()));
    let bytes = |key: &str| found[key].as_u64().unwrap_or_else(|| panic!("{key}: {found:#}"));
    if found["stopped"] == "waiting" {
        eprintln!("skipped: the machine is so busy that reading waits");
        return;
    }
    // Either is a reason to stop: three steps have come back, or a quarter of the memory has.
    assert!(["needed", "budget"].iter().any(|reason| found["stopped"] == *reason), "{found:#}");
    // The shell and cat need something, too.
    let (low, high) = (bytes("low") as f64 / MIB as f64, bytes("high") as f64 / MIB as f64);
    assert!(low <= high && (HOT as f64 * 0.9..HOT as f64 * 1.1 + 4.0).contains(&high), "{found:#}");
    assert!(bytes("unused") >= (COLD - 8) * MIB && bytes("memory") >= (HOT + COLD - 4) * MIB, "{found:#}");
    assert!(bytes("refaults") > 0 && found["seconds"].as_f64() > Some(1.0), "{found:#}");
    assert_eq!((&result["result"], &result["groups"]), (&"groups".into(), &1.into()));
    assert_eq!(limit(&registry, &alice), before, "it is put back");
    // All, where groups that hold others are not measured again.
    let text = registry.done(&["groups", "show", "--working-set", "--window", "50 ms"]);
    assert!(text.contains(&format!("{alice}: needs ")) && text.contains(&format!("{idle}: ")), "{text}");
    assert!(!text.contains(&format!("{lab}: ")), "{text}");
    let shown = registry.lines(&["groups", "show", &alice]);
    assert_eq!(shown[0]["oom_kills"], 0, "{shown:#?}");
    running.end();
}

#[test]
fn a_killed_measurement_puts_the_limit_back() {
    let Some(registry) = Registry::new("needs-killed") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab, "--memory-limit", "512 MiB"]);
    let running = reader(&registry, &lab);
    let before = limit(&registry, &lab);
    for number in 0..6 {
        let mut child: Child = registry
            .command(&["groups", "show", "--working-set", "--window", "10 ms", &lab])
            .spawn()
            .expect("starts");
        // At other moments of its steps.
        let until = Instant::now() + Duration::from_millis(40 + number * 13);
        while Instant::now() < until && child.try_wait().expect("waits").is_none() {
            std::thread::yield_now();
        }
        kill("-KILL", child.id());
        child.wait().expect("is ours");
        registry.done(&["clean"]);
        assert_eq!(limit(&registry, &lab), before, "kill {number}");
    }
    running.end();
}

#[test]
fn an_interrupted_measurement_says_what_it_knows() {
    let Some(registry) = Registry::new("needs-interrupted") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    let args = ["--json", "groups", "show", "--working-set", "--window", "1 h", &lab];
    let mut start: Command = registry.command(&args);
    let child = start.stdout(Stdio::piped()).spawn().expect("starts");
    let ledgers = || fs::read_dir(registry.folder.path().join("crosstalk")).into_iter().flatten().flatten();
    await_that("it begins", || {
        ledgers().any(|file| file.path().extension().is_some_and(|end| end == "ndjson"))
    });
    kill("-INT", child.id());
    let output = child.wait_with_output().expect("is ours");
    let first = String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_string).expect("a line");
    let found: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(found["stopped"], "interrupted", "{found:#}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let Some(registry) = Registry::new("needs-wrong") else { return };
    let lab = registry.named("lab");
    let alice = format!("{lab}/alice");
    registry.done(&["groups", "create", &lab, &alice]);
    for (args, said) in [
        (&["--working-set", &lab, &alice][..], &["one after the other"][..]),
        (&["--working-set", "--watch"], &["--watch"]),
        (&["--window", "1 s"], &["--working-set"]),
        (&["--working-set", "--window", "0 s"], &["--window", "1 ms"]),
        (&["--working-set", &format!("{lab}x")], &["did you mean"]),
    ] {
        let output = registry.run(&[&["groups", "show"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(said.iter().all(|words| stderr(&output).contains(words)), "{args:?}: {}", stderr(&output));
    }
}
