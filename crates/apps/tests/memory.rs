//! PageRank and the classification of articles on nodes whose memory does not
//! hold their part of the data.

use crate::cluster::{emulation, play};
use crate::scene::value;
use crosstalk_apps::bayes::BAYES;
use crosstalk_apps::mapreduce::budget;
use crosstalk_apps::pagerank::PAGERANK;
use crosstalk_core::Fault;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;
use std::process::Command;

/// Plays `workload` on nodes of so much `memory` (else of plenty), with a disk or without.
fn on_nodes(
    workload: &dyn Workload,
    params: &Params,
    memory: Option<u64>,
    disk: bool,
) -> Result<Vec<Reading>, Fault> {
    let nodes = workload.deploy(params)?.nodes;
    let mut emulation = emulation(nodes);
    emulation.node.memory = memory.map_or(emulation.node.memory, Bytes);
    emulation.node.disk = emulation.node.disk.filter(|_| disk);
    play(workload, params, nodes, Some(emulation))
}

/// 2^17 edges take half a megabyte on one slave.
fn run(slaves: i64, memory: Option<u64>, disk: bool) -> Result<Vec<Reading>, Fault> {
    let params = Params::default().with("slaves", slaves).with("scale", 13);
    on_nodes(&PAGERANK, &params, memory, disk)
}

/// The sum of `metric` at a node.
fn at_node(readings: &[Reading], metric: &str, node: usize) -> f64 {
    let here = |r: &&Reading| {
        r.metric.starts_with(metric) && r.labels.get("node").is_some_and(|at| *at == node.to_string())
    };
    let number = |r: &Reading| if let Observation::Value(value) = r.observation { value } else { f64::NAN };
    readings.iter().filter(here).map(number).sum()
}

#[test]
fn the_answer_is_the_same_whether_memory_holds_the_edges_or_not() {
    let free = run(1, None, true).expect("runs");
    assert_eq!(value(&free, "bytes_spilled"), 0.0);
    assert!(free.iter().all(|reading| reading.metric != "time_spill"));
    for slaves in [1, 2, 4] {
        let limited = run(slaves, Some(300_000), true).expect("runs");
        let spilled = value(&limited, "bytes_spilled");
        assert_eq!(value(&limited, "answer_checksum"), value(&free, "answer_checksum"), "{slaves} slaves");
        // A half of the graph takes more than a node's memory, a quarter less.
        assert_eq!(spilled > 0.0, slaves < 4, "{slaves} slaves spill {spilled} B");
    }
}

#[test]
fn spilling_takes_what_the_disk_takes_and_the_account_adds_up() {
    let readings = run(1, Some(300_000), true).expect("runs");
    let (spilled, spill) = (value(&readings, "bytes_spilled"), at_node(&readings, "time_spill", 1));
    // Three iterations, each from the first spilled edge to the last: 10 ms, and 10 ns a byte.
    let expected = 3.0 * (0.01 + spilled * 1e-8);
    assert!((spill - expected).abs() < 1e-9, "{spill} s instead of {expected}");
    assert_eq!(at_node(&readings, "time_spill", 0), 0.0, "the master holds no edge");
    let completion = value(&readings, "completion_time");
    for node in [0, 1] {
        let spent = at_node(&readings, "time_", node);
        assert!(spent <= completion && spent > 0.9 * completion, "node {node}: {spent} of {completion}");
    }
}

#[test]
fn vertices_that_no_memory_holds_fail_the_attempt() {
    let fault = run(2, Some(10_000), true).expect_err("too small");
    assert!(fault.message.contains("for its vertices"), "{fault}");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("more slaves")));
}

#[test]
fn spilling_without_a_disk_fails_the_attempt() {
    let fault = run(1, Some(300_000), false).expect_err("nowhere to spill to");
    assert!(fault.message.contains("no disk to spill to"), "{fault}");
    run(1, None, false).expect("what fits needs no disk");
}

/// 50,000 words in 400 articles.
fn articles(slaves: usize) -> Params {
    Params::default()
        .with("slaves", slaves as i64)
        .with("documents", 400)
        .with("document_words", 120)
        .with("vocabulary", 3000)
        .with("categories", 4)
        .with("remove_labels", true)
}

/// The answer with memory for all.
fn answer(slaves: usize) -> f64 {
    let free = on_nodes(&BAYES, &articles(slaves), None, true).expect("runs");
    assert!((1..=slaves).all(|node| at_node(&free, "bytes_spilled", node) == 0.0));
    assert!((1..=slaves).all(|node| at_node(&free, "segments", node) == 3.0), "one of each table");
    assert!(free.iter().all(|reading| reading.metric != "time_spill"));
    value(&free, "answer_checksum")
}

