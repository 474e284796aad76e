//! `crosstalk groups tune` on this machine's control groups.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::common::{command, finish, kill, stderr, stdout};
use crate::{await_that, groups, serially};

/// Runs `groups tune` with these options. No control group, and no temporary file, is left then.
pub fn tune(dir: &Path, options: &[&str]) -> Output {
    serially(|| finish(started(dir, options).spawn().expect("starts")), || assert_nothing_is_left(dir))
}

fn started(dir: &Path, options: &[&str]) -> Command {
    fs::create_dir_all(dir.join("tmp")).expect("makes");
    let mut command = command(dir, &[&["groups", "tune"], options].concat());
    command.env("TMPDIR", dir.join("tmp"));
    command
}

fn assert_nothing_is_left(dir: &Path) {
    let files: Vec<_> = fs::read_dir(dir.join("tmp")).expect("is there").flatten().collect();
    assert!(files.is_empty(), "{files:?}");
}

pub fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_small_mix_is_tuned_within_its_budget_and_decided_by_fresh_pairs() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("own.mix"), "1 user stream 200%\n3 users reread 12%\n").expect("writes");
    let options = ["--mix", "./own.mix", "--memory", "128MiB", "--jobs", "4", "--work", "0.2", "--json"];
    let output = tune(dir.path(), &[&options[..], &["--runs", "10"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = lines(&output);
    let result = lines.last().expect("a result");
    assert_eq!((&result["result"], &result["schema"]), (&"tune".into(), &"crosstalk.tune/1".into()));
    let runs = lines.iter().filter(|line| line["event"] == "run").count();
    assert!((3..=10).contains(&runs), "{runs}");
    assert_eq!(result["runs"].as_array().map(Vec::len), Some(runs));
    let plan = lines.iter().find(|line| line["event"] == "plan").expect("a plan");
    assert_eq!(plan["runs"], 10 + 2 * 12, "those of pairs, too");
    let codes: Vec<&Value> =
        result["groupings"].as_array().expect("a list").iter().map(|one| &one["grouping"]).collect();
    assert!(codes.contains(&&result["chosen"]) && codes.contains(&&"plain".into()), "{codes:?}");
    let counts = &result["parts"][0]["counts"];
    assert_eq!(counts["lock_wait"].is_null(), result["locks_unavailable"].is_string(), "{counts}");
    let pairs = lines.iter().filter(|line| line["event"] == "pair").count();
    if result["chosen"] == "plain" {
        assert!(pairs == 0 && result["verdict"].is_null());
    } else if result["killed"].is_null() && result["cut"].is_null() {
        assert_eq!(pairs, 12);
        assert_eq!(result["verdict"]["pairs"].as_array().map(Vec::len), Some(12));
        let is_faster = result["verdict"]["conclusion"] == "faster";
        assert_eq!(result["commands"].as_array().is_some_and(|commands| !commands.is_empty()), is_faster);
        assert_eq!(is_faster, result["verdict"]["low"].as_f64() > Some(1.0));
    }
    let mut written: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("tune-001.json")).expect("is there"))
            .expect("JSON");
    written["result"] = "tune".into();
    assert_eq!(written, *result);
}

