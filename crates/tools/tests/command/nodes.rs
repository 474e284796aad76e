//! Nodes that start and end together.

use std::fs;
use std::sync::atomic::AtomicBool;

use crosstalk_core::FaultKind;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_tools::command::Command;

use super::{is_gone, play, scene, scratch, shell, wait_for};

#[test]
fn every_node_knows_its_number_and_the_others() {
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["0", "1", "2"]);
    let script =
        format!("echo $CROSSTALK_NODE $CROSSTALK_NODES $CROSSTALK_HOSTS > {path}/$CROSSTALK_NODE; {wait}");
    scene::finished(play(&shell(&script), 3, 20.0));
    for node in 0..3 {
        let written = fs::read_to_string(folder.path().join(node.to_string())).expect("it ran");
        assert_eq!(written.trim(), format!("{node} 3 127.0.0.1,127.0.0.1,127.0.0.1"));
    }
}

#[test]
fn nodes_run_at_the_same_time() {
    // Each waits for all others: one after the other, none would end before the deadline.
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["0", "1", "2"]);
    scene::finished(play(&shell(&format!("echo > {path}/$CROSSTALK_NODE; {wait}")), 3, 20.0));
}

#[test]
fn when_node_0_ends_the_others_get_sigterm() {
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["ready"]);
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then {wait}; exit 0; fi
         trap 'echo > {path}/signalled; exit 0' TERM; echo > {path}/ready; while true; do sleep 0.05; done"
    );
    let readings = scene::finished(play(&shell(&script), 2, 20.0));
    assert!(folder.path().join("signalled").exists(), "node 1 got no SIGTERM");
    let of_node_1 = readings.iter().filter(|r| r.labels.get("node").is_some_and(|node| node == "1"));
    assert!(of_node_1.map(|r| r.metric.as_str()).any(|metric| metric == "time_wait"), "{readings:?}");
}

#[test]
fn a_node_that_ignores_sigterm_is_killed_two_seconds_later() {
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["ready"]);
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then {wait}; exit 0; fi
         trap '' TERM; echo > {path}/ready; while true; do sleep 0.05; done"
    );
    let readings = scene::finished(play(&shell(&script), 2, 20.0));
    let node_1 = readings.iter().filter(|r| r.labels.get("node").is_some_and(|node| node == "1"));
    let parts = node_1.filter(|r| r.metric.starts_with("time_")).filter_map(Reading::number);
    let ran: f64 = parts.sum();
    assert!(ran >= 2.0, "it ran for {ran} s");
}

#[test]
fn a_daemon_that_a_node_starts_runs_until_node_0_ends() {
    let folder = scratch();
    let path = folder.path().display();
    // Node 1 starts a daemon and ends; node 0 looks for the daemon half a second later.
    let wait = wait_for(folder.path(), &["daemon"]);
    let script = format!(
        "if [ $CROSSTALK_NODE = 1 ]; then setsid sh -c 'echo $$ > {path}/daemon; exec sleep 3600' & exit 0; fi
         {wait}; sleep 0.5; kill -0 $(cat {path}/daemon)"
    );
    scene::finished(play(&shell(&script), 2, 20.0));
    assert!(is_gone(&folder.path().join("daemon")), "the daemon is still there");
}

#[test]
fn a_node_that_fails_because_node_0_has_ended_does_not_fail_the_attempt() {
    let folder = scratch();
    let path = folder.path().display();
    // Node 1 fails as soon as node 0 is about to end, as after a lost connection.
    let wait = wait_for(folder.path(), &["over"]);
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then echo > {path}/over; sleep 0.1; exit 0; fi
         {wait}; exit 1"
    );
    scene::finished(play(&shell(&script), 2, 20.0));
}

#[test]
fn a_node_that_fails_long_before_node_0_ends_fails_the_attempt() {
    let folder = scratch();
    let path = folder.path().display();
    let wait = wait_for(folder.path(), &["failed"]);
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then {wait}; sleep 1; exit 0; fi
         echo lost >&2; echo > {path}/failed; exit 3"
    );
    let outcomes = play(&shell(&script), 2, 20.0);
    let fault = outcomes[1].as_ref().expect_err("it failed by itself");
    assert!(fault.message.contains("exit code 3") && fault.message.contains("lost"), "{fault}");
}

#[test]
fn a_node_that_fails_ends_the_attempt_and_is_named() {
    let script = "if [ $CROSSTALK_NODE = 1 ]; then echo lost >&2; exit 9; fi; sleep 3600";
    let outcomes = play(&shell(script), 3, 30.0);
    let fault = outcomes[0].as_ref().expect_err("cannot go on");
    assert!(fault.message.contains("exit code 9") && fault.message.contains("lost"), "{fault}");
    assert_eq!(fault.node(), Some(1));
    assert!(outcomes[2].is_err(), "node 2 went on");
}

#[test]
fn a_missing_node_is_named() {
    let params = shell("true");
    let first = Command.prepare(&scene::part("command", &params, 0, 2, 0.3)).expect("prepares");
    let endpoints = [first.endpoint(), None];
    let fault = first
        .run(&endpoints, &mut Vec::<Reading>::new(), &AtomicBool::new(false))
        .expect_err("node 1 does not come");
    assert_eq!(fault.node(), Some(1), "{fault}");
}

#[test]
fn the_parameters_declare_the_nodes_and_the_program() {
    assert_eq!(Command.deploy(&shell("true").with("nodes", 3)).expect("deploys").nodes, 3);
    assert_eq!(Command.deploy(&Params::default()).expect_err("no program").kind, FaultKind::Usage);
    assert!(Command.deploy(&shell("true").with("nodes", 0)).is_err());
}
