//! PageRank through its workload, on ranks that really exchange messages.

use crate::cluster::{emulation, play};
use crate::data::{real, workspace};
use crate::scene::value;
use crosstalk_apps::pagerank::PAGERANK;
use crosstalk_core::Fault;
use crosstalk_core::record::{Observation, Origin, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn run(params: Params, virtual_time: bool) -> Result<Vec<Reading>, Fault> {
    let nodes = PAGERANK.deploy(&params)?.nodes;
    play(&PAGERANK, &params, nodes, virtual_time.then(|| emulation(nodes)))
}

/// What the slaves wrote: label → rank.
fn output(directory: &Path) -> BTreeMap<u32, f64> {
    let mut ranks = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        parse(&text, &mut ranks);
    }
    ranks
}

fn parse(text: &str, ranks: &mut BTreeMap<u32, f64>) {
    for line in text.lines() {
        let (label, rank) = line.split_once('\t').expect("two columns");
        ranks.insert(label.parse().expect("a label"), rank.parse().expect("a rank"));
    }
}

/// The reference's ranks.
fn reference(graph: &Path, iterations: usize, reset: f64, variant: &str) -> Option<BTreeMap<u32, f64>> {
    let python = workspace().join(".tools/venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no scipy (tools/venv installs it)");
        return None;
    }
    let output = Command::new(python)
        .arg(workspace().join("tools/pagerank_reference.py"))
        .arg(graph)
        .args([iterations.to_string(), reset.to_string(), variant.to_string()])
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut ranks = BTreeMap::new();
    parse(&String::from_utf8_lossy(&output.stdout), &mut ranks);
    Some(ranks)
}

fn agrees_with_the_reference(name: &str, iterations: usize, variant: &str) {
    let Some(graph) = real(&format!("graph/{name}")) else { return };
    let Some(expected) = reference(&graph, iterations, 0.15, variant) else { return };
    let mut checksums = Vec::new();
    for slaves in [1, 2, 4, 6] {
        let directory = tempfile::tempdir().expect("a directory");
        let params = Params::default()
            .with("slaves", slaves)
            .with("iterations", iterations as i64)
            .with("variant", variant)
            .with("graph", graph.display().to_string())
            .with("output", directory.path().display().to_string());
        let readings = run(params, true).expect("runs");
        checksums.push(value(&readings, "answer_checksum"));
        let found = output(directory.path());
        assert!(found.keys().eq(expected.keys()), "{slaves} slaves: other vertices");
        let off = |(label, rank): (&u32, &f64)| (rank / expected[label] - 1.0).abs();
        let worst = found.iter().map(off).fold(0.0, f64::max);
        println!(
            "{{\"graph\":\"{name}\",\"variant\":\"{variant}\",\"slaves\":{slaves},\"worst_error\":{worst:e}}}"
        );
        assert!(worst <= 1e-9, "{slaves} slaves: off by {worst:e}");
    }
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn wiki_vote_agrees_with_scipy() {
    agrees_with_the_reference("wiki-Vote.txt.gz", 10, "graphx");
}

#[test]
fn wiki_vote_normalised_agrees_with_scipy() {
    agrees_with_the_reference("wiki-Vote.txt.gz", 10, "graphx-normalised");
}

#[test]
fn twitter_agrees_with_scipy() {
    agrees_with_the_reference("twitter-higgs-sample.txt.gz", 3, "graphx");
}

#[test]
fn a_generated_graph_has_one_answer_whatever_the_number_of_slaves_and_the_clock() {
    let mut checksums = Vec::new();
    for (slaves, virtual_time) in [(1, true), (2, true), (3, false), (6, true)] {
        let params = Params::default().with("slaves", slaves).with("scale", 12);
        let readings = run(params, virtual_time).expect("runs");
        checksums.push(value(&readings, "answer_checksum"));
        assert!(value(&readings, "completion_time") > 0.0);
        assert_eq!(value(&readings, "bytes_exchanged") > 0.0, slaves > 1);
        let origin = if virtual_time { Origin::Emulated } else { Origin::Measured };
        assert!(readings.iter().any(|r| r.metric == "completion_time" && r.origin == origin));
    }
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn loading_within_the_clock_gives_the_same_answer_and_takes_the_master_the_edge_list() {
    let with_loading = |slaves: i64, virtual_time| {
        let params = Params::default().with("slaves", slaves).with("scale", 12);
        let [without, with] = [params.clone(), params.with("clock", "with-loading")]
            .map(|params| run(params, virtual_time).expect("runs"));
        assert_eq!(value(&with, "answer_checksum"), value(&without, "answer_checksum"), "{slaves} slaves");
        assert_eq!(
            value(&with, "bytes_exchanged"),
            value(&without, "bytes_exchanged"),
            "in the iterations alone"
        );
        let (whole, loading) = (value(&with, "completion_time"), value(&with, "load_time"));
        assert!(loading < whole, "loading is part of the time: {loading} s of {whole} s");
        loading
    };
    with_loading(3, false);
    // 2^16 edges, a line of at least four bytes each, leave through the master's card.
    let card = emulation(2).across.costs.gap_per_byte.0 * f64::from(4 << 16);
    for slaves in [1, 2, 5] {
        let loading = with_loading(slaves, true);
        assert!(loading > card, "{slaves} slaves load in {loading} s, the card takes {card} s");
    }
}

#[test]
fn loading_within_the_clock_is_for_numbers_and_for_crosstalks_own_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let graph = directory.path().join("graph");
    let params =
        || Params::default().with("graph", graph.display().to_string()).with("clock", "with-loading");
    std::fs::write(&graph, "0 1\n1 2\n2 0\n").expect("written");
    run(params(), true).expect("small numbers");
    std::fs::write(&graph, "anna bert\nbert anna\n").expect("written");
    let fault = run(params(), true).expect_err("names");
    assert!(fault.to_string().contains("`clock`") && fault.remedy.is_some(), "{fault}");
    let on_spark = Params::default().with("engine", "spark").with("clock", "with-loading");
    let fault = PAGERANK.deploy(&on_spark).expect_err("refused").to_string();
    assert!(fault.contains("`clock`") && fault.contains("Spark"), "{fault}");
}

/// The ranks that slaves write for these edges, by name.
fn ranks(edges: &str, slaves: i64) -> (BTreeMap<String, f64>, f64) {
    let directory = tempfile::tempdir().expect("a directory");
    let (graph, ranks) = (directory.path().join("graph"), directory.path().join("ranks"));
    std::fs::write(&graph, edges).expect("written");
    let params = Params::default()
        .with("slaves", slaves)
        .with("graph", graph.display().to_string())
        .with("output", ranks.display().to_string());
    let readings = run(params, true).expect("runs");
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(ranks).expect("a directory") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        for line in text.lines() {
            let (name, rank) = line.split_once('\t').expect("two columns");
            assert!(found.insert(name.to_string(), rank.parse().expect("a rank")).is_none());
        }
    }
    (found, value(&readings, "answer_checksum"))
}

