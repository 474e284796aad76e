//! The driver of the Spark engine, spoken to as the engine does, on a local master.

#[path = "../../../work/tests/cluster/mod.rs"]
mod cluster;
#[path = "../data/mod.rs"]
mod data;
mod driver;
mod inputs;
#[path = "../../../work/tests/scene/mod.rs"]
mod scene;

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{emulation, play};
use crosstalk_apps::als::ALS;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use data::{real, workspace};
use driver::{Driver, PATIENCE, Scratch, shared};
use inputs::{edges, export, ratings};
use scene::value;
use serde_json::{Value, json};

/// What Python prints, or nothing where its packages are not there.
fn reference(script: &str, arguments: &[&str]) -> Option<String> {
    let python = workspace().join(".tools/venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no {script} (tools/venv installs what it needs)");
        return None;
    }
    let output = Command::new(python)
        .arg(workspace().join("tools").join(script))
        .args(arguments)
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// The lines of all of an answer's parts, each split at its tabs.
fn written(directory: &Path) -> Vec<Vec<String>> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    parts.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part-")));
    parts.sort();
    let text: String = parts.iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    text.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

/// Every pass has a time, and every node of the last pass its tasks.
fn accounted(answer: &Value) {
    let times = answer["times"].as_array().expect("times");
    assert!((1..=2).contains(&times.len()), "{answer}");
    assert!(times.iter().all(|time| time.as_f64().is_some_and(|s| s > 0.0)), "{answer}");
    assert!(answer["loading"].as_f64().is_some_and(|s| s > 0.0), "{answer}");
    let node = &answer["nodes"]["driver"];
    let figure = |name: &str| node[name].as_f64().unwrap_or_else(|| panic!("no {name}: {answer}"));
    assert!(figure("tasks") >= 2.0 && figure("compute") > 0.0 && figure("shuffle_bytes") > 0.0, "{node}");
    assert!(figure("wait") >= 0.0 && figure("serialise") > 0.0 && figure("gc") >= 0.0, "{node}");
    // Two tasks at a time, within the pass.
    let last = times[times.len() - 1].as_f64().expect("a number");
    assert!(figure("run") <= 2.0 * last + 1.0, "{node} in {last} s");
    assert_eq!(figure("spill_bytes"), 0.0);
}

#[test]
fn pagerank_is_that_of_the_reference() {
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (graph, output) = (directory.path().join("graph.txt"), directory.path().join("ranks"));
    fs::write(&graph, edges()).expect("writes");
    for (normalised, variant) in [(false, "graphx"), (true, "graphx-normalised")] {
        let arguments = [graph.to_str().expect("UTF-8"), "3", "0.15", variant];
        let Some(expected) = reference("pagerank_reference.py", &arguments) else { return };
        let expected: BTreeMap<u64, f64> = expected
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(label, rank)| (label.parse().expect("a label"), rank.parse().expect("a rank")))
            .collect();
        let answer = driver.done(&json!({
            "do": "pagerank", "edges": graph, "partitions": 2, "normalised": normalised, "output": output,
            "passes": {"least": 2, "most": 2},
        }));
        accounted(&answer);
        assert_eq!((&answer["vertices"], &answer["edges"]), (&json!(expected.len()), &json!(5000)));
        let rows = written(&output);
        assert_eq!(rows.len(), expected.len(), "an earlier answer's parts stay, or some are missing");
        for row in &rows {
            let (label, rank): (u64, f64) =
                (row[0].parse().expect("a label"), row[1].parse().expect("a rank"));
            assert!(
                (rank / expected[&label] - 1.0).abs() <= 1e-9,
                "{label}: {rank}, not {}",
                expected[&label]
            );
        }
        let sum: f64 = expected.values().sum();
        assert!((answer["sum"].as_f64().expect("a sum") / sum - 1.0).abs() <= 1e-9, "{answer}");
        let mut highest: Vec<(u64, f64)> = expected.into_iter().collect();
        highest.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let top = answer["top"].as_array().expect("the highest");
        assert_eq!(top.len(), 10);
        for (found, (label, rank)) in top.iter().zip(&highest) {
            assert_eq!(found[0], *label);
            assert!((found[1].as_f64().expect("a rank") / rank - 1.0).abs() <= 1e-9, "{found}");
        }
    }
}

