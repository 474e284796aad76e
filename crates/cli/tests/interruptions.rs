//! Ctrl-C at any moment: nothing is lost, nothing is left behind, and the last line says how to resume.

use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use crate::common::{
    PATIENCE, await_samples, command, crosstalk, finish, interrupt, journal, kill, left_behind, stderr,
    stdout, study, virtual_nodes,
};

#[test]
fn an_interruption_closes_the_journal_and_names_resume() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--out", "out", "--looks", "400"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    interrupt(child.id());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("crosstalk resume out"), "{}", stderr(&output));
    let lines = journal(&dir.path().join("out"));
    let last = lines.last().expect("a line");
    assert_eq!((last["line"].as_str(), last["status"].as_str()), (Some("end"), Some("interrupted")));
}

#[test]
fn a_run_is_resumed_in_the_folder_in_which_it_began() {
    let (dir, elsewhere) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    std::os::unix::fs::symlink("/bin/true", dir.path().join("job")).expect("a program");
    let args = ["run", "--runs", "60", "--testbed", "local", "--out", "out", "--quiet", "--", "./job"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    interrupt(child.id());
    assert_eq!(finish(child).status.code(), Some(130));
    let out = dir.path().join("out").display().to_string();
    let output = crosstalk(elsewhere.path(), &["resume", &out, "--quiet", "--export-json", "numbers.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("cannot be found"), "{}", stderr(&output));
    assert!(elsewhere.path().join("numbers.json").exists(), "files that are named now are named from here");
    let failed =
        journal(&dir.path().join("out")).into_iter().filter(|line| line["status"] == "failed").count();
    assert_eq!(failed, 0);
    std::fs::rename(dir.path(), elsewhere.path().join("moved")).expect("moves");
    let moved = elsewhere.path().join("moved/out").display().to_string();
    let output = crosstalk(elsewhere.path(), &["resume", &moved]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the folder in which the run began"), "{}", stderr(&output));
}

/// Checks the output of an interrupted `crosstalk run --out OUT`, by how far it was.
fn check_interrupted(output: &Output, dir: &Path, out: &str, when: Duration) {
    let (said, path) = (stderr(output), dir.join(out));
    let shown = format!("after {when:?}: {said}{}", stdout(output));
    assert_eq!(output.status.code(), Some(130), "{shown}");
    assert!(said.contains("crosstalk: interrupted\n"), "{shown}");
    if !path.exists() {
        assert_eq!(said, "crosstalk: interrupted\n", "nothing to resume: {shown}");
        return;
    }
    let last = journal(&path).pop().expect("a run's directory has a journal");
    assert_eq!(last["line"], "end", "the journal is closed: {shown}");
    let verb = match last["status"].as_str() {
        Some("interrupted") => "resume",
        Some("finished") => "report",
        other => panic!("{other:?}: {shown}"),
    };
    let line = format!("crosstalk {verb} {out}");
    assert_eq!(shown.matches(&line).count(), 1, "{line}, once: {shown}");
    let mark = path.display().to_string();
    assert_eq!(left_behind(&mark), Vec::<String>::new(), "the cluster is gone: {shown}");
    let (_, words) = said.split_once("crosstalk: interrupted").expect("as seen above");
    let (_, words) = words.split_once(": crosstalk ").expect("a command");
    let words: Vec<&str> = words.split_whitespace().collect();
    let again = crosstalk(dir, &words);
    assert_eq!(again.status.code(), Some(0), "{words:?}: {}", stderr(&again));
}

/// Waits until it handles SIGINT: before that the kernel ends it.
fn await_handler(child: &Child) {
    let until = Instant::now() + PATIENCE;
    let handled = || {
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim().to_string();
        // SIGINT is signal 2: the second bit (proc_pid_status(5)).
        Some(u64::from_str_radix(&mask, 16).ok()? & 2 != 0)
    };
    while handled() != Some(true) {
        assert!(Instant::now() < until, "no handler for Ctrl-C");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The number of moments at which a run is interrupted.
const MOMENTS: usize = 7;

/// Random moments over a whole run: one in each part of it. Parts are shorter at the beginning.
fn moments(count: usize, whole: Duration) -> Vec<Duration> {
    let mut state = u64::from(std::process::id()) | 1;
    let mut random = || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|part| whole.mul_f64(((part as f64 + random()) / count as f64).powi(2))).collect()
}

fn at_random_moments(testbed: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let run = |out: &str| {
        let args = ["run", "./s.toml", "--testbed", testbed, "--out", out];
        // Its environment has the directory, and so has that of all its children.
        let mark = dir.path().join(out);
        command(dir.path(), &args).env("CROSSTALK_TEST", mark).spawn().expect("starts")
    };
    let began = Instant::now();
    let whole = finish(run("whole"));
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    let mut interrupted = 0;
    for (number, moment) in moments(MOMENTS, began.elapsed()).into_iter().enumerate() {
        let out = format!("out-{number}");
        let child = run(&out);
        await_handler(&child);
        std::thread::sleep(moment);
        kill(["-INT", "-TERM"][number % 2], child.id());
        let output = finish(child);
        // A moment after the end, or too close to it to matter.
        if output.status.code() == Some(0) {
            assert!(stdout(&output).contains("report.html"), "{}", stdout(&output));
            continue;
        }
        interrupted += 1;
        check_interrupted(&output, dir.path(), &out, moment);
    }
    assert!(interrupted > MOMENTS / 2, "most moments lie within the run: {interrupted}");
}

#[test]
fn a_run_on_processes_is_interrupted_at_any_moment() {
    at_random_moments("local");
}

#[test]
fn a_run_on_virtual_nodes_is_interrupted_at_any_moment() {
    let dir = tempfile::tempdir().expect("a directory");
    if virtual_nodes(dir.path()) {
        at_random_moments("virtual");
    }
}

#[test]
fn one_interruption_ends_an_analysis_and_the_report_can_be_written_later() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let run = ["run", "./s.toml", "--testbed", "local", "--looks", "1", "--out", "out"];
    assert_eq!(crosstalk(dir.path(), &run).status.code(), Some(0));
    let out = dir.path().join("out");
    std::fs::remove_file(out.join("findings.json")).expect("removes");
    // Reading so many blank lines takes longer than a signal.
    let path = out.join("journal.ndjson");
    let mut text = std::fs::read(&path).expect("reads");
    text.resize(text.len() + (64 << 20), b'\n');
    std::fs::write(&path, text).expect("writes");
    let child = command(dir.path(), &["report", "out"]).spawn().expect("starts");
    await_handler(&child);
    interrupt(child.id());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130), "{}{}", stdout(&output), stderr(&output));
    assert!(!stderr(&output).contains("everything is measured"), "{}", stderr(&output));
    assert!(!out.join("findings.json").exists(), "nothing is half written");
    assert_eq!(crosstalk(dir.path(), &["report", "out"]).status.code(), Some(0));
}
