//! Hostile names, full disks and damaged files: nothing steers the terminal, nothing ends a measurement, damaged data
//! does not count, and impossible runs are refused before they start.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::external::await_that;
use crate::common::{
    Started, await_samples, command, crosstalk, finish, interrupt, journal, samples, stderr, stdout, study,
};
use crosstalk_core::record::Line;
use crosstalk_study::journal::{JournalPosition, lines};

/// A short run on processes.
const RUN: [&str; 8] = ["run", "./s.toml", "--testbed", "local", "--looks", "2", "--out", "out"];

fn full() -> Option<fs::File> {
    let full = OpenOptions::new().write(true).open("/dev/full").ok();
    if full.is_none() {
        eprintln!("skipped: no /dev/full here");
    }
    full
}

#[test]
fn a_full_disk_behind_standard_error_ends_no_run_and_is_reported_at_its_end() {
    let Some(full) = full() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = [&["--json"], &RUN[..]].concat();
    let mut run = command(dir.path(), &args);
    let output = run.stderr(full.try_clone().expect("opens")).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "events go to standard output: {}", stdout(&output));
    fs::remove_dir_all(dir.path().join("out")).expect("removes");
    let output = command(dir.path(), &RUN).stderr(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(4), "{}", stdout(&output));
    assert!(stdout(&output).contains("report: out/report.html"), "it was measured: {}", stdout(&output));
    let lines = journal(&dir.path().join("out"));
    assert_eq!(lines.last().expect("a line")["status"], "finished");
    assert!(dir.path().join("out/report.html").exists());
}