#[test]
fn numbers_with_large_gaps_and_names_have_the_ranks_of_numbers_without_gaps() {
    // From a linear congruential generator; vertex 0 has most edges.
    let edges: Vec<(u64, u64)> = (0..3000_u64)
        .scan(1_u64, |state, _| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = (*state >> 33 & 1023, *state >> 43 & 1023);
            Some(((a * b) >> 10, a))
        })
        .collect();
    let written = |name: &dyn Fn(u64) -> String| -> String {
        edges.iter().map(|(source, target)| format!("{} {}\n", name(*source), name(*target))).collect()
    };
    let mut checksums = Vec::new();
    for slaves in [1, 3] {
        let (plain, _) = ranks(&written(&|id| id.to_string()), slaves);
        let gaps = |id: u64| (id * 4_000_000_007).to_string();
        let (found, checksum) = ranks(&written(&gaps), slaves);
        checksums.push(checksum);
        assert_eq!(found.len(), plain.len());
        for (name, rank) in &plain {
            // Bit by bit: their order is the same.
            assert_eq!(found[&gaps(name.parse().expect("a number"))], *rank);
        }
        let named = |id: u64| format!("vertex-{id}");
        let (found, checksum) = ranks(&written(&named), slaves);
        checksums.push(checksum);
        assert_eq!(found.len(), plain.len());
        for (name, rank) in &plain {
            assert!((found[&format!("vertex-{name}")] / rank - 1.0).abs() < 1e-12);
        }
    }
    assert_eq!(checksums[..2], checksums[2..], "1 slave and 3");
}

#[test]
fn more_slaves_than_vertices_leave_some_with_nothing_to_do() {
    let params = Params::default().with("slaves", 6).with("scale", 1).with("edge_factor", 1);
    let readings = run(params, true).expect("runs");
    assert!(value(&readings, "completion_time") > 0.0);
}

#[test]
fn every_node_says_where_its_time_went() {
    let params = Params::default().with("slaves", 2).with("scale", 12);
    let readings = run(params, true).expect("runs");
    let completion = value(&readings, "completion_time");
    let declared = PAGERANK.deploy(&Params::default()).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|metric| metric.name == r.metric)));
    // All fits into memory, and what did not happen is not reported.
    let told = |name: &str| readings.iter().any(|r| r.metric == name);
    assert!(declared.iter().all(|metric| told(&metric.name) != (metric.name == "time_spill")));
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
    let path = directory.path().join("graph.txt");
    std::fs::write(&path, "1 2\n2 three\n").expect("written");
    let params = Params::default().with("graph", path.display().to_string());
    let fault = run(params, true).expect_err("refused");
    assert_eq!(fault.place, Some(format!("{}:2", path.display())));
}

#[test]
fn an_output_that_cannot_be_written_fails_the_attempt() {
    let params = Params::default().with("scale", 4).with("output", "/proc/nowhere");
    let fault = run(params, true).expect_err("refused");
    assert!(fault.to_string().contains("/proc/nowhere/part-00000"), "{fault}");
}
