//! MPI functions: `probe collective`, recorded schedules and `replay`.

use crate::common::{crosstalk, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The last line of `--json`.
fn last(dir: &Path, words: &[&str]) -> Value {
    let output = crosstalk(dir, &[&["--json"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output).lines().last().expect("a line")).expect("JSON")
}

#[test]
fn a_function_is_timed_on_a_system_in_virtual_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let system = ["--system", "kisti-2006-infiniband"];
    let probe = |words: &[&str]| stdout(&crosstalk(dir.path(), &[&["probe", "collective"], words].concat()));
    let text = probe(&[&["PingPong", "-l", "0 B,1 KiB"], &system[..]].concat());
    // 2 · (0.58 + 0.15) + 2.64 µs: the fabric and MVAPICH, which is this network's own library.
    assert!(text.contains("4.10 µs") && text.contains("MB/s"), "{text}");
    let free = probe(&[&["pingpong", "-l", "0 B", "--mpi", "none"], &system[..]].concat());
    assert!(free.contains("3.80 µs"), "{free}");
    let shared = probe(&[&["alltoall", "-l", "8 B", "-n", "4", "--ranks", "2"], &system[..]].concat());
    assert!(shared.contains("4 nodes with 2 ranks each"), "{shared}");
}

#[test]
fn what_cannot_be_timed_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |words: &[&str]| {
        let output = crosstalk(dir.path(), &[&["probe", "collective"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        stderr(&output)
    };
    assert!(refused(&["alreduce"]).contains("did you mean `allreduce`?"));
    assert!(refused(&["allreduce", "-l", "6 B"]).contains("a multiple of 4 B"));
    assert!(refused(&["barrier", "--system", "kisti-2006"]).contains("kisti-2006-"));
    assert!(refused(&["barrier", "--mpi", "mvapich-0.9.4"]).contains("--system"));
    let crowded = refused(&["barrier", "--system", "kisti-2006-myrinet", "--ranks", "3"]);
    assert!(crowded.contains("which has 2 cores"), "{crowded}");
    let alone = refused(&["barrier", "--system", "kisti-2006-myrinet", "-n", "1"]);
    assert!(alone.contains("two ranks"), "{alone}");
}

/// Runs a study that records PageRank on three nodes and a collective of eight ranks; returns the folder of artifacts.
fn recorded(dir: &Path) -> PathBuf {
    let study = r#"
schema = "crosstalk.study/1"
title = "Recorded"
looks = [1]

[experiment.graph]
work.pagerank = { kind = "pagerank", slaves = 2, scale = 10, record = true }
conditions = { system = "kisti-2006-myrinet", boards = "one" }
factors = { again = ["once"] }

[experiment.call]
work.call = { kind = "collective", function = "alltoall", size = "64 KiB", nodes = 4, record = true }
conditions = { system = "kisti-2006-myrinet", boards = "one", ranks = 2 }
factors = { again = ["once"] }
"#;
    fs::write(dir.join("s.toml"), study).expect("writes");
    let run = crosstalk(dir, &["run", "./s.toml", "--testbed", "local", "--out", "run"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    dir.join("run/artifacts")
}

#[test]
fn a_recorded_run_replays_exactly_and_on_other_networks() {
    let dir = tempfile::tempdir().expect("a directory");
    let artifacts = recorded(dir.path());
    let files = || fs::read_dir(&artifacts).expect("artifacts").map(|entry| entry.expect("is there").path());
    let file = |word: &str| {
        let found = files().find(|path| path.to_string_lossy().contains(word));
        found
            .unwrap_or_else(|| panic!("no {word} in {:?}", files().collect::<Vec<_>>()))
            .display()
            .to_string()
    };
    let (graph, call) = (file("pagerank"), file("collective"));
    for (file, ranks) in [(&graph, "1"), (&call, "2")] {
        let on = |system| last(dir.path(), &["replay", file, "--system", system, "--ranks", ranks]);
        let same = on("kisti-2006-myrinet");
        assert!(same["most_apart"].as_f64().is_some_and(|apart| apart < 1e-9), "{same}");
        let other = on("kisti-2006-infiniband");
        let total = |of: &str| other[of]["total"].as_f64().expect("a number");
        assert!(total("replayed") < total("recorded"), "InfiniBand ends earlier: {other}");
        // Another rank may end last there, and its computing is its own.
        let (before, after) = (&other["recorded"]["compute"], &other["replayed"]["compute"]);
        let same_rank = other["rank"] == other["replayed_rank"];
        assert!(!same_rank || before == after, "a rank's computing stays: {other}");
    }
    let text =
        stdout(&crosstalk(dir.path(), &["replay", &call, "--system", "kisti-2006-myrinet", "--ranks", "2"]));
    assert!(text.contains(" on kisti-2006-myrinet with mpich-gm-1.2.6: 8 ranks"), "the whole title: {text}");
    let disturbed = dir.path().join("a.unfaithful.schedule");
    fs::copy(&graph, &disturbed).expect("copies");
    let disturbed = disturbed.display().to_string();
    let named = |file: &str| if file.contains(".unfaithful.") { Value::Bool(false) } else { Value::Null };
    for (file, faithful) in [(&graph, named(&graph)), (&disturbed, Value::Bool(false))] {
        let args = ["replay", file, "--system", "kisti-2006-myrinet"];
        assert_eq!(last(dir.path(), &args)["faithful"], faithful, "{file}");
        let warned = stdout(&crosstalk(dir.path(), &args)).contains("was unfaithful");
        assert_eq!(warned, faithful == false, "{file}");
    }
    let refused = |words: &[&str]| {
        let output =
            crosstalk(dir.path(), &[&["replay"], words, &["--system", "kisti-2006-myrinet"]].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        stderr(&output)
    };
    let told = last(dir.path(), &["replay", &graph, "--system", "kosmos-srio", "--ranges", "50"]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let (low, high) = (number(&told["ranges"]["low"]), number(&told["ranges"]["high"]));
    assert!(low < number(&told["last"]) && number(&told["last"]) < high, "{told}");
    let parameters = told["ranges"]["parameters"].as_array().expect("a list");
    let named = |name: &str| parameters.iter().find(|one| one["parameter"] == name).expect("is there");
    let speed = named("system kosmos: speed");
    assert!(number(&speed["at_lower"]) > number(&speed["at_upper"]), "a faster node takes less: {told}");
    let latency = named("fabric ethernet-2.5g: L");
    assert!(number(&latency["at_lower"]) < number(&latency["at_upper"]), "which srio's follows: {told}");
    let exact = ["replay", &graph, "--system", "this-machine-rdma-25g", "--mpi", "none", "--ranges", "50"];
    let exact = crosstalk(dir.path(), &exact);
    assert!(
        stderr(&exact).contains("no parameter of `this-machine-rdma-25g` has a range"),
        "{}",
        stderr(&exact)
    );
    assert!(refused(&[&graph, "--ranks", "2"]).contains("a divisor"));
    assert!(refused(&[&graph, "--ranks", "0"]).contains("at least one rank"));
    assert!(refused(&["missing.schedule"]).contains("missing.schedule"));
    assert!(refused(&["/dev/zero"]).contains("/dev/zero: cannot read it"), "it has no end");
    let bytes = fs::read(&graph).expect("reads");
    fs::write(dir.path().join("cut.schedule"), &bytes[..bytes.len() / 2]).expect("writes");
    assert!(refused(&["cut.schedule"]).contains("cut short"));
    fs::write(dir.path().join("other.schedule"), "crosstalk schedule 9\n").expect("writes");
    assert!(refused(&["other.schedule"]).contains("expected version 1, found 9"));
}

#[test]
fn work_is_done_once_in_a_run_and_replayed_elsewhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let study = r#"
schema = "crosstalk.study/1"
title = "Replayed"
looks = [2]
seed = 1

[experiment.graph]
work.pagerank = { kind = "pagerank", slaves = 2, scale = 17, replay = true }
conditions = { system = "$system", boards = "one" }
factors = { system = ["kisti-2006-myrinet", "kisti-2006-infiniband"] }

[experiment.ratings]
work.als = { kind = "als", slaves = 2, scale = 0.5, rank = 8, iterations = 2, replay = true }
conditions = { system = "$system", boards = "one" }
factors = { system = ["kisti-2006-myrinet", "kisti-2006-infiniband"] }

[experiment.texts]
work.bayes = { kind = "bayes", slaves = 2, documents = 300, replay = true }
conditions = { system = "$system", boards = "one" }
factors = { system = ["kisti-2006-myrinet", "kisti-2006-infiniband"] }

[experiment.kernel]
work.kernel = { kind = "npb", kernel = "ep", class = "S", nodes = 2, replay = true }
conditions = { system = "$system", boards = "one" }
factors = { system = ["kisti-2006-myrinet", "kisti-2006-infiniband"] }
"#;
    fs::write(dir.path().join("s.toml"), study).expect("writes");
    let run = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "run"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let journal = fs::read_to_string(dir.path().join("run/journal.ndjson")).expect("a journal");
    let lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    for experiment in ["graph", "ratings", "texts", "kernel"] {
        let attempts = lines.iter().filter(|line| {
            line["line"] == "attempt" && line["status"] == "finished" && line["experiment"] == experiment
        });
        let attempts: Vec<&Value> = attempts.collect();
        // Origin and value of one metric's readings in an attempt, by node.
        let readings = |attempt: &Value, metric: &str| -> Vec<(String, f64)> {
            let of = lines.iter().filter(|line| {
                line["line"] == "sample" && line["attempt"] == attempt["attempt"] && line["metric"] == metric
            });
            let mut of: Vec<&Value> = of.collect();
            of.sort_by_key(|line| line["labels"]["node"].to_string());
            let pair = |line: &Value| {
                let origin = line["origin"].as_str().expect("an origin").to_string();
                (origin, line["value"].as_f64().expect("a value"))
            };
            of.into_iter().map(pair).collect()
        };
        let time = |attempt| readings(attempt, "completion_time").remove(0);
        // Work that is done has memory or messages, and a replay has none. On a busy host it may have to be done again before it is
        // faithful.
        let (done, replayed): (Vec<&Value>, Vec<&Value>) = attempts.iter().partition(|attempt| {
            ["peak_memory", "messages"].iter().any(|metric| !readings(attempt, metric).is_empty())
        });
        let levels = |attempt: &Value| attempt["levels"]["system"].clone();
        let first = done.last().expect("done once");
        let others = &attempts[done.len()..];
        if others.is_empty() && time(first).0 == "emulated" {
            eprintln!("skipped: {experiment}: this machine has disturbed every attempt");
            continue;
        }
        assert_eq!(time(first).0, "simulated", "{experiment}: what is recorded is its own replay");
        assert!(replayed.iter().all(|attempt| time(attempt).0 == "simulated"), "{experiment}");
        let earlier = done.iter().rev().skip(1);
        assert!(earlier.clone().all(|attempt| time(attempt).0 == "emulated"), "{experiment}: not faithful");
        assert_eq!(others, replayed, "{experiment}: what follows is replayed");
        let again = others.iter().find(|attempt| levels(attempt) == levels(first)).expect("another block");
        let elsewhere = others.iter().find(|attempt| levels(attempt) != levels(first)).expect("a system");
        for metric in ["completion_time", "time_compute", "time_wait", "time_serialise"] {
            let values = |attempt| readings(attempt, metric).into_iter().map(|(_, value)| value);
            let apart = values(first).zip(values(again)).map(|(one, other)| (one - other).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-9, "{experiment}: {metric} to a nanosecond");
            assert_eq!(values(first).count(), values(again).count());
        }
        let compute =
            |attempt| readings(attempt, "time_compute").iter().map(|(_, value)| *value).collect::<Vec<_>>();
        assert_eq!(compute(first), compute(elsewhere), "{experiment}: computing stays");
        assert_ne!(time(first).1, time(elsewhere).1, "{experiment}: messages do not");
    }
}

#[test]
fn a_run_is_replayed_over_the_ranges_of_its_clusters() {
    let dir = tempfile::tempdir().expect("a directory");
    let study = r#"
schema = "crosstalk.study/1"
title = "Over ranges"
looks = [6]
seed = 1

[experiment.graph]
work.pagerank = { kind = "pagerank", slaves = 1, scale = 17 }
conditions = { system = "$system", boards = "many" }
factors = { system = ["microblade", "kosmos-srio"] }
compare = { factor = "system", base = "microblade", metric = "completion_time" }

[claim.slower]
statement = "MicroBlade is slower"
experiment = "graph"
ratio = { metric = "completion_time", of = { system = "microblade" }, to = { system = "kosmos-srio" } }
expect = "> 1"
"#;
    fs::write(dir.path().join("s.toml"), study).expect("writes");
    let run = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "run"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(dir.path().join("run").join(name)).expect("is there");
        serde_json::from_str(&text).expect("JSON")
    };
    if !dir.path().join("run/ranges.json").exists() {
        eprintln!("skipped: this machine has disturbed every attempt");
        return;
    }
    let ranges = read("ranges.json");
    let clusters = ranges["clusters"].as_array().expect("a list").len();
    let named: Vec<&str> = ranges["parameters"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    for name in ["system kosmos: scaling", "system kosmos: disk.rate", "system kosmos: disk.latency"] {
        assert!(named.contains(&name), "{named:?}");
    }
    assert!(named.contains(&"system kosmos: speed") && named.contains(&"fabric srio: G"), "{named:?}");
    for cell in ranges["cells"].as_array().expect("a list") {
        let values = cell["readings"][0]["values"].as_array().expect("a list");
        assert_eq!(
            (cell["readings"][0]["metric"].as_str(), values.len()),
            (Some("completion_time"), clusters)
        );
    }
    let findings = read("findings.json");
    let over = &findings["claims"][0]["over_ranges"];
    let end = |of: &str, index: usize| over[of][index].as_f64().expect("a number");
    assert!(end("together", 0) < end("of_model", 0) && end("of_model", 1) < end("together", 1), "{over}");
    let noted = read("options.json")["host_speed"].clone();
    let over_reference = noted["measured"]["over_reference"].as_f64();
    assert!(over_reference.is_some_and(|over| over > 0.0) || noted["unknown"].is_string(), "{noted}");
    let warnings = findings["warnings"].to_string();
    assert!(
        warnings.contains("the reference core of systems' speeds") || noted["unknown"].is_string(),
        "{warnings}"
    );
    assert!(warnings.contains("memory has no range"), "{warnings}");
    let page = fs::read_to_string(dir.path().join("run/report.html")).expect("a report");
    assert!(page.contains("What the ranges of the model's parameters do to it"), "the tornado plot");
    let text = fs::read_to_string(dir.path().join("run/ranges.json")).expect("is there");
    fs::write(dir.path().join("run/ranges.json"), text.replace("crosstalk.ranges/1", "crosstalk.ranges/9"))
        .expect("writes");
    let refused = crosstalk(dir.path(), &["report", "run"]);
    assert!(stderr(&refused).contains("crosstalk.ranges/9"), "{}", stderr(&refused));
}
