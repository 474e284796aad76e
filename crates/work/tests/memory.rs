//! PageRank on nodes whose memory does not hold their part of the graph.

mod cluster;
mod scene;

use cluster::{emulation, play};
use crosstalk_core::Fault;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;
use crosstalk_work::app::pagerank::PAGERANK;
use scene::value;

/// 2^17 edges take half a megabyte on one slave.
fn run(slaves: i64, memory: Option<u64>, disk: bool) -> Result<Vec<Reading>, Fault> {
    let params = Params::default().with("slaves", slaves).with("scale", 13);
    let nodes = PAGERANK.deploy(&params)?.nodes;
    let mut emulation = emulation(nodes);
    emulation.node.memory = memory.map_or(emulation.node.memory, Bytes);
    emulation.node.disk = emulation.node.disk.filter(|_| disk);
    play(&PAGERANK, &params, nodes, Some(emulation))
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
