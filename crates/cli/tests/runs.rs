//! Whole runs of the real program on real nodes: a study in virtual time, a
//! program of the user's own, interruptions, kills, a full report.

mod common;

use std::time::{Duration, Instant};

use common::{
    await_samples, command, crosstalk, finish, interrupt, journal, kill, left_behind, samples, stderr,
    stdout, study, virtual_nodes,
};

#[test]
fn a_study_ends_with_its_deciding_sentence_and_a_report() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "out"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.starts_with("kosmos-srio: "), "the deciding sentence first: {text}");
    assert!(text.contains("report: out/report.html"), "{text}");
    for file in
        ["study.toml", "journal.ndjson", "provenance.json", "findings.json", "report.html", "report.md"]
    {
        assert!(dir.path().join("out").join(file).is_file(), "{file}");
    }
    let findings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("out/findings.json")).expect("reads"))
            .expect("JSON");
    assert_eq!(findings["schema"], "crosstalk.findings/1");
    assert_eq!(findings["headline"]["decided"], true);
    // srio streams 3.146 times as fast at 4096 B by its calibration, against virtual time's own arithmetic.
    let ratio = findings["comparisons"][0]["ratio"]["value"].as_f64().expect("a number");
    assert!((ratio / 3.146 - 1.0).abs() < 0.02, "{ratio}");

    let again = crosstalk(dir.path(), &["report", "out"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(stdout(&again).starts_with("kosmos-srio: "));
    let refused = crosstalk(dir.path(), &["run", "./s.toml", "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2), "a run is never overwritten");
    assert!(stderr(&refused).contains("crosstalk resume"));
}

#[test]
fn two_programs_never_write_one_journal() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--out", "out", "--looks", "400"];
    let first = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    for second in [&args as &[&str], &["resume", "out", "--testbed", "local"]] {
        let output = crosstalk(dir.path(), second);
        assert_eq!(output.status.code(), Some(2), "{second:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("another crosstalk is running here"), "{}", stderr(&output));
    }
    interrupt(first.id());
    assert_eq!(finish(first).status.code(), Some(130));
    let lines = journal(&dir.path().join("out"));
    assert_eq!(lines.iter().filter(|l| l["line"] == "run").count(), 1);
}

#[test]
fn a_run_whose_study_or_journal_was_tampered_with_is_not_gone_on_with() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let local = ["--testbed", "local"];
    let begun =
        crosstalk(dir.path(), &[&["run", "./s.toml", "--out", "out", "--looks", "1"], &local[..]].concat());
    assert_eq!(begun.status.code(), Some(0), "{}", stderr(&begun));
    let out = dir.path().join("out");
    let refused = |file: &str, from: &str, to: &str, said: &str| {
        let path = out.join(file);
        let text = std::fs::read_to_string(&path).expect("reads");
        assert!(text.contains(from), "{file} holds {from}");
        std::fs::write(&path, text.replace(from, to)).expect("writes");
        let journal = std::fs::read(out.join("journal.ndjson")).expect("reads");
        let output = crosstalk(dir.path(), &["resume", "out", local[0], local[1]]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(file) && told.contains(said), "{told}");
        assert_eq!(std::fs::read(out.join("journal.ndjson")).expect("reads"), journal, "nothing is added");
        std::fs::write(&path, text).expect("puts it back");
    };
    refused("study.toml", "4096 B", "8192 B", "not what it was when the run began");
    refused("study.toml", "seed = 1", "seed = 2", "not what it was when the run began");
    refused("catalogue/fabrics/srio.toml", "title = \"", "title = \"X", "not what it was when the run began");
    refused("journal.ndjson", "\"attempt\":1,", "\"attempt\":18446744073709551615,", "it is damaged");
    let output = crosstalk(dir.path(), &["resume", "out", local[0], local[1]]);
    assert_eq!(output.status.code(), Some(0), "as it was: {}", stderr(&output));
}

#[test]
fn a_cluster_that_is_gone_ends_the_run_which_can_be_gone_on_with() {
    let dir = tempfile::tempdir().expect("a directory");
    if !virtual_nodes(dir.path()) {
        return;
    }
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "virtual", "--out", "out", "--looks", "400"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    let holder = child_named(child.id(), "crosstalk-hold").expect("a process holds the cluster");
    kill("-KILL", holder);
    let output = finish(child);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("the virtual cluster is gone"), "{text}");
    assert!(text.contains("crosstalk resume out"), "{text}");
    let lines = journal(&dir.path().join("out"));
    assert_eq!(lines.last().expect("a line")["status"], "failed");
    let failed = lines.iter().filter(|l| l["line"] == "attempt" && l["status"] == "failed").count();
    assert!(failed <= 2, "no attempts without a cluster: {failed}");
}

#[test]
fn a_run_killed_again_and_again_resumes_and_loses_no_sample() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let mark = format!("out-{}", std::process::id());
    let out = dir.path().join(&mark);
    let run = ["run", "./s.toml", "--testbed", "local", "--looks", "8", "--out", &mark];
    let resume = ["resume", &mark, "--testbed", "local"];
    let mut kept = Vec::new();
    let mut kills = 0;
    for delay in [30, 90, 170, 260, 410, 640].map(Duration::from_millis) {
        let args: &[&str] = if out.join("journal.ndjson").exists() { &resume } else { &run };
        if out.exists() && args.len() == run.len() {
            std::fs::remove_dir_all(&out).expect("a run without a journal has nothing to lose");
        }
        let mut child = command(dir.path(), args).spawn().expect("starts");
        std::thread::sleep(delay);
        if child.try_wait().expect("asks").is_none() {
            child.kill().expect("killed");
            kills += 1;
        }
        child.wait().expect("ends");
        if out.join("journal.ndjson").exists() {
            let now = samples(&out);
            assert_eq!(now[..kept.len()], kept[..], "samples stay");
            kept = now;
        }
    }
    assert!(kills > 0, "at least one kill came in time");
    let output = crosstalk(dir.path(), if out.join("journal.ndjson").exists() { &resume } else { &run });
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(samples(&out)[..kept.len()], kept[..], "samples stay");
    let until = Instant::now() + Duration::from_secs(2);
    while !left_behind(&mark).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(left_behind(&mark), Vec::<String>::new(), "no process remains");
}