#[test]
fn commands_are_users_and_a_kill_names_the_group() {
    let dir = tempfile::tempdir().expect("a directory");
    // A third of the memory is too little for the first.
    let commands =
        "# one a line\nhead -c 60m /dev/zero | tail -c 60m > /dev/null\n\ntrue\ntest 1 = 1 # fine\n";
    fs::write(dir.path().join("jobs"), commands).expect("writes");
    fs::write(dir.path().join("tune-001.json"), "earlier").expect("writes");
    let output = tune(dir.path(), &["--commands", "jobs", "--memory", "96 MiB", "--runs", "6"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let progress = stderr(&output);
    assert!(progress.contains("run 1 of 6: plain: "), "{progress}");
    assert!(
        progress.contains("3 groups") && progress.contains("group `tuned/g0` was out of memory"),
        "{progress}"
    );
    let said = stdout(&output);
    let gap = "What users 1 to 3 need is not known: the run with a group each ran out of memory in group `tuned/g0`";
    assert!(said.contains(gap) && said.contains("equal share of the memory each"), "{said}");
    assert!(
        [
            "aster than plain",
            "lain is better",
            "equivalent",
            "Not decided",
            "as fast as plain",
            "is recommended"
        ]
        .iter()
        .any(|verdict| said.contains(verdict)),
        "{said}"
    );
    assert!(said.contains("The result is in tune-002.json."), "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("tune-001.json")).expect("is there"), "earlier");
}

#[test]
fn a_command_that_fails_ends_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = tune(dir.path(), &["--users", "2", "--", "sh", "-c", "exit 3"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("user 1 failed") || said.contains("user 2 failed"), "{said}");
    assert!(said.contains("exit status: 3"), "{said}");
    assert_eq!(said.matches("run it by itself").count(), 1, "{said}");
}

#[test]
fn a_command_that_hangs_ends_by_the_deadline() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = tune(dir.path(), &["--runs", "5", "--deadline", "20 s", "--", "sleep", "600"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("plain's first run took longer than 690 ms: 29 runs"), "{said}");
    assert!(said.contains("hangs") && said.contains("--deadline"), "{said}");
}

#[test]
fn a_command_that_hangs_later_is_cut_off() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("done")).expect("makes");
    // Plain's first run and another one end well.
    let line = "n=$(ls done | wc -l); : >done/$$; [ $n -lt 4 ] || exec sleep 600";
    let output = tune(dir.path(), &["--users", "2", "--runs", "5", "--", "sh", "-c", line]);
    let said = stderr(&output) + &stdout(&output);
    let is_cut_off = output.status.code() == Some(0) && said.contains("cut off after");
    let plain_is_late = output.status.code() == Some(4) && said.contains("plain took longer than");
    assert!(is_cut_off || plain_is_late, "{said}");
}

#[test]
fn what_cannot_be_counted_is_reported_with_its_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(dir.path().join("tmp")).expect("makes");
    let line = "exec \"$0\" --json groups tune --users 2 --memory 64MiB --exhaustive 1 -- true";
    let mut start = Command::new("setpriv");
    start.args([
        "--bounding-set=-sys_admin,-bpf,-perfmon",
        "sh",
        "-c",
        line,
        env!("CARGO_BIN_EXE_crosstalk"),
    ]);
    start.current_dir(dir.path()).env("TMPDIR", dir.path().join("tmp"));
    start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(child) = start.spawn() else {
        eprintln!("skipped: no setpriv here");
        return;
    };
    let output = serially(|| finish(child), || assert_nothing_is_left(dir.path()));
    if stderr(&output).contains("setpriv:") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = lines(&output).pop().expect("a result");
    let why = result["locks_unavailable"].as_str().expect("a reason");
    assert!(why.contains("it takes privileges") && why.contains("CAP_BPF"), "{why}");
    assert!(result["parts"][0]["counts"]["lock_wait"].is_null());
}

#[test]
fn a_read_rate_needs_files_on_a_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut start = command(dir.path(), &["groups", "tune", "--read-rate", "200 MB", "--", "true"]);
    let run = || finish(start.env("TMPDIR", "/dev/shm").spawn().expect("starts"));
    let output = serially(run, || ());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("/dev/shm") && said.contains("TMPDIR"), "{said}");
}

#[test]
fn plain_without_memory_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "head -c 60m /dev/zero | tail -c 60m > /dev/null";
    let output = tune(dir.path(), &["--memory", "32 MiB", "--", "sh", "-c", script]);
    let said = stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("group `plain`") && said.contains("--memory"), "{said}");
}

#[test]
fn an_interruption_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let before = groups();
    let ended = || {
        let child = started(dir.path(), &["--", "sleep", "600"]).spawn().expect("starts");
        await_that("its group is there", || groups().len() > before.len());
        kill("-INT", child.id());
        finish(child)
    };
    let output = serially(ended, || assert_nothing_is_left(dir.path()));
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(!dir.path().join("tune-001.json").exists(), "there is no result");
}

#[test]
fn an_interruption_keeps_what_was_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let done = dir.path().join("done");
    fs::create_dir(&done).expect("makes");
    let count = || fs::read_dir(&done).expect("is there").count();
    // The first two runs end well.
    let line = ": >done/$$; n=$(ls done | wc -l); [ $n -lt 5 ] || exec sleep 600";
    let ended = || {
        let child = started(dir.path(), &["--users", "2", "--", "sh", "-c", line]).spawn().expect("starts");
        await_that("a later run has begun", || count() >= 5);
        kill("-INT", child.id());
        finish(child)
    };
    let output = serially(ended, || assert_nothing_is_left(dir.path()));
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("what was run until then is in tune-001.json, without a verdict"), "{said}");
    let text = fs::read_to_string(dir.path().join("tune-001.json")).expect("is there");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (&kept["schema"], &kept["ended"]),
        (&"crosstalk.tune-partial/1".into(), &"interrupted".into())
    );
    assert_eq!(kept["runs"][0]["grouping"], "plain", "{kept}");
    assert!(kept["verdict"].is_null() && kept["activities"][1].as_str().is_some(), "{kept}");
}

