//! Groupings that `crosstalk groups tune` has found, made again: by the command itself, and by the commands that it prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::external::search;
use crate::common::groups::Registry;
use crate::common::stderr;
use crate::tune::{lines, tune};

/// Writes what limits the process that runs it.
const LIMITS: &str = include_str!("../common/limits.sh");

#[test]
fn every_grouping_of_a_grid_can_be_run_again_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let users = ["--users", "3", "--memory", "96 MiB", "--seed", "7", "--json"];
    let run = |more: &[&str]| {
        let output = tune(dir.path(), &[&users[..], more, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        lines(&output).pop().expect("a result")
    };
    let grid = run(&["--exhaustive", "2"]);
    let records = grid["groupings"].as_array().expect("a list");
    assert!(
        records.len() >= 3 && records.iter().any(|one| one["grouping"] == "3-dealt-equal"),
        "{records:?}"
    );
    let runs_of = |result: &Value, code: &Value| {
        let runs = result["runs"].as_array().expect("a list").clone();
        runs.iter().filter(|run| run["grouping"] == *code && run["block"] != 0).count()
    };
    fs::write(dir.path().join("groupings"), grid["groupings"].to_string()).expect("writes");
    let again = run(&["--exhaustive", "2", "--groupings", "groupings"]);
    for (record, compared) in records.iter().zip(again["groupings"].as_array().expect("a list")) {
        let code = &record["grouping"];
        assert_eq!((&compared["grouping"], &compared["groups"]), (code, &record["groups"]));
        assert_eq!((runs_of(&grid, code), runs_of(&again, code)), (2, 2), "{code}");
    }
}

#[test]
fn pasted_commands_make_the_groups_that_were_measured() {
    let Some(registry) = Registry::new("tuned") else { return };
    let [measured, pasted] = ["measured", "pasted"].map(|name| {
        let dir = registry.folder.path().join(name);
        fs::create_dir(&dir).expect("makes");
        fs::write(dir.join("limits.sh"), LIMITS).expect("writes");
        dir
    });
    fs::write(measured.join("jobs"), "sh limits.sh 0\nsh limits.sh 1\nsh limits.sh 2\n").expect("writes");
    let groupings = json!([{ "grouping": "one", "groups": [
        { "name": "", "users": [0, 2], "memory_limit": 48 << 20 },
        { "name": "", "users": [1], "memory_limit": (20 << 20) + 4096 },
    ]}]);
    fs::write(measured.join("groupings"), groupings.to_string()).expect("writes");
    let options = ["--commands", "jobs", "--memory", "80 MiB", "--read-rate", "200 MB", "--json"];
    let only = ["--exhaustive", "1", "--groupings", "groupings"];
    let output = tune(&measured, &[&options[..], &only].concat());
    if output.status.code() == Some(4) && stderr(&output).contains("disk") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = lines(&output).pop().expect("a result");
    assert_eq!(result["runs"][0]["grouping"], "one");
    let commands: Vec<&str> = result["groupings"][0]["commands"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    // In a shell of its own, which enters a group, and with names that nobody else has.
    let own = registry.named("tuned");
    let script = format!("set -e\n{}\nwait\n", commands.join("\n")).replace("tuned", &own);
    let program = Path::new(env!("CARGO_BIN_EXE_crosstalk")).parent().expect("a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(&pasted).env("XDG_RUNTIME_DIR", registry.folder.path());
    shell.env("PATH", format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default()));
    let output = shell.output().expect("starts");
    let mut left = Vec::new();
    search(Path::new("/sys/fs/cgroup/blkio"), &own, &mut left);
    left.iter().for_each(|dir| fs::remove_dir(dir).expect("nobody is in it"));
    assert!(output.status.success(), "{script}: {}", stderr(&output));
    for user in 0..3 {
        let read = |dir: &Path| fs::read_to_string(dir.join(format!("limits-{user}"))).expect("it has run");
        let (measured, pasted) = (read(&measured), read(&pasted));
        assert_eq!(measured, pasted, "user {user}");
        let limit = if user == 1 { (20 << 20) + 4096 } else { 48 << 20 };
        assert!(measured.contains(&format!(" {limit}\n")) && measured.contains(" 83886080\n"), "{measured}");
        assert!(measured.contains("200000000"), "{measured}");
    }
}