#[test]
fn a_run_needs_no_reader() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    for (number, how) in ["2>&-", ">&- 2>&-", "2>&1 | true", "2</dev/null"].into_iter().enumerate() {
        let out = format!("out-{number}");
        let program = command(dir.path(), &[]).get_program().to_os_string();
        let script = format!("\"$@\" {how}; test -e {out}/report.html");
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("set -o pipefail; {script}"), "bash"]).arg(program);
        shell.args(&RUN[..7]).arg(&out).current_dir(dir.path());
        let output = shell.output().expect("bash runs");
        assert_eq!(output.status.code(), Some(0), "{how}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn a_slow_reader_delays_no_run_and_an_interruption_ends_the_wait() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    // Events of more attempts than a pipe holds, and nobody reads them.
    let size = 1 << 12;
    let args = ["--json", "run", "./s.toml", "--testbed", "local", "--looks", "100000", "--out", "out"];
    let mut child = Started(command(dir.path(), &args).spawn().expect("starts"));
    let unread = child.0.stdout.take().expect("piped");
    rustix::pipe::fcntl_setpipe_size(&unread, size).expect("the least that a pipe holds");
    // The event of an attempt is more than a third of a KiB.
    await_samples(&dir.path().join("out"), size / 256);
    interrupt(child.0.id());
    let mut ended = None;
    await_that("it does not wait for its reader", || {
        ended = child.0.try_wait().expect("waits");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    drop(unread);
    let lines = journal(&dir.path().join("out"));
    assert_eq!(lines.last().expect("a line")["status"], "interrupted");
}

/// Whether it would steer a terminal.
fn steers(output: &Output) -> bool {
    let steers = |c: char| {
        c.is_control() && !['\n', '\t'].contains(&c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    (stdout(output) + &stderr(output)).contains(steers)
}

#[test]
fn nothing_in_a_file_or_a_name_steers_the_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = "schema = \"crosstalk.study/1\"\ntitle = \"t\\u001b[2J\\u202e\"\nlooks = [1]\n[experiment.e]\n";
    let graph = "work.graph = { kind = \"pagerank\", graph = \"edges\" }\nfactors = {}\n";
    let text = format!("{top}{graph}conditions = {{ system = \"microblade\" }}\n");
    fs::write(dir.path().join("s.toml"), text).expect("writes");
    fs::write(dir.path().join("edges"), "\u{1b}]0;PWNED\u{7}\u{9b}2J\u{202e} 1\n").expect("writes");
    let cases: [&[&str]; 6] = [
        &RUN,
        &["--json", "run", "./s.toml", "--testbed", "local", "--out", "out-json"],
        &["plan", "./s.toml"],
        &["show", "\u{1b}]0;PWNED\u{7}\u{2066}"],
        &["\u{1b}]0;PWNED\u{7}"],
        &["run", "--vary", "env.A=\u{1b}[2J,\u{202e}", "--testbed", "local", "--looks", "1", "--", "false"],
    ];
    for args in cases {
        let output = crosstalk(dir.path(), args);
        assert!(!steers(&output), "{args:?}: {:?}{:?}", stdout(&output), stderr(&output));
        let shows = args[0] != "plan";
        assert_eq!(
            shows,
            output.status.code() != Some(0),
            "{args:?}: {}{}",
            stdout(&output),
            stderr(&output)
        );
    }
    let reported = crosstalk(dir.path(), &["report", "out"]);
    assert!(!steers(&reported), "{:?}{:?}", stdout(&reported), stderr(&reported));
}

#[test]
fn a_study_too_large_to_finish_is_refused_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let text = fs::read_to_string(dir.path().join("s.toml")).expect("reads");
    let looks = text.replace("looks = [8]", "looks = [9223372036854775807]");
    fs::write(dir.path().join("long.toml"), looks).expect("writes");
    let many: Vec<String> = (0..300_000).map(|n| n.to_string()).collect();
    let wide = "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nconditions.fabric = \"none\"\n\
                work.a = { kind = \"command\", argv = [\"true\", \"$n\"] }\n";
    fs::write(dir.path().join("wide.toml"), format!("{wide}factors.n = [{}]\n", many.join(", ")))
        .expect("writes");
    let cases: [(&[&str], &str); 6] = [
        (
            &["run", "./s.toml", "--warmup", "99999999999999"],
            "--warmup: expected at most 100000 runs to warm up",
        ),
        (&["run", "./s.toml", "--looks", "1000000000"], "at most 100000 blocks, found 1000000000"),
        (&["plan", "./s.toml", "--looks", "12,100001"], "at most 100000 blocks"),
        (
            &["run", "./long.toml"],
            "long.toml:4: expected interim analyses (--looks) of at most 100000 blocks",
        ),
        (&["plan", "./wide.toml"], "wide.toml:6: expected at most 10000 levels, found 300000"),
        (&["plan", "./s.toml", "--set", &format!("b.system={}", many[..20_000].join(","))], "at most 10000"),
    ];
    for (args, said) in cases {
        let output = crosstalk(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "`{said}`: {}", stderr(&output));
    }
    assert!(!dir.path().join("runs").exists(), "no run is begun");
}

#[test]
fn the_longest_run_begins_at_once_and_is_interrupted() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--looks", "100000", "--out", "out"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    interrupt(child.id());
    assert_eq!(finish(child).status.code(), Some(130));
}

#[test]
fn names_that_are_not_text_are_refused_before_anything_is_begun() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let odd = dir.path().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).expect("makes");
    study(&odd);
    let refused = |output: &Output, place: &str| {
        assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
        assert!(stderr(output).contains(place) && stderr(output).contains("UTF-8"), "{}", stderr(output));
        assert!(!stderr(output).contains("panicked"), "{}", stderr(output));
    };
    let run = &["run", "./s.toml", "--testbed", "local", "--looks", "1"];
    let output =
        command(dir.path(), run).arg("--out").arg(OsStr::from_bytes(b"\xfe")).output().expect("runs");
    refused(&output, "--out");
    refused(&command(&odd, run).output().expect("runs"), "--out");
    refused(&command(dir.path(), run).env("TMPDIR", &odd).output().expect("runs"), "TMPDIR");
    let begun = fs::read_dir(dir.path()).expect("reads").count() + fs::read_dir(&odd).expect("reads").count();
    assert_eq!(begun, 3, "two studies and a folder, and no run");
}

#[test]
fn byte_order_marks_and_ends_of_lines_make_no_difference() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let read = |name: &str| fs::read_to_string(name).expect("reads");
    let written = read(dir.path().join("s.toml").to_str().expect("UTF-8"));
    let fabric = stdout(&crosstalk(dir.path(), &["show", "srio"]));
    let published = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../published/published.csv"));
    let forms: [fn(&str) -> String; 4] = [
        |text| format!("\u{feff}{text}"),
        |text| text.replace('\n', "\r\n"),
        |text| text.replace('\n', "\r"),
        |text| format!("\u{feff}{}", text.replace('\n', "\r")),
    ];
    for (number, form) in forms.iter().enumerate() {
        for (name, text) in
            [("s.toml", &written), ("my/fabrics/mine.toml", &fabric), ("my/published/x.csv", &published)]
        {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("has one")).expect("makes");
            fs::write(path, form(text)).expect("writes");
        }
        let output = crosstalk(dir.path(), &["plan", "./s.toml", "--catalogue", "my"]);
        assert_eq!(output.status.code(), Some(0), "form {number}: {}", stderr(&output));
        assert!(stdout(&output).starts_with("s: Two networks"), "form {number}: {}", stdout(&output));
    }
}

