//! Where observers watch, and how their readings are labelled.

mod common;

use std::collections::BTreeSet;

use common::Stage;
use crosstalk_core::record::{Line, Status};

/// Metric and node label of all readings of observers.
fn watched(share: usize) -> BTreeSet<(String, Option<String>)> {
    let mut stage = Stage::new(
        r#"
        schema = "crosstalk.study/1"
        title = "Observers"
        looks = [1]
        [experiment.e]
        work.own = { kind = "actor", nodes = 3, does = "$does" }
        work.external = { kind = "neighbour" }
        observe = ["host", "node", "background"]
        factors = { does = ["well"] }
        "#,
    );
    stage.share = share;
    assert_eq!(stage.run(0).expect("runs").status, Status::Finished);
    let seen: Vec<_> = stage
        .journal()
        .into_iter()
        .filter_map(|line| match line {
            Line::Sample { reading, .. } if !["run_time", "donated"].contains(&reading.metric.as_str()) => {
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
fn what_concerns_a_host_is_taken_once_a_host_and_only_several_are_told_apart() {
    let node = on("node", &[0, 1, 2]);
    let expected = |host| [host, node.clone(), alone("background")].concat().into_iter().collect();
    assert_eq!(watched(3), expected(alone("host")));
    assert_eq!(watched(2), expected(on("host", &[0, 2])));
    assert_eq!(watched(1), expected(on("host", &[0, 1, 2])));
}
