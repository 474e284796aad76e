//! A program of the user: the README's example, wrong command lines, and the parts of the program's time.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::external::processors_in_use;
use crate::common::{crosstalk, samples, stderr, stdout, virtual_nodes};

/// The README's program.
const JOB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/job.py");

/// Whether Python is missing, with a note.
fn lacks_python() -> bool {
    let runs = Command::new("python3").arg("-V").stdout(Stdio::null()).status();
    let lacks = !runs.is_ok_and(|status| status.success());
    if lacks {
        eprintln!("skipped: no python3 here");
    }
    lacks
}

/// `job.py ARGS` on two nodes over two networks, at rates so low that every machine holds them.
fn job(dir: &Path, args: &[&str]) -> std::process::Output {
    let run =
        "run --nodes 2 --scale 250 --vary fabric=ethernet-1g,ethernet-10g --looks 8 --out out --gate -- ";
    let words: Vec<&str> = run.split_whitespace().chain([JOB]).chain(args.iter().copied()).collect();
    crosstalk(dir, &words)
}

/// What node 0 reported for each attempt: metric → value.
fn reported(out: &Path) -> Vec<BTreeMap<String, f64>> {
    let mut attempts: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for line in samples(out) {
        if line["labels"].get("node").is_none_or(|node| node == "0") {
            let attempt = line["attempt"].as_u64().expect("a number");
            let value = line["value"].as_f64().expect("a value");
            let metric = line["metric"].as_str().expect("a name").to_string();
            attempts.entry(attempt).or_default().insert(metric, value);
        }
    }
    attempts.into_values().collect()
}

/// The parts of each attempt's run time, which they add up to.
fn parts(out: &Path) -> Vec<BTreeMap<String, f64>> {
    let attempts = reported(out);
    assert!(!attempts.is_empty());
    for attempt in &attempts {
        let parts = ["time_compute", "time_queue", "time_wait"].map(|name| attempt[name]);
        assert!(parts.iter().all(|part| *part >= 0.0), "{attempt:?}");
        assert!((parts.iter().sum::<f64>() / attempt["run_time"] - 1.0).abs() < 1e-6, "{attempt:?}");
    }
    attempts
}

#[test]
fn the_readme_s_example_runs_and_its_sentence_names_the_scale() {
    let dir = tempfile::tempdir().expect("a directory");
    if lacks_python() || !virtual_nodes(dir.path()) {
        return;
    }
    // 200 kB take 0.4 s at 4 Mbit/s, and 0.04 s at 40.
    let output = job(dir.path(), &["50000", "4", "100000"]);
    let text = stdout(&output) + &stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)) && !text.contains("no verdict"), "{text}");
    if output.status.code() == Some(3) {
        eprintln!("skipped: others keep this machine so busy that 8 blocks decide nothing");
    } else {
        assert!(text.contains("faster"), "{text}");
        assert!(text.contains("1/250 of their rates") && text.contains("as many messages"), "{text}");
    }
    for attempt in parts(&dir.path().join("out")) {
        // Four requests of a byte.
        assert!((4.0..20.0).contains(&attempt["sent_messages"]), "{attempt:?}");
    }
}

#[test]
fn if_latency_would_decide_there_is_no_verdict() {
    let dir = tempfile::tempdir().expect("a directory");
    if lacks_python() || !virtual_nodes(dir.path()) {
        return;
    }
    let output = job(dir.path(), &["64", "300", "10000"]);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(3), "undecided: {text}");
    assert!(!text.contains("× faster"), "{text}");
    if text.contains("no difference larger than") || text.contains("undecided after") {
        eprintln!("skipped: others keep this machine so busy that 8 blocks show no effect to doubt");
    } else {
        assert!(text.contains("no verdict") && text.contains("latency is not scaled"), "{text}");
    }
    for attempt in reported(&dir.path().join("out")) {
        assert!((270.0..400.0).contains(&attempt["sent_messages"]), "{attempt:?}");
    }
}