#[test]
fn files_that_were_cached_before_are_said_to_be() {
    let dir = tempfile::tempdir().expect("a directory");
    // What was just written is cached.
    fs::write(dir.path().join("data"), vec![7; 24 << 20]).expect("writes");
    fs::write(dir.path().join("jobs"), "md5sum data\ncat data | wc -c\n").expect("writes");
    let options = ["--commands", "jobs", "--memory", "64 MiB", "--exhaustive", "1", "--json"];
    let run = |more: &[&str]| {
        let output = tune(dir.path(), &[&options[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        lines(&output).pop().expect("a result")
    };
    if fs::read_to_string("/proc/self/io").is_err() {
        eprintln!("skipped: the kernel does not count what processes read");
        return;
    }
    let result = run(&[]);
    assert!(result["cached"]["read"].as_f64() >= Some((48 << 20) as f64), "{}", result["cached"]);
    assert_eq!(result["activities"], serde_json::json!(["run md5sum data", "run cat data | wc -c"]));
    let dropped = tune(dir.path(), &[&options[..], &["--drop-caches"]].concat());
    if dropped.status.code() == Some(4) && stderr(&dropped).contains("drop_caches") {
        eprintln!("skipped: {}", stderr(&dropped).trim());
        return;
    }
    let result = lines(&dropped).pop().expect("a result");
    assert!(result["cached"].is_null() && result["drop_caches"] == true, "{result}");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("bad.mix"), "2 users reread 4%\n2 users sleep\n").expect("writes");
    fs::write(dir.path().join("one"), "true\n").expect("writes");
    fs::write(dir.path().join("none"), "# nothing\n").expect("writes");
    fs::write(dir.path().join("typo"), "true\nno-such-program --flag\n").expect("writes");
    fs::write(dir.path().join("half"), r#"[{"grouping":"a","groups":[{"name":"","users":[0]}]}]"#)
        .expect("writes");
    fs::write(dir.path().join("huge.mix"), "9 users reread 1048576M\n").expect("writes");
    fs::write(dir.path().join("zero"), "true\n\ntr\0ue\n").expect("writes");
    mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("makes a pipe");
    let cases: [(&[&str], &str); 29] = [
        (&["--commands", "pipe"], "pipe: cannot read the commands: expected a file"),
        (&["--commands", "/dev/zero"], "/dev/zero: cannot read the commands: expected a file"),
        (&["--commands", "zero"], "zero:3: expected a command, found a zero byte"),
        (&["--exhaustive", "1", "--groupings", "pipe", "--", "true"], "pipe: cannot read the groupings"),
        (&["--mix", "./huge.mix", "--memory", "64MiB"], "are free\n  try: write smaller sizes"),
        (&["--memory", "4KiB", "--", "true"], "--memory: expected at least 1 MiB"),
        (&["--memory", "512TiB", "--", "true"], "--memory: expected at most the"),
        (&["./job"], "crosstalk groups tune -- ./my-job"),
        (&["--mix", "reread", "--memory", "64MiB"], "readers"),
        (&["--mix", "stream"], "did you mean `streaming`?"),
        (&["--mix", "./bad.mix"], "bad.mix:2: expected what users do"),
        (&["--mix", "streaming"], "--memory"),
        (&["--mix", "streaming", "--memory", "64MB", "--work", "0"], "--work"),
        (&["--mix", "streaming", "--memory", "64 XB"], "--memory"),
        (&["--mix", "streaming", "--memory", "900 TiB"], "--memory: expected at most the"),
        (&["--mix", "uneven", "--memory", "64MB", "--users", "3"], "users"),
        (&["--mix", "shared", "--users", "1"], "--users"),
        (&["--", "no-such-program"], "there is no program `no-such-program`, which user 1"),
        (&["--commands", "typo"], "there is no program `no-such-program`, which user 2"),
        (&["--mix", "shared", "--deadline", "soon"], "--deadline"),
        (&["--mix", "shared", "--deadline", "0 s"], "--deadline: expected a time above zero"),
        (&["--exhaustive", "1", "--groupings", "half", "--", "true"], "users 0 to 1 in one group of `a`"),
        (&["--commands", "one"], "at least two users"),
        (&["--commands", "none"], "expected 1 to 10000 commands, found 0"),
        (&["--commands", "missing"], "missing"),
        (&["--mix", "shared", "--runs", "31"], "--runs"),
        (&["--mix", "shared", "--pairs", "11"], "--pairs"),
        (&["--mix", "shared", "--out", "no/such/folder"], "no/such/folder"),
        (&[], "--mix"),
    ];
    for (options, expected) in cases {
        let output = tune(dir.path(), options);
        let said = stderr(&output);
        assert!([Some(2), Some(4)].contains(&output.status.code()), "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
        assert!(!said.contains("run 1"), "nothing has run: {said}");
    }
}

#[test]
fn a_user_who_may_make_no_groups_is_told_so() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become somebody else");
        return;
    }
    let dir = tempfile::Builder::new().tempdir_in("/tmp").expect("a directory");
    std::os::unix::fs::chown(dir.path(), Some(65_534), Some(65_534)).expect("is ours");
    let mut start = started(dir.path(), &["--", "true"]);
    std::os::unix::fs::chown(dir.path().join("tmp"), Some(65_534), Some(65_534)).expect("is ours");
    let run = || finish(start.uid(65_534).gid(65_534).spawn().expect("starts"));
    let output = serially(run, || assert_nothing_is_left(dir.path()));
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("control groups") && said.contains("try:"), "{said}");
}
