//! Changed, mixed or missing files in a run's directory, and wrong files of the user.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{command, crosstalk, stderr, stdout};

/// A finished run in `dir/NAME`.
fn run(dir: &Path, name: &str, seed: &str) {
    let words = ["run", "--runs", "2", "--quiet", "--seed", seed, "--testbed", "local", "--out", name];
    let output = crosstalk(dir, &[&words[..], &["--", "true"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn refused(output: &Output, code: i32, with: &[&str]) {
    let reported = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{reported}");
    assert!(with.iter().all(|part| reported.contains(part)), "{with:?}: {reported}");
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

/// Runs a script, in which `$0` is the program, with a limit on memory.
fn shell(dir: &Path, script: &str) -> Output {
    let program = command(dir, &[]).get_program().to_os_string();
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("ulimit -v 2000000; {script}")]).arg(program).current_dir(dir);
    bash.output().expect("bash runs")
}

#[test]
fn another_run_s_journal_is_refused_and_an_emptied_one_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    run(dir.path(), "a", "1");
    run(dir.path(), "b", "9");
    let path = |name: &str| dir.path().join(name);
    let own = fs::read(path("a/journal.ndjson")).expect("reads");
    for name in ["journal.ndjson", "provenance.json"] {
        fs::copy(path("b").join(name), path("a").join(name)).expect("copies");
        for verb in ["report", "resume"] {
            let reported =
                ["a/journal.ndjson: this journal is another run's", "--seed 9", "try: put it back"];
            refused(&crosstalk(dir.path(), &[verb, "a"]), 2, &reported);
        }
    }
    fs::write(path("a/journal.ndjson"), own).expect("writes");
    for verb in ["report", "resume"] {
        let output = crosstalk(dir.path(), &[verb, "a"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    fs::write(path("a/journal.ndjson"), "").expect("writes");
    let output = crosstalk(dir.path(), &["report", "a", "--json"]);
    assert!(stdout(&output).contains("the journal is empty: what was measured is lost"), "{output:?}");
    // After measuring again, the journal is this directory's.
    for words in [&["resume", "a", "--quiet"][..], &["report", "a"]] {
        let output = crosstalk(dir.path(), words);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_missing_or_endless_file_of_a_run_is_refused_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    run(dir.path(), "a", "1");
    for name in ["options.json", "study.toml", "provenance.json"] {
        let path = dir.path().join("a").join(name);
        let kept = fs::read(&path).expect("reads");
        let refuses = |why: &str| {
            for verb in ["report", "resume"] {
                let output = shell(dir.path(), &format!("exec \"$0\" {verb} a"));
                refused(&output, 2, &[&format!("a/{name}: "), why, "try: put it back as it was"]);
            }
        };
        fs::remove_file(&path).expect("removes");
        if name != "provenance.json" {
            refuses("it is missing");
        }
        pipe(&path);
        refuses("expected a file, found a pipe");
        fs::remove_file(&path).expect("removes");
        symlink("/dev/zero", &path).expect("links");
        refuses("expected a file, found a pipe, a device");
        fs::remove_file(&path).expect("removes");
        fs::File::create(&path).and_then(|file| file.set_len(17 << 20)).expect("writes");
        refuses("expected a text file of at most 16 MiB");
        fs::write(&path, &kept).expect("writes");
    }
    let options = dir.path().join("a/options.json");
    fs::write(&options, "[]").expect("writes");
    refused(&crosstalk(dir.path(), &["report", "a"]), 2, &["a/options.json", "expected a JSON object"]);
}

#[test]
fn an_unknown_testbed_in_a_run_s_directory_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    run(dir.path(), "a", "1");
    let options = dir.path().join("a/options.json");
    let text = fs::read_to_string(&options).expect("reads").replace("\"local\"", "\"mars\"");
    fs::write(&options, text).expect("writes");
    fs::write(dir.path().join("a/journal.ndjson"), "").expect("writes");
    let reported = ["a/options.json: unknown testbed `mars`", "one of: virtual, local"];
    refused(&crosstalk(dir.path(), &["resume", "a"]), 2, &reported);
}

#[test]
fn a_file_to_read_is_limited_in_size_and_may_be_a_pipe() {
    let dir = tempfile::tempdir().expect("a directory");
    pipe(&dir.path().join("ff"));
    for (file, why) in [("ff", "neither"), ("/dev/zero", "16 MiB"), ("nofile", "it is missing")] {
        let output = shell(dir.path(), &format!("exec \"$0\" path knl-to-knl --measured {file}"));
        refused(&output, 2, &[file, why, "try: "]);
    }
    refused(
        &crosstalk(dir.path(), &["run", "./no.toml"]),
        2,
        &["./no.toml: cannot read it: it is missing", "try: "],
    );
    let output = shell(dir.path(), "exec \"$0\" plan /dev/stdin < <(\"$0\" show kosmos)");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn if_nothing_can_be_written_the_remedy_is_possible() {
    let dir = tempfile::tempdir().expect("a directory");
    run(dir.path(), "a", "1");
    fs::create_dir(dir.path().join("ro")).expect("makes");
    let mounts = "mount --bind a ro && mount -o remount,ro,bind ro && exec \"$0\" report ro";
    let output = shell(dir.path(), &format!("exec unshare --mount sh -c '{mounts}' \"$0\""));
    if stderr(&output).contains("unshare") || stderr(&output).contains("mount:") {
        eprintln!("skipped: nothing can be mounted here: {}", stderr(&output));
    } else {
        refused(&output, 4, &["ro/findings.json: cannot replace it", "try: copy the run's directory"]);
    }
    refused(
        &crosstalk(dir.path(), &["man", "/proc"]),
        4,
        &["/proc: cannot write pages", "try: name a directory"],
    );
}