#[test]
fn the_parts_of_a_threaded_program_s_time_add_up_to_its_run_time() {
    let dir = tempfile::tempdir().expect("a directory");
    if lacks_python() {
        return;
    }
    // Key derivation releases the interpreter's lock: both threads compute at once, then both sleep.
    let script = "
import hashlib, threading, time
def work():
    hashlib.pbkdf2_hmac('sha256', b'key', b'salt', 600000)
    time.sleep(0.3)
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]";
    let args = "run --testbed local --looks 1 --out out -- python3 -c".split(' ');
    let output = crosstalk(dir.path(), &args.chain([script]).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for attempt in parts(&dir.path().join("out")) {
        let (compute, wait) = (attempt["time_compute"], attempt["time_wait"]);
        let parallel = attempt["parallel_cpu_time"];
        if parallel <= 0.3 * compute && processors_in_use() > 0.5 {
            eprintln!("skipped: others keep this machine so busy that both threads hardly run at once");
            continue;
        }
        assert!(wait > 0.25, "the sleep is waiting: {attempt:?}");
        assert!(
            parallel > 0.3 * compute && parallel < 1.2 * compute,
            "the other thread computes meanwhile: {attempt:?}"
        );
    }
}

#[test]
fn a_command_line_that_cannot_run_is_refused_before_anything_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("sets");
    };
    script("crlf", "#!/bin/sh\r\necho hello\r\n");
    script("none", "#!/no/such/interpreter\n");
    for (line, said) in [
        (&["no-such-program"] as &[&str], "`no-such-program` cannot be found"),
        (&["./nothere"], "`./nothere` cannot be found"),
        (&["a | b"], "sh -c 'a | b'"),
        (&["FOO=1", "true"], "env FOO=1 true"),
        (&["cd", "x"], "sh -c 'cd x'"),
        (&["./crlf"], r"interpreter is `/bin/sh\r`"),
        (&["./none"], "interpreter `/no/such/interpreter`"),
    ] {
        let output = crosstalk(dir.path(), &[&["run", "--testbed", "local", "--"], line].concat());
        assert_eq!(output.status.code(), Some(2), "{line:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said) && stderr(&output).contains("try: "), "{}", stderr(&output));
        assert!(!dir.path().join("runs").exists(), "no run is begun");
    }
}

#[test]
fn a_study_of_a_missing_program_is_refused_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let study = r#"
        schema = "crosstalk.study/1"
        title = "Nothing"
        looks = [8]
        [experiment.b]
        work.job = { kind = "command", argv = ["no-such-program"] }
        conditions = { fabric = "none" }
        factors = {}
    "#;
    fs::write(dir.path().join("s.toml"), study).expect("writes");
    let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("`no-such-program` cannot be found"), "{}", stderr(&output));
    assert!(!dir.path().join("runs").exists(), "no run is begun");
}

#[test]
fn a_refused_connection_says_that_the_other_node_may_not_listen_yet() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "[ $CROSSTALK_NODE = 1 ] || { echo 'connect: Connection refused' >&2; exit 1; }; sleep 60";
    let args = "run --testbed local --nodes 2 --looks 1 --out out -- sh -c".split(' ');
    let output = crosstalk(dir.path(), &args.chain([script]).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("the other node may not listen yet"), "{}", stderr(&output));
}

#[test]
fn a_rate_that_is_not_held_names_a_scale_that_is() {
    let dir = tempfile::tempdir().expect("a directory");
    if !virtual_nodes(dir.path()) {
        return;
    }
    // No host's timer is fine enough to forward 10 Gbit/s frame by frame.
    let fabrics = dir.path().join("own/fabrics");
    fs::create_dir_all(&fabrics).expect("makes");
    let known = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fabrics/ethernet-10g.toml");
    let fast = fs::read_to_string(known).expect("reads").replace("10 Gbit/s", "20 Gbit/s");
    fs::write(fabrics.join("fast.toml"), fast).expect("writes");
    let args = "run --nodes 2 --scale 2 --catalogue own --vary fabric=ethernet-1g,fast --out out -- true";
    let output = crosstalk(dir.path(), &args.split(' ').collect::<Vec<_>>());
    let reported = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{reported}");
    // A busy machine may hold none of the rates that are tried.
    if let Some((_, scale)) = reported.split_once("give --scale ") {
        let scale: f64 = scale.split(':').next().and_then(|s| s.parse().ok()).expect("a number");
        assert!(scale > 2.0, "of the fabric's rate, not of what was given: {reported}");
    } else {
        assert!(reported.contains("stop what keeps this machine busy"), "{reported}");
    }
}

#[test]
fn help_says_how_a_program_finds_the_others_and_when_it_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let help = stdout(&crosstalk(dir.path(), &["run", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "the nodes' addresses in CROSSTALK_HOSTS (by number, separated by commas)",
        "its own number, from 0, in CROSSTALK_NODE",
        "A client must try again until the other node listens",
        "[default: 20 times its estimate, at least 60 s]",
    ] {
        assert!(help.contains(said), "{said}: {help}");
    }
}