#[test]
fn a_program_of_ones_own_is_compared_over_fabrics() {
    let dir = tempfile::tempdir().expect("a directory");
    if !virtual_nodes(dir.path()) {
        return;
    }
    let args = [
        "run",
        "--nodes",
        "2",
        "--vary",
        "fabric=ethernet-1g,none",
        "--scale",
        "100",
        "--looks",
        "8",
        "--out",
        "out",
        "--save",
        "mine.toml",
        "--",
        "sh",
        "-c",
        "test $CROSSTALK_NODES = 2 && sleep 0.0$CROSSTALK_NODE",
    ];
    let output = crosstalk(dir.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(!samples(&dir.path().join("out")).is_empty());
    let output = crosstalk(dir.path(), &["plan", "./mine.toml"]);
    assert_eq!(output.status.code(), Some(0), "what --save writes is a study: {}", stderr(&output));
}

#[test]
fn a_program_that_fails_cannot_be_found_or_hangs_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let cases: [(&[&str], &str); 3] = [
        (&["sh", "-c", "echo the reason >&2; exit 3"], "the reason"),
        (&["no-such-program"], "no-such-program"),
        (&["sleep", "60"], "not finished after"),
    ];
    for (index, (program, said)) in cases.iter().enumerate() {
        let out = format!("out-{index}");
        let mut args =
            vec!["run", "--testbed", "local", "--looks", "1", "--deadline", "1 s", "--out", &out, "--"];
        args.extend(*program);
        let output = crosstalk(dir.path(), &args);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(4), "nothing was measured: {text}");
        assert!(stderr(&output).contains("no attempt finished; the last: "), "{text}");
        assert!(text.contains(said), "{program:?}: {text}");
        assert!(!text.contains("node 0: node 0"), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// The child of `parent` that calls itself `name`.
fn child_named(parent: u32, name: &str) -> Option<u32> {
    std::fs::read_dir("/proc").expect("/proc").flatten().find_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (pid, rest) = stat.split_once(" (")?;
        let (found, rest) = rest.rsplit_once(") ")?;
        let of = rest.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        if of == parent && found == name { pid.parse().ok() } else { None }
    })
}