#[test]
fn a_directory_with_other_files_is_not_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let out = dir.path().join("out");
    fs::create_dir(&out).expect("makes");
    fs::write(out.join("thesis.tex"), "").expect("writes");
    let output = crosstalk(dir.path(), &RUN);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("thesis.tex") && stderr(&output).contains("--out"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_dir(&out).expect("reads").count(), 1);
    fs::remove_file(out.join("thesis.tex")).expect("removes");
    for name in ["study.toml", "catalogue", "draft.part"] {
        fs::write(out.join(name), "mine").expect("writes");
        let output = crosstalk(dir.path(), &RUN);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains(name), "{name}: {}", stderr(&output));
        assert_eq!(fs::read_to_string(out.join(name)).expect("reads"), "mine");
        fs::remove_file(out.join(name)).expect("removes");
    }
}

#[test]
fn a_study_that_runs_into_its_own_folder_is_not_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let own = dir.path().join("study.toml");
    fs::rename(dir.path().join("s.toml"), &own).expect("renames");
    let before = fs::read(&own).expect("reads");
    let args = ["run", "./study.toml", "--testbed", "local", "--looks", "2", "--out", "."];
    let output = crosstalk(dir.path(), &args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("study.toml"), "{}", stderr(&output));
    assert_eq!(fs::read(&own).expect("reads"), before);
}

#[test]
fn the_directory_of_a_run_that_ended_at_its_start_is_no_obstacle() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let out = dir.path().join("out");
    for marks in [&["study.part"][..], &["study.toml", "options.part"], &["study.toml", "options.json"]] {
        fs::create_dir(&out).expect("makes");
        marks.iter().for_each(|name| fs::write(out.join(name), "").expect("writes"));
        let output = crosstalk(dir.path(), &RUN);
        assert_eq!(output.status.code(), Some(0), "{marks:?}: {}", stderr(&output));
        fs::remove_dir_all(&out).expect("removes");
    }
}

#[test]
fn ledgers_are_kept_elsewhere_if_their_folder_is_taken() {
    // Neither the study nor the program may be in a folder that the namespace hides.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if target.starts_with("/tmp") || target.starts_with("/run") {
        eprintln!("skipped: what is built is in a folder that would be hidden: {}", target.display());
        return;
    }
    let dir = tempfile::tempdir_in(target).expect("a directory");
    study(dir.path());
    let taken = "mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /run && \
                 echo a file > /tmp/crosstalk-0 && echo a file > /run/crosstalk";
    let after = "cat /tmp/crosstalk-0 /run/crosstalk; ls -d /tmp/crosstalk-0-*";
    let Some(output) = run_in_mounts(dir.path(), taken, "out", after) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("a file\na file\n/tmp/crosstalk-0-"), "{said}");
    // Nothing can be written anywhere: the fault says so, and what to do.
    let nowhere = format!("{taken} && mount -o remount,ro /tmp");
    let Some(output) = run_in_mounts(dir.path(), &nowhere, "nowhere", "true") else { return };
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("XDG_RUNTIME_DIR"), "{}", stderr(&output));
}

/// Runs [`RUN`] into `out` after these mounts, which end with their namespace, and then `after`. `None`, with a note,
/// if mounting is not permitted.
fn run_in_mounts(dir: &Path, mounts: &str, out: &str, after: &str) -> Option<Output> {
    let script = format!("{mounts} && \"$@\"; code=$?; {after}; exit $code");
    let program = command(dir, &[]).get_program().to_os_string();
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", &script, "sh"]).arg(program).args(&RUN[..7]).arg(out);
    shell.env_remove("XDG_RUNTIME_DIR").env_remove("TMPDIR");
    let Ok(output) = shell.current_dir(dir).output() else {
        eprintln!("skipped: no unshare(1) here");
        return None;
    };
    if stderr(&output).contains("unshare failed") || stderr(&output).contains("mount:") {
        eprintln!("skipped: nothing can be mounted here: {}", stderr(&output));
        return None;
    }
    Some(output)
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    fs::create_dir(dir.path().join("mnt")).expect("makes");
    // Room for one page: nothing fits, or only the study.
    for taken in ["head -c 4096 /dev/zero > mnt/taken", "true"] {
        let before = format!("mount -t tmpfs -o size=4k tmpfs mnt && {taken} && mkdir mnt/out");
        let Some(output) = run_in_mounts(dir.path(), &before, "mnt/out", "ls mnt/out") else { return };
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("free some room on that disk"), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "nothing is left");
    }
}

