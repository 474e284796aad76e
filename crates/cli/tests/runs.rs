//! Whole runs of the real program on real nodes: a study in virtual time, a program of the user, interruptions, kills,
//! a full report.

use std::time::Duration;

use crate::common::external::await_that;
use crate::common::{
    await_samples, command, computed_study, crosstalk, finish, interrupt, journal, kill, left_behind,
    samples, stderr, stdout, study, virtual_nodes,
};

#[test]
fn a_study_ends_with_its_deciding_sentence_and_a_report() {
    let dir = tempfile::tempdir().expect("a directory");
    computed_study(dir.path());
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
    assert_eq!(findings["schema"], "crosstalk.findings/2");
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
fn a_run_whose_study_was_changed_is_not_resumed() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let local = ["--testbed", "local"];
    let begun =
        crosstalk(dir.path(), &[&["run", "./s.toml", "--out", "out", "--looks", "1"], &local[..]].concat());
    assert_eq!(begun.status.code(), Some(0), "{}", stderr(&begun));
    let out = dir.path().join("out");
    // A finished run cannot be resumed: this one was killed just before its end.
    let path = out.join("journal.ndjson");
    let text = std::fs::read_to_string(&path).expect("reads");
    let end = text.trim_end().rfind('\n').expect("lines") + 1;
    std::fs::write(&path, &text[..end]).expect("cuts");
    let refused = |file: &str, from: &str, to: &str, said: &str| {
        let path = out.join(file);
        let text = std::fs::read_to_string(&path).expect("reads");
        assert!(text.contains(from), "{file} holds {from}");
        std::fs::write(&path, text.replace(from, to)).expect("writes");
        let journal = std::fs::read(out.join("journal.ndjson")).expect("reads");
        let output = crosstalk(dir.path(), &["resume", "out", local[0], local[1]]);
        let reported = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(file) && reported.contains(said), "{reported}");
        assert_eq!(std::fs::read(out.join("journal.ndjson")).expect("reads"), journal, "nothing is added");
        std::fs::write(&path, text).expect("puts it back");
    };
    refused("study.toml", "4096 B", "8192 B", "not what it was when the run began");
    refused("study.toml", "seed = 1", "seed = 2", "not what it was when the run began");
    refused("catalogue/fabrics/srio.toml", "title = \"", "title = \"X", "not what it was when the run began");
    let output = crosstalk(dir.path(), &["resume", "out", local[0], local[1]]);
    assert_eq!(output.status.code(), Some(0), "as it was: {}", stderr(&output));
}

#[test]
fn a_finished_run_is_not_measured_again() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let local = ["--testbed", "local"];
    let run = [&["run", "./s.toml", "--out", "out"], &local[..]].concat();
    assert_eq!(crosstalk(dir.path(), &run).status.code(), Some(0));
    let read = |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).expect("reads");
    let before = ["journal.ndjson", "findings.json", "provenance.json", "report.md"].map(read);
    let output = crosstalk(dir.path(), &[&["resume", "out"], &local[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("this run has ended ("), "{}", stdout(&output));
    assert!(stdout(&output).contains("kosmos-srio: "), "{}", stdout(&output));
    let after = ["journal.ndjson", "findings.json", "provenance.json", "report.md"].map(read);
    assert!(before == after, "nothing changes");
}

#[test]
fn a_lost_cluster_ends_the_run_which_can_be_resumed() {
    let here = tempfile::tempdir().expect("a directory");
    if virtual_nodes(here.path()) {
        lose_cluster(&["crosstalk-hold"]);
        // It ends a moment before the holder, which waits for it. The kernel keeps 15 characters of a name.
        lose_cluster(&["crosstalk-hold", "crosstalk-switc"]);
    }
}

/// Kills a process of a run's cluster: the last of this line of descendants.
fn lose_cluster(line: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "virtual", "--out", "out", "--looks", "400"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    await_samples(&dir.path().join("out"), 5);
    let process = line.iter().fold(child.id(), |above, name| child_named(above, name).expect("is there"));
    kill("-KILL", process);
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
    await_that("no process remains", || left_behind(&mark).is_empty());
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
fn a_single_level_ends_with_its_run_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["run", "--testbed", "local", "--looks", "8", "--out", "out", "--", "true"];
    let output = crosstalk(dir.path(), &args);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.starts_with("true: run time "), "{text}");
    assert!(text.lines().next().is_some_and(|l| l.contains("95 % confidence")), "{text}");
    assert!(!text.contains("undecided"), "{text}");
}

#[test]
fn a_program_that_always_fails_is_reported_once_and_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["run", "--testbed", "local", "--out", "out", "--", "false"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let reported = said.lines().filter(|l| l.starts_with("command failed: ")).count();
    assert_eq!(reported, 1, "{said}");
    let attempts: Vec<_> =
        journal(&dir.path().join("out")).into_iter().filter(|l| l["status"] == "failed").collect();
    assert_eq!(attempts.len(), 6, "two tries in each of three blocks");
    assert!(!said.contains("after 48 blocks"), "{said}");
}

#[test]
fn a_program_that_fails_or_hangs_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let cases: [(&[&str], &str); 2] = [
        (&["sh", "-c", "echo the reason >&2; exit 3"], "the reason"),
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
        assert_eq!(text.contains("--deadline '5 min'"), *program == ["sleep", "60"], "{text}");
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

#[test]
fn the_bundled_study_of_latency_ends_with_its_report() {
    let dir = tempfile::tempdir().expect("a directory");
    if !virtual_nodes(dir.path()) {
        return;
    }
    let args = [
        &["run", "latency", "--quick", "--looks", "1", "--out", "out"][..],
        &[
            "--set",
            "transports.transport=udp",
            "--set",
            "transports.size=64 B",
            "--set",
            "memory.size=16 KiB,1 MiB",
        ],
        &["--set", "load.ping.rate=1000,5000", "--set", "stages.transport=udp"],
    ]
    .concat();
    let output = crosstalk(dir.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).expect("reads");
    let findings: serde_json::Value = serde_json::from_str(&read("findings.json")).expect("JSON");
    let names = |of: &str| -> Vec<String> {
        let all = findings[of].as_array().expect("a list").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_string()).collect()
    };
    assert_eq!(names("tables"), ["technologies", "kernel"]);
    for figure in ["sizes-polling", "load", "memory", "datacentre", "waterfall-published"] {
        assert!(names("figures").contains(&figure.to_string()), "{figure} is not in {:?}", names("figures"));
    }
    // What is added up from components is the same on every machine.
    let claims = findings["claims"].as_array().expect("a list");
    let computed = |name: &str| {
        claims.iter().find(|c| c["name"] == name).expect("is claimed")["found"]["value"].as_f64()
    };
    assert!((computed("pcie-fabric-example").expect("a number") - 720e-9).abs() < 1e-15);
    assert!((computed("published-stages").expect("a number") - 0.6228).abs() < 1e-4);
    assert!(read("report.html").contains("Interconnects: sums of components, and published values"));
}