#[test]
fn als_errs_as_ours_does() {
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (ratings, output) = (ratings(directory.path()), directory.path().join("model"));
    let params = Params::default()
        .with("ratings", ratings.display().to_string())
        .with("rank", 8)
        .with("lambda", 0.1)
        .with("iterations", 10);
    let nodes = ALS.deploy(&params).expect("deploys").nodes;
    let ours = play(&ALS, &params, nodes, Some(emulation(nodes))).expect("runs");
    let answer = driver.done(&json!({
        "do": "als", "ratings": ratings, "partitions": 2, "rank": 8, "lambda": 0.1, "iterations": 10,
        "output": output, "passes": {"least": 1, "most": 1},
    }));
    accounted(&answer);
    for (theirs, metric, tolerance) in [
        ("rmse_validation", "rmse_validation", 0.01),
        ("rmse_test", "rmse_test", 0.01),
        ("rmse_mean", "rmse_baseline", 1e-12),
    ] {
        let off = answer[theirs].as_f64().expect("an error") / value(&ours, metric) - 1.0;
        println!("{{\"metric\":\"{metric}\",\"spark_over_ours_less_1\":{off:e}}}");
        assert!(off.abs() <= tolerance, "{theirs}: {} against {}", answer[theirs], value(&ours, metric));
    }
    assert_eq!(answer["best"], json!([8, 0.1, 10]));
    // The recommendations are the best of the written model's predictions.
    let vector = |row: &Vec<String>| -> (u64, Vec<f64>) {
        let numbers = row[1..].iter().map(|x| x.parse().expect("a number")).collect();
        (row[0].parse().expect("an id"), numbers)
    };
    let users: BTreeMap<_, _> = written(&output.join("users")).iter().map(vector).collect();
    let items: BTreeMap<_, _> = written(&output.join("items")).iter().map(vector).collect();
    let predicted = |item: u64| -> f64 { users[&0].iter().zip(&items[&item]).map(|(x, y)| x * y).sum() };
    let recommended = answer["recommendations"].as_array().expect("recommendations");
    assert_eq!(recommended.len(), 50);
    for one in recommended {
        let (item, told) = (one[0].as_u64().expect("an item"), one[1].as_f64().expect("a prediction"));
        assert!((predicted(item) - told).abs() < 1e-5, "{item}: {told}, not {}", predicted(item));
    }
    let last = recommended[49][1].as_f64().expect("a prediction");
    let better = items.keys().filter(|item| predicted(**item) > last + 1e-5).count();
    assert!(better <= 49 + 11, "{better} items are better than the last recommendation");
}

fn decides_as_the_reference(corpus: &Path, norm: bool, remove_labels: bool) {
    let mut arguments = vec![corpus.to_str().expect("UTF-8"), "--test-percent", "50"];
    arguments.extend(norm.then_some("--norm"));
    arguments.extend(remove_labels.then_some("--remove-labels"));
    let Some(expected) = reference("bayes_reference.py", &arguments) else { return };
    let Some(mut driver) = shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (features, expected) = expected.split_once('\n').expect("a line");
    let answer = driver.done(&json!({
        "do": "bayes", "corpus": corpus, "partitions": 2, "test_percent": 50, "norm": norm,
        "remove_labels": remove_labels, "output": directory.path(), "passes": {"least": 1, "most": 1},
    }));
    accounted(&answer);
    assert_eq!(answer["features"].to_string(), features);
    let expected: Vec<Vec<&str>> = expected.lines().map(|line| line.split('\t').collect()).collect();
    let right = expected.iter().filter(|row| row[1] == row[2]).count() as f64 / expected.len() as f64;
    let off = (answer["accuracy"].as_f64().expect("a share") - right).abs();
    let found = written(directory.path());
    let differing = found.iter().zip(&expected).filter(|(one, other)| *one != *other).count();
    println!(
        "{{\"accuracy\":{right},\"accuracy_off\":{off},\"differing\":{differing},\"tested\":{}}}",
        expected.len()
    );
    assert_eq!((&answer["test"], found.len()), (&json!(expected.len()), expected.len()));
    assert!(off <= 0.01, "{} against {right}", answer["accuracy"]);
    assert_eq!(differing, 0);
    let counts = answer["confusion"].as_array().expect("a matrix").iter();
    assert_eq!(counts.filter_map(|row| row[2].as_u64()).sum::<u64>(), expected.len() as u64);
}

