//! ALS through its workload, on ranks that really exchange messages.

use crate::cluster::{emulation, play};
use crate::data::{real, workspace};
use crate::scene::value;
use crosstalk_apps::als::ALS;
use crosstalk_core::Fault;
use crosstalk_core::record::{Observation, Origin, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::{Params, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn run(params: &Params, virtual_time: bool) -> Result<Vec<Reading>, Fault> {
    let nodes = ALS.deploy(params)?.nodes;
    play(&ALS, params, nodes, virtual_time.then(|| emulation(nodes)))
}

/// A small generated run: two models of three iterations.
fn small(slaves: i64) -> Params {
    Params::default().with("slaves", slaves).with("scale", 0.1).with("rank", 6).with("iterations", 3)
}

/// Id → vector, from lines of numbers between tabs.
type Vectors = BTreeMap<u32, Vec<f64>>;

fn rows(text: &str) -> impl Iterator<Item = Vec<f64>> {
    text.lines().map(|line| line.split('\t').map(|field| field.parse().expect("a number")).collect())
}

/// What slaves wrote of users or of items.
fn vectors(directory: &Path, which: &str) -> Vectors {
    let mut vectors = Vectors::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(which)) {
            let text = std::fs::read_to_string(path).expect("text");
            vectors.extend(rows(&text).map(|row| (row[0] as u32, row[1..].to_vec())));
        }
    }
    vectors
}

#[derive(serde::Deserialize)]
struct Reference {
    models: Vec<Vec<f64>>,
    best: Vec<f64>,
    rmse_test: f64,
    rmse_baseline: f64,
    recommendations: Vec<(u32, f64)>,
    users: Vectors,
    items: Vectors,
}

fn reference(ratings: &Path, grid: [&str; 3]) -> Option<Reference> {
    let python = workspace().join(".tools/venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no numpy (tools/venv installs it)");
        return None;
    }
    let output = Command::new(python)
        .arg(workspace().join("tools/als_reference.py"))
        .arg(ratings)
        .args(["-", "1"])
        .args(grid)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn close(found: f64, expected: f64, tolerance: f64, what: &str) -> f64 {
    let off = (found - expected).abs() / expected.abs().max(1.0);
    assert!(off <= tolerance, "{what}: {found}, the reference has {expected}");
    off
}

