//! The nodes that observers are attached on, and the labels of their readings.

mod common;

use std::collections::BTreeSet;

use common::TestRun;
use crosstalk_core::record::{Line, Status};

/// Metric and node label of all readings of observers.
fn observed(nodes_a_host: usize) -> BTreeSet<(String, Option<String>)> {
    let mut run = TestRun::new(
        r#"
        schema = "crosstalk.study/1"
        title = "Observers"
        looks = [1]
        [experiment.e]
        work.foreground = { kind = "scripted", nodes = 3, does = "$does" }
        work.background = { kind = "neighbour" }
        observe = ["host", "node", "background"]
        factors = { does = ["well"] }
        "#,
    );
    run.nodes_a_host = nodes_a_host;
    assert_eq!(run.run(0).expect("runs").status, Status::Finished);
    let seen: Vec<_> = run
        .journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Sample { reading, .. }
                if !["run_time", "background_cpu"].contains(&reading.metric.as_str()) =>
            {
                Some((reading.metric, reading.labels.get("node").cloned()))
            }
            _ => None,
        })
        .collect();
    let distinct: BTreeSet<_> = seen.iter().cloned().collect();
    assert_eq!(distinct.len(), seen.len(), "each once: {seen:?}");
    distinct
}

fn on(metric: &str, nodes: &[usize]) -> Vec<(String, Option<String>)> {
    nodes.iter().map(|node| (metric.to_string(), Some(node.to_string()))).collect()
}

fn alone(metric: &str) -> Vec<(String, Option<String>)> {
    vec![(metric.to_string(), None)]
}

#[test]
fn readings_of_a_host_are_taken_once_a_host_and_have_a_label_only_if_there_are_several() {
    let node = on("node", &[0, 1, 2]);
    let expected = |host| [host, node.clone(), alone("background")].concat().into_iter().collect();
    assert_eq!(observed(3), expected(alone("host")));
    assert_eq!(observed(2), expected(on("host", &[0, 2])));
    assert_eq!(observed(1), expected(on("host", &[0, 1, 2])));
}
