//! What a program prints: its logs, and a metric.

use std::fs;

use crosstalk_core::FaultKind;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_tools::command::Command;

use super::{fault_of_node_0, play, scene, scratch, shell, wait_for};

#[test]
fn output_is_kept_in_the_log_folder() {
    let folder = scratch();
    let log = folder.path().join("log");
    let wait = wait_for(folder.path(), &["1"]);
    let path = folder.path().display();
    let script = format!("echo to $CROSSTALK_NODE; echo err >&2; echo > {path}/$CROSSTALK_NODE; {wait}");
    let params = shell(&script).with("log", log.to_str().expect("is text"));
    scene::finished(play(&params, 2, 20.0));
    let read = |name: &str| fs::read_to_string(log.join(name)).expect("is kept");
    assert_eq!((read("node-0.out").trim(), read("node-0.err").trim()), ("to 0", "err"));
    assert_eq!(read("node-1.out").trim(), "to 1");
}

/// A program that prints a rate.
fn with_rate(script: &str) -> Params {
    shell(script)
        .with("metric", "requests")
        .with("unit", "/s")
        .with("better", "higher")
        .with("pattern", "([0-9.]+) requests/s")
}

#[test]
fn a_custom_metric_is_read_from_the_last_output_of_node_0() {
    let script = "if [ $CROSSTALK_NODE = 0 ]; then echo '7 requests/s'; echo '12.5 requests/s'; fi";
    let readings = scene::finished(play(&with_rate(script), 2, 20.0));
    assert_eq!(scene::value(&readings, "requests"), 12.5);
    assert!(scene::value(&readings, "run_time") > 0.0, "the run time is reported, too");
    let metrics = Command.deploy(&with_rate("true")).expect("deploys").metrics;
    assert_eq!((metrics[0].name.as_str(), metrics[1].name.as_str()), ("requests", "run_time"));
}

#[test]
fn a_program_that_does_not_print_its_metric_fails_the_attempt() {
    let fault = fault_of_node_0(&with_rate("echo none"), 5.0);
    assert_eq!(fault.kind, FaultKind::Attempt);
    assert!(fault.message.contains("metric `requests` is not in") && fault.remedy.is_some(), "{fault}");
    let fault = fault_of_node_0(&with_rate("exit 3"), 5.0);
    assert!(fault.message.contains("exit code 3"), "the exit code comes first: {fault}");
}

#[test]
fn a_flood_of_output_does_not_block_the_program() {
    scene::finished(play(&shell("head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2"), 1, 60.0));
}
