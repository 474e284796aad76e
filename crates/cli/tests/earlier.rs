//! A study whose second experiment takes a level from the first one's result.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Three lengths of a job; then the longest of them, in two ways.
const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "The longest job"
looks = [2]

[experiment.length]
work.job = { kind = "command", argv = ["sleep", "$time"] }
conditions.fabric = "none"
factors = { time = ["0.01", "0.15", "0.02"] }

[experiment.way]
work.job = { kind = "command", argv = ["sleep", "$time"], env = [["WAY", "$way"]] }
conditions.fabric = "none"
compare = { factor = "way", base = "plain" }

[experiment.way.factors]
way = ["plain", "other"]
time = { from = { experiment = "length", metric = "run_time", factor = "time" } }
"#;

fn crosstalk(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crosstalk")).args(args).current_dir(dir).output().expect("runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// For every cell of the run in `out`: experiment, length of the job, number of attempts that count.
fn cells(dir: &Path) -> Vec<(String, String, u64)> {
    let text = fs::read_to_string(dir.join("out/findings.json")).expect("findings");
    let findings: Value = serde_json::from_str(&text).expect("JSON");
    let cells = findings["cells"].as_array().expect("cells").iter();
    let text = |value: &Value| value.as_str().expect("text").to_string();
    cells
        .map(|cell| {
            let finished = cell["finished"].as_u64().expect("a count");
            (text(&cell["experiment"]), text(&cell["levels"]["time"]), finished)
        })
        .collect()
}

fn expected() -> Vec<(String, String, u64)> {
    let cell = |experiment: &str, time: &str| (experiment.to_string(), time.to_string(), 2);
    vec![
        cell("length", "0.01"),
        cell("length", "0.15"),
        cell("length", "0.02"),
        cell("way", "0.15"),
        cell("way", "0.15"),
    ]
}

#[test]
fn the_second_experiment_runs_at_the_first_one_s_peak_also_after_an_interruption_between_them() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("longest.toml"), STUDY).expect("writes");
    let output = crosstalk(dir.path(), &["run", "./longest.toml", "--testbed", "local", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(cells(dir.path()), expected());

    // As after the end of the first experiment, before its result was noted.
    let journal = dir.path().join("out/journal.ndjson");
    let text = fs::read_to_string(&journal).expect("reads");
    let ended =
        text.find("\"line\":\"end\"").and_then(|at| Some(at + text[at..].find('\n')? + 1)).expect("an end");
    assert!(text[ended..].contains("\"line\":\"end\""), "each stage says how it ended");
    fs::write(&journal, &text[..ended]).expect("cuts");
    let options = dir.path().join("out/options.json");
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&options).expect("reads")).expect("JSON");
    let taken = kept.as_object_mut().expect("an object").remove("taken").expect("is noted");
    assert_eq!(taken["way.time"], Value::from("0.15"));
    fs::write(&options, kept.to_string()).expect("writes");

    let output = crosstalk(dir.path(), &["resume", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(cells(dir.path()), expected());
    let output = crosstalk(dir.path(), &["resume", "out"]);
    assert!(said(&output).contains("nothing is left to measure"), "{}", said(&output));
    let output = crosstalk(dir.path(), &["report", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(cells(dir.path()), expected(), "the report knows what was taken");
}