fn farthest(found: &Vectors, expected: &Vectors) -> f64 {
    assert!(found.keys().eq(expected.keys()), "other ids");
    let numbers = found.values().flatten().zip(expected.values().flatten());
    numbers.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

#[test]
fn movielens_agrees_with_numpy() {
    let Some(ratings) = real("movielens/ratings.csv") else { return };
    let Some(expected) = reference(&ratings, ["8,12", "0.1,10", "2,5"]) else { return };
    let mut checksums = Vec::new();
    for slaves in [1, 2, 4, 6] {
        let directory = tempfile::tempdir().expect("a directory");
        let iterations = Value::List(vec![Value::Int(2), Value::Int(5)]);
        let mut params = Params::default()
            .with("slaves", slaves)
            .with("ratings", ratings.display().to_string())
            .with("output", directory.path().display().to_string());
        params.0.insert("iterations".into(), iterations);
        let readings = run(&params, true).expect("runs");
        checksums.push(value(&readings, "answer_checksum"));

        let models = std::fs::read_to_string(directory.path().join("models")).expect("text");
        let models: Vec<Vec<f64>> = rows(&models).collect();
        assert_eq!(models.len(), expected.models.len());
        let mut worst: f64 = 0.0;
        for (found, expected) in models.iter().zip(&expected.models) {
            assert_eq!(found[..3], expected[..3]);
            worst = worst.max(close(found[3], expected[3], 1e-6, "validation"));
        }
        let best = ["best_rank", "best_lambda", "best_iterations"].map(|metric| value(&readings, metric));
        assert_eq!(best, expected.best[..3]);
        worst = worst.max(close(value(&readings, "rmse_validation"), expected.best[3], 1e-6, "validation"));
        worst = worst.max(close(value(&readings, "rmse_test"), expected.rmse_test, 1e-6, "test"));
        close(value(&readings, "rmse_baseline"), expected.rmse_baseline, 1e-12, "baseline");

        for (which, expected) in [("users", &expected.users), ("items", &expected.items)] {
            let off = farthest(&vectors(directory.path(), which), expected);
            assert!(off < 1e-4, "{slaves} slaves: {which} are off by {off:e}");
        }
        let text = std::fs::read_to_string(directory.path().join("recommendations")).expect("text");
        let found: Vec<Vec<f64>> = rows(&text).collect();
        assert_eq!(found.len(), 50);
        for (found, expected) in found.iter().zip(&expected.recommendations) {
            close(found[1], expected.1, 1e-5, "a recommendation's prediction");
        }
        println!("{{\"data\":\"movielens als\",\"slaves\":{slaves},\"worst_error\":{worst:e}}}");
    }
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn generated_ratings_have_one_answer_whatever_the_number_of_slaves_and_the_clock() {
    let mut answers = Vec::new();
    for (slaves, virtual_time) in [(1, true), (2, true), (3, false), (4, true), (6, true)] {
        let readings = run(&small(slaves), virtual_time).expect("runs");
        let metrics = ["answer_checksum", "rmse_validation", "rmse_test", "rmse_baseline", "best_lambda"];
        answers.push(metrics.map(|metric| value(&readings, metric)));
        assert_eq!(value(&readings, "bytes_exchanged") > 0.0, slaves > 1);
        let origin = if virtual_time { Origin::Emulated } else { Origin::Measured };
        assert!(readings.iter().any(|r| r.metric == "completion_time" && r.origin == origin));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[test]
fn a_planted_structure_is_found() {
    let params = Params::default().with("slaves", 2).with("lambda", 0.1).with("iterations", 10);
    let readings = run(&params, true).expect("runs");
    let (test, baseline) = (value(&readings, "rmse_test"), value(&readings, "rmse_baseline"));
    assert!(test < 0.95 * baseline, "{test} beside {baseline}");
}

#[test]
fn more_slaves_than_users_leave_some_with_nothing_to_do() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ratings.csv");
    let lines = "1,3,4.0,10\n2,3,2.0,11\n1,4,3.0,16\n2,4,5.0,21\n1,9,3.0,18\n";
    std::fs::write(&path, format!("userId,movieId,rating,timestamp\n{lines}")).expect("written");
    let params = Params::default().with("slaves", 6).with("ratings", path.display().to_string());
    let readings = run(&params, true).expect("runs");
    // The only test rating is of an item that nobody rated for training.
    assert_eq!(value(&readings, "rmse_test"), 0.0);
}

#[test]
fn every_node_says_where_its_time_went() {
    let readings = run(&small(2), true).expect("runs");
    let completion = value(&readings, "completion_time");
    assert!(value(&readings, "load_time") < completion);
    let declared = ALS.deploy(&Params::default()).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|metric| metric.name == r.metric)));
    assert!(declared.iter().all(|metric| readings.iter().any(|r| r.metric == metric.name)));
    for node in ["0", "1", "2"] {
        let spent: f64 = readings
            .iter()
            .filter(|r| ["time_compute", "time_wait", "time_serialise"].contains(&r.metric.as_str()))
            .filter(|r| r.labels.get("node").is_some_and(|label| label == node))
            .map(|r| if let Observation::Value(value) = r.observation { value } else { f64::NAN })
            .sum();
        // Slaves are done a little before the master has heard of it.
        assert!(spent <= completion && spent > 0.5 * completion, "node {node}: {spent} of {completion}");
    }
}

#[test]
fn a_bad_line_is_named_before_anything_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ratings.csv");
    std::fs::write(&path, "userId,movieId,rating,timestamp\n1,2,3.0,10\n1,3,9.5,11\n").expect("written");
    let params = Params::default().with("ratings", path.display().to_string());
    let fault = run(&params, true).expect_err("refused");
    assert_eq!(fault.place, Some(format!("{}:3", path.display())));
}

#[test]
fn equations_without_a_single_solution_fail_the_attempt() {
    let fault = run(&small(2).with("lambda", 0.0), true).expect_err("refused");
    assert!(fault.message.contains("are singular"), "{fault}");
    assert_eq!(fault.remedy.as_deref(), Some("use a lambda above 0, or a lower rank"));
}

#[test]
fn an_output_that_cannot_be_written_fails_the_attempt() {
    let fault = run(&small(1).with("output", "/proc/nowhere"), true).expect_err("refused");
    assert!(fault.to_string().contains("/proc/nowhere/"), "{fault}");
}