#[test]
fn bayes_decides_about_odd_articles_as_the_reference() {
    let directory = tempfile::tempdir().expect("a directory");
    let corpus = directory.path().join("made.xml");
    fs::write(&corpus, export()).expect("writes");
    decides_as_the_reference(&corpus, true, true);
}

#[test]
fn bayes_decides_about_wikipedia_as_the_reference() {
    if let Some(corpus) = real("wikipedia/enwiki-pages-articles1-sample.xml.bz2") {
        decides_as_the_reference(&corpus, false, false);
    }
}

#[test]
fn what_is_wrong_is_said_and_the_driver_goes_on() {
    let Some(mut driver) = Driver::start(Scratch::own()) else { return };
    assert!(driver.reason("PageRank, please").starts_with("a request is not JSON"));
    assert_eq!(driver.reason("[1]"), "a request must be a JSON object, found [1]");
    assert!(driver.reason(r#"{"do": "sort"}"#).starts_with("`do`: expected one of open, pagerank,"));
    assert_eq!(driver.reason(r#"{"do": "als"}"#), "`als` needs an open application");
    driver.done(&json!({"do": "close"}));

    let nobody = TcpListener::bind("127.0.0.1:0").expect("listens").local_addr().expect("an address");
    let master = format!("spark://{nobody}");
    let request = driver.opening(&master, 1.0).to_string();
    assert_eq!(driver.reason(&request), format!("no Spark master listens at {master}: Connection refused"));
    assert!(
        driver.reason(&driver.opening("mesos", 1.0).to_string()).contains("spark://HOST:PORT or local[N]")
    );

    // Who listens and is no master.
    let mute = TcpListener::bind("127.0.0.1:0").expect("listens");
    let master = format!("spark://{}", mute.local_addr().expect("an address"));
    let request = driver.opening(&master, 8.0).to_string();
    assert_eq!(
        driver.reason(&request),
        format!("the master {master} did not take the application within 8 s")
    );
    // The answer does not wait for Java to have ended.
    let begin = Instant::now();
    while !driver.children().is_empty() {
        assert!(begin.elapsed() < PATIENCE, "{:?} are still there", driver.children());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_bad_file_fails_its_request_alone_and_hanging_up_ends_a_job() {
    let Some(mut driver) = Driver::open(Scratch::own()) else { return };
    let request = json!({"do": "pagerank", "edges": "/no/such/file", "partitions": 2}).to_string();
    assert_eq!(driver.reason(&request), "`edges`: there is no file /no/such/file");
    let directory = tempfile::tempdir().expect("a directory");
    let graph = directory.path().join("graph.txt");
    fs::write(&graph, "1 2\n2 three\n").expect("writes");
    let request = |least: u64, partitions: u64| {
        let passes = json!({"least": least, "most": least});
        json!({"do": "pagerank", "edges": graph, "partitions": partitions, "passes": passes}).to_string()
    };
    assert_eq!(driver.reason(&request(1, 0)), "`partitions`: expected a whole number of at least 1, found 0");
    assert_eq!(driver.reason(&request(1, 2)), "NumberFormatException: For input string: \"three\"");
    fs::write(&graph, "1 2\n2 3\n").expect("writes");
    driver.say(&request(10_000, 2));
    while !driver.hear()["what"].as_str().is_some_and(|what| what.starts_with("pass 1 ")) {}
    assert_eq!(driver.children().len(), 1, "a JVM");
    driver.hear();
    // All its passes would take far longer than is waited for.
    driver.hang_up();
}