#[test]
fn articles_give_the_same_answer_bit_by_bit_whatever_the_nodes_memory() {
    for slaves in [1, 2, 5] {
        let answer = answer(slaves);
        let (mut spilled, mut segments) = (Vec::new(), Vec::new());
        for more in [0, 200_000, 600_000, 3_000_000] {
            let limit = budget::least_memory(slaves) + more;
            let readings = on_nodes(&BAYES, &articles(slaves), Some(limit), true).expect("runs");
            assert_eq!(value(&readings, "answer_checksum"), answer, "{slaves} slaves, {limit} B");
            assert!(at_node(&readings, "bytes_held", 1) <= limit as f64 / 4.0, "{slaves} slaves, {limit} B");
            spilled.push(at_node(&readings, "bytes_spilled", 1));
            segments.push(at_node(&readings, "segments", 1));
        }
        assert!(spilled.is_sorted_by(|less, more| less > more), "more memory, less spilled: {spilled:?}");
        assert!(segments.is_sorted_by(|less, more| less >= more), "and fewer segments: {segments:?}");
        assert!(segments[0] > 6.0, "{slaves} slaves: {segments:?}");
    }
}

#[test]
fn spilling_articles_takes_what_the_disk_takes_and_the_account_adds_up() {
    let least = Some(budget::least_memory(2));
    let readings = on_nodes(&BAYES, &articles(2), least, true).expect("runs");
    let completion = value(&readings, "completion_time");
    for node in [1, 2] {
        let told = |metric| at_node(&readings, metric, node);
        // 10 ns a byte, 10 ms whenever the head moves.
        let moved = told("bytes_spilled") + told("bytes_read_back");
        let expected = moved * 1e-8 + told("seeks") * 0.01;
        assert!((told("time_spill") - expected).abs() < 1e-9 * expected, "not {expected} s");
        assert!(told("bytes_read_back") >= told("bytes_spilled"), "all that was spilled is read");
        assert!(told("spills") > 10.0 && told("seeks") > 10.0);
        let spent: f64 = ["time_compute", "time_wait", "time_serialise", "time_spill"].map(told).iter().sum();
        assert!(spent <= completion && spent > 0.9 * completion, "node {node}: {spent} of {completion}");
    }
    assert_eq!(at_node(&readings, "time_spill", 0), 0.0, "the master holds no article");
}

#[test]
fn a_limit_that_is_said_stands_above_the_nodes_memory() {
    let least = Some(budget::least_memory(1));
    let params = articles(1).with("memory_limit", "1 GiB");
    let readings = on_nodes(&BAYES, &params, least, true).expect("runs");
    assert_eq!(at_node(&readings, "bytes_spilled", 1), 0.0);
}

#[test]
fn a_memory_below_the_least_fails_the_attempt_with_its_remedy() {
    let least = budget::least_memory(1);
    let fault = on_nodes(&BAYES, &articles(1), Some(least - 1), true).expect_err("a byte is missing");
    let expected = format!("a slave needs {least} B of buffers at least; its limit is {} B", least - 1);
    assert_eq!(fault.message, expected);
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("`memory_limit`")));
    let fault = on_nodes(&BAYES, &articles(1), Some(least), false).expect_err("nowhere to spill to");
    assert!(fault.message.contains("no disk to spill to"), "{fault}");
}

/// Where [`a_disk_that_fills_up_fails_the_attempt`] has mounted a small one.
const SMALL_DISK: &str = "CROSSTALK_TEST_SMALL_DISK";

#[test]
fn a_disk_that_fills_up_fails_the_attempt() {
    if let Ok(disk) = std::env::var(SMALL_DISK) {
        let params = articles(1).with("scratch", disk.as_str());
        let fault =
            on_nodes(&BAYES, &params, Some(budget::least_memory(1)), true).expect_err("the disk is full");
        assert!(fault.message.starts_with("cannot spill: No space left on device"), "{fault}");
        assert_eq!(fault.place.as_deref(), Some(disk.as_str()));
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("`scratch`")));
        return;
    }
    // A disk of 128 KiB in a mount namespace of its own: it goes with the process.
    let directory = tempfile::tempdir().expect("a directory");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(directory.path()).arg(std::env::current_exe().expect("this program"));
        command.env(SMALL_DISK, directory.path()).output()
    };
    const MOUNT: &str = "mount -t tmpfs -o size=128k none \"$0\"";
    if !unshare(MOUNT).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no mount namespaces for this user");
        return;
    }
    let test = format!("{MOUNT} && exec \"$1\" --exact a_disk_that_fills_up_fails_the_attempt --nocapture");
    let output = unshare(&test).expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