#[test]
fn a_run_is_resumed_on_its_testbed() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--looks", "400", "--out", "out"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    let out = dir.path().join("out");
    await_samples(&out, 5);
    interrupt(child.id());
    assert_eq!(finish(child).status.code(), Some(130));
    let options = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(out.join("options.json")).expect("reads")).expect("JSON")
    };
    assert_eq!(options()["testbed"], "local");
    let other = crosstalk(dir.path(), &["resume", "out", "--testbed", "virtual"]);
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
    assert!(stderr(&other).contains("started on another testbed"), "{}", stderr(&other));
    let resumed = |args: &[&str]| {
        let before = samples(&out).len();
        let child = command(dir.path(), args).spawn().expect("starts");
        await_samples(&out, before + 3);
        interrupt(child.id());
        let output = finish(child);
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    };
    resumed(&["resume", "out"]);
    // An earlier version did not note it: then the command line decides, and it is noted.
    let mut earlier = options();
    earlier.as_object_mut().expect("an object").remove("testbed");
    fs::write(out.join("options.json"), earlier.to_string()).expect("writes");
    resumed(&["resume", "out", "--testbed", "local"]);
    assert_eq!(options()["testbed"], "local");
}

/// xorshift64 (Marsaglia 2003), with another seed each time.
fn random() -> impl FnMut(usize) -> usize {
    let mut state = u64::from(std::process::id()) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

#[test]
fn a_flipped_bit_in_a_journal_is_reported_with_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    assert_eq!(crosstalk(dir.path(), &RUN).status.code(), Some(0));
    let path = dir.path().join("out/journal.ndjson");
    let whole = fs::read(&path).expect("reads");
    let mut random = random();
    for _ in 0..50 {
        let (place, bit) = (random(whole.len()), random(8));
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << bit;
        fs::write(&path, &bytes).expect("writes");
        let line = whole[..place].iter().filter(|b| **b == b'\n').count() + 1;
        let output = crosstalk(dir.path(), &["report", "out", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{place}.{bit}: {}", stderr(&output));
        let reported: serde_json::Value =
            serde_json::from_str(stdout(&output).lines().last().expect("a line")).expect("JSON");
        let reported = reported["findings"]["warnings"].to_string();
        assert!(reported.contains(&format!("journal.ndjson:{line}")), "{place}.{bit}: {reported}");
    }
}

#[test]
fn a_block_whose_record_is_damaged_is_measured_again() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    assert_eq!(crosstalk(dir.path(), &RUN).status.code(), Some(0));
    let path = dir.path().join("out/journal.ndjson");
    let text = fs::read_to_string(&path).expect("reads");
    // Like a run that was killed before its last interim analysis.
    let (text, _) = text.split_once("{\"line\":\"decision\"").expect("a look");
    let last = text.rfind("\"value\":").expect("a value") + 8;
    let damaged = [&text[..last], "8", &text[last..]].concat();
    fs::write(&path, &damaged).expect("writes");
    let resumed = crosstalk(dir.path(), &["resume", "out"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let now = fs::read_to_string(&path).expect("reads");
    let added = now.strip_prefix(&damaged).expect("what was there stays");
    assert!(added.contains("\"block\":1,") && !added.contains("\"block\":0,"), "{added}");
}

#[test]
fn a_number_that_no_attempt_can_have_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    assert_eq!(crosstalk(dir.path(), &RUN).status.code(), Some(0));
    let path = dir.path().join("out/journal.ndjson");
    forge(&path);
    let before = fs::read(&path).expect("reads");
    let output = crosstalk(dir.path(), &["resume", "out"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("journal.ndjson: the journal is damaged"), "{}", stderr(&output));
    assert_eq!(fs::read(&path).expect("reads"), before, "nothing is added");
}

/// Gives the second attempt such a number, with correct checksums, and removes the end.
fn forge(path: &Path) {
    let text = fs::read(path).expect("reads");
    let (mut forged, mut position) = (fs::File::create(path).expect("creates"), JournalPosition::default());
    for line in lines(text.as_slice()) {
        let mut line = line.expect("reads");
        match &mut line {
            Line::Attempt { attempt, .. } | Line::Sample { attempt, .. } if *attempt == 1 => {
                *attempt = u64::MAX
            }
            Line::End { .. } => continue,
            _ => {}
        }
        forged.write_all(&position.encode_next(&line).expect("writes")).expect("writes");
    }
}
