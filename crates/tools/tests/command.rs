//! The user's own program on nodes of this host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::{Params, Value};
use crosstalk_core::{Fault, FaultKind};
use crosstalk_tools::command::Command;
use tempfile::TempDir;

#[path = "../../work/tests/scene/mod.rs"]
mod scene;

fn argv(words: &[&str]) -> Params {
    let words = words.iter().map(|w| Value::from(*w)).collect();
    Params([("argv".to_string(), Value::List(words))].into())
}

fn shell(script: &str) -> Params {
    argv(&["/bin/sh", "-c", script])
}

fn play(params: &Params, nodes: usize, deadline: f64) -> Vec<Result<Vec<Reading>, Fault>> {
    scene::play(&Command, params, nodes, deadline, &AtomicBool::new(false))
}

fn fault_of_node_0(params: &Params, deadline: f64) -> Fault {
    play(params, 1, deadline).remove(0).expect_err("the program fails")
}

fn scratch() -> TempDir {
    tempfile::tempdir().expect("makes one")
}

/// Whether a process whose number a program wrote to `path` has gone.
fn has_gone(path: &Path) -> bool {
    let pid = fs::read_to_string(path).expect("the program wrote its number");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.is_empty()
}

fn node(readings: &[Reading], metric: &str, number: &str) -> f64 {
    let of_node: Vec<_> =
        readings.iter().filter(|r| r.labels.get("node").is_some_and(|n| n == number)).cloned().collect();
    scene::value(&of_node, metric)
}

#[test]
fn sleeping_is_waiting_and_spinning_is_computing() {
    let asleep = scene::finished(play(&shell("sleep 0.5"), 1, 20.0));
    let wall = scene::value(&asleep, "run_time");
    assert!((0.5..1.0).contains(&wall), "{wall} s");
    assert!(scene::value(&asleep, "time_wait") > 0.9 * 0.5);
    assert!(scene::value(&asleep, "time_compute") < 0.1);

    let busy = scene::finished(play(&shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"), 1, 20.0));
    let (wall, compute) = (scene::value(&busy, "run_time"), scene::value(&busy, "time_compute"));
    let queue = scene::value(&busy, "time_queue");
    assert!(compute + queue > 0.7 * wall, "{compute} s computing, {queue} s queueing of {wall} s");
}

/// The parts of the run time and what ran beside it, where the parts add up to it.
fn split(script: &str) -> [f64; 4] {
    let readings = scene::finished(play(&shell(script), 1, 30.0));
    let parts = ["time_compute", "time_queue", "time_wait"].map(|name| scene::value(&readings, name));
    let wall = scene::value(&readings, "run_time");
    assert!((parts.iter().sum::<f64>() / wall - 1.0).abs() < 1e-6, "{parts:?} of {wall}");
    let parallel = scene::value(&readings, "parallel_cpu_time");
    assert!(parts.iter().chain([&parallel]).all(|part| *part >= 0.0), "{parts:?} {parallel}");
    let [compute, queue, wait] = parts;
    [compute, queue, wait, parallel]
}

#[test]
fn what_does_one_thing_at_a_time_runs_nothing_in_parallel() {
    let spin = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let [compute, _, wait, parallel] = split(&format!("sleep 0.3; sh -c '{spin}'; {spin}; sh -c '{spin}'"));
    assert!(wait > 0.29, "{wait} s");
    // Where one of these starts the other, both may be seen to be ready for a moment.
    assert!(parallel < 0.2 * compute, "{parallel} s beside {compute} s");
}

#[test]
fn what_runs_in_parallel_is_beside_the_run_time_and_hides_no_waiting() {
    let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let [compute, _, wait, parallel] = split(&format!("({spin})& ({spin})& ({spin})& wait; sleep 0.4"));
    assert!(wait > 0.35, "the sleep is waiting: {wait} s");
    // Three of the same: two thirds are beside the run time, less where one ends before the others.
    assert!(parallel > compute && parallel < 2.5 * compute, "{parallel} s beside {compute} s");
}

#[test]
fn every_node_knows_its_number_and_the_others() {
    let directory = scratch();
    let path = directory.path().display();
    let script =
        format!("echo $CROSSTALK_NODE $CROSSTALK_NODES $CROSSTALK_HOSTS > {path}/$CROSSTALK_NODE; sleep 0.3");
    scene::finished(play(&shell(&script), 3, 20.0));
    for node in 0..3 {
        let said = fs::read_to_string(directory.path().join(node.to_string())).expect("it ran");
        assert_eq!(said.trim(), format!("{node} 3 127.0.0.1,127.0.0.1,127.0.0.1"));
    }
}

#[test]
fn when_node_0_ends_the_others_are_asked_to_end() {
    let directory = scratch();
    let path = directory.path().display();
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then sleep 0.4; exit 0; fi
         trap 'echo asked > {path}/asked; exit 0' TERM; while true; do sleep 0.05; done"
    );
    let begin = Instant::now();
    let readings = scene::finished(play(&shell(&script), 2, 20.0));
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(directory.path().join("asked").exists(), "node 1 got no SIGTERM");
    assert!((0.4..1.0).contains(&scene::value(&readings, "run_time")));
    assert!(node(&readings, "time_wait", "1") > 0.2);
}

#[test]
fn a_daemon_that_a_node_starts_serves_until_node_0_ends() {
    let directory = scratch();
    let path = directory.path().display();
    // Node 1 starts a daemon and ends; node 0 looks for it half a second later.
    let script = format!(
        "if [ $CROSSTALK_NODE = 1 ]; then setsid sh -c 'echo $$ > {path}/daemon; exec sleep 65' & exit 0; fi
         sleep 0.5; kill -0 $(cat {path}/daemon)"
    );
    scene::finished(play(&shell(&script), 2, 20.0));
    assert!(has_gone(&directory.path().join("daemon")), "the daemon is still there");
}

#[test]
fn who_fails_because_node_0_has_ended_does_not_fail_the_attempt() {
    let directory = scratch();
    let path = directory.path().display();
    // Node 1 fails as soon as node 0 is about to end, as one that lost its peer does.
    let script = format!(
        "if [ $CROSSTALK_NODE = 0 ]; then sleep 0.2; touch {path}/over; sleep 0.1; exit 0; fi
         while [ ! -e {path}/over ]; do sleep 0.01; done; exit 1"
    );
    scene::finished(play(&shell(&script), 2, 20.0));
}

#[test]
fn who_fails_long_before_node_0_ends_well_fails_the_attempt() {
    let script = "if [ $CROSSTALK_NODE = 0 ]; then sleep 0.4; exit 0; fi; echo lost >&2; exit 3";
    let outcomes = play(&shell(script), 2, 20.0);
    let fault = outcomes[1].as_ref().expect_err("it failed by itself");
    assert!(fault.message.contains("exit code 3") && fault.message.contains("lost"), "{fault}");
}

#[test]
fn who_does_not_listen_is_killed_two_seconds_later() {
    let script = "if [ $CROSSTALK_NODE = 0 ]; then sleep 0.2; exit 0; fi
                  trap '' TERM; while true; do sleep 0.05; done";
    let begin = Instant::now();
    scene::finished(play(&shell(script), 2, 20.0));
    let took = begin.elapsed().as_secs_f64();
    assert!((2.0..4.5).contains(&took), "{took} s");
}

#[test]
fn the_start_is_common() {
    let directory = scratch();
    let path = directory.path().display();
    let script = format!("date +%s%N > {path}/$CROSSTALK_NODE; sleep 0.3");
    scene::finished(play(&shell(&script), 3, 20.0));
    let at = |node: usize| -> i64 {
        let text = fs::read_to_string(directory.path().join(node.to_string())).expect("it ran");
        text.trim().parse().expect("a number")
    };
    let (first, last) = ((0..3).map(at).min(), (0..3).map(at).max());
    assert!(last.zip(first).is_some_and(|(l, f)| l - f < 250_000_000), "{first:?} to {last:?}");
}

#[test]
fn nothing_a_program_starts_outlives_it() {
    let directory = scratch();
    let path = directory.path().display();
    // In the background, in a session of its own, and as a daemon of a daemon.
    let script = format!(
        "sleep 61 & echo $! > {path}/child
         setsid sh -c 'echo $$ > {path}/session; exec sleep 62' &
         (setsid sh -c 'sh -c \"echo \\$\\$ > {path}/daemon; exec sleep 63\" &' &)
         sleep 0.3"
    );
    scene::finished(play(&shell(&script), 1, 20.0));
    for who in ["child", "session", "daemon"] {
        assert!(has_gone(&directory.path().join(who)), "the {who} is still there");
    }
}

#[test]
fn what_an_orphan_computed_counts() {
    let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let waited = scene::finished(play(&shell(spin), 1, 20.0));
    let orphan =
        scene::finished(play(&shell(&format!("(setsid sh -c '{spin}; sleep 9' &); sleep 2.5")), 1, 20.0));
    let (waited, orphan) = (scene::value(&waited, "time_compute"), scene::value(&orphan, "time_compute"));
    assert!(orphan > 0.5 * waited, "{orphan} s against {waited} s");
}

#[test]
fn a_program_that_cannot_be_found_is_named() {
    let fault = fault_of_node_0(&argv(&["no-such-program-anywhere"]), 5.0);
    assert_eq!(fault.kind, FaultKind::Environment);
    assert!(
        fault.message.contains("`no-such-program-anywhere`") && fault.message.contains("PATH"),
        "{fault}"
    );
    let fault = fault_of_node_0(&argv(&["./no/such/file"]), 5.0);
    assert!(fault.message.contains("`./no/such/file` cannot be found"), "{fault}");
}

#[test]
fn a_file_that_is_no_program_is_refused() {
    let directory = scratch();
    let path = directory.path().join("job");
    let job = path.to_str().expect("is text");
    fs::write(&path, "just text").expect("writes");
    let fault = fault_of_node_0(&argv(&[job]), 5.0);
    assert!(fault.message.contains("may not be executed"), "{fault}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("sets");
    let fault = fault_of_node_0(&argv(&[job]), 5.0);
    assert!(fault.remedy.is_some_and(|r| r.contains("#!/bin/sh")), "no remedy");
}

#[test]
fn an_exit_code_quotes_the_last_that_was_said() {
    let fault = fault_of_node_0(&shell("echo out; echo 'no such input' >&2; exit 3"), 5.0);
    assert_eq!(fault.kind, FaultKind::Attempt);
    assert!(fault.message.contains("exit code 3") && fault.message.contains("no such input"), "{fault}");
    assert_eq!(fault.node(), Some(0));
}

#[test]
fn a_signal_is_named() {
    let fault = fault_of_node_0(&shell("kill -SEGV $$"), 5.0);
    assert!(fault.message.contains("SIGSEGV"), "{fault}");
}

#[test]
fn a_program_that_hangs_is_killed_with_its_grandchildren() {
    let directory = scratch();
    let path = directory.path().display();
    let script = format!("echo busy >&2; trap '' TERM; sh -c 'echo $$ > {path}/grandchild; exec sleep 64'");
    let begin = Instant::now();
    let fault = fault_of_node_0(&shell(&script), 0.5);
    assert!(fault.message.contains("not finished after") && fault.message.contains("busy"), "{fault}");
    assert!(begin.elapsed() < Duration::from_secs(5), "took {:?}", begin.elapsed());
    assert!(has_gone(&directory.path().join("grandchild")), "the grandchild is still there");
}

#[test]
fn a_node_that_fails_ends_the_attempt_and_is_named() {
    let script = "if [ $CROSSTALK_NODE = 1 ]; then echo lost >&2; exit 9; fi; sleep 60";
    let begin = Instant::now();
    let outcomes = play(&shell(script), 3, 30.0);
    assert!(begin.elapsed() < Duration::from_secs(5), "took {:?}", begin.elapsed());
    let fault = outcomes[0].as_ref().expect_err("cannot go on");
    assert!(fault.message.contains("exit code 9") && fault.message.contains("lost"), "{fault}");
    assert_eq!(fault.node(), Some(1));
    assert!(outcomes[2].is_err(), "node 2 was given up");
}

#[test]
fn a_node_that_does_not_come_is_named() {
    let params = shell("true");
    let alone = Command.prepare(&scene::part("command", &params, 0, 2, 0.3)).expect("prepares");
    let endpoints = [alone.endpoint(), None];
    let fault = alone
        .run(&endpoints, &mut Vec::<Reading>::new(), &AtomicBool::new(false))
        .expect_err("node 1 does not come");
    assert_eq!(fault.node(), Some(1), "{fault}");
}

#[test]
fn cancelled_it_ends_soon() {
    let (outcomes, took) = scene::cancelled(&Command, &shell("sleep 60"), Duration::from_millis(300));
    assert!(took < Duration::from_secs(3), "took {took:?}");
    assert!(outcomes.iter().all(|o| o.as_ref().is_err_and(|f| f.kind == FaultKind::Interrupted)));
}

#[test]
fn what_it_wrote_is_kept_where_that_is_asked_for() {
    let directory = scratch();
    let log = directory.path().join("log");
    let params =
        shell("echo to $CROSSTALK_NODE; echo err >&2; sleep 0.2").with("log", log.to_str().expect("is text"));
    scene::finished(play(&params, 2, 20.0));
    let read = |name: &str| fs::read_to_string(log.join(name)).expect("is kept");
    assert_eq!((read("node-0.out").trim(), read("node-0.err").trim()), ("to 0", "err"));
    assert_eq!(read("node-1.out").trim(), "to 1");
}

/// The program tells a rate.
fn telling(script: &str) -> Params {
    shell(script)
        .with("metric", "requests")
        .with("unit", "/s")
        .with("better", "higher")
        .with("pattern", "([0-9.]+) requests/s")
}

#[test]
fn a_metric_of_the_program_s_own_is_read_from_what_node_0_writes_last() {
    let script =
        "if [ $CROSSTALK_NODE = 0 ]; then echo '7 requests/s'; echo '12.5 requests/s'; fi; sleep 0.1";
    let readings = scene::finished(play(&telling(script), 2, 20.0));
    assert_eq!(scene::value(&readings, "requests"), 12.5);
    assert!(scene::value(&readings, "run_time") > 0.0, "beside the run time");
    let metrics = Command.deploy(&telling("true")).expect("deploys").metrics;
    assert_eq!((metrics[0].name.as_str(), metrics[1].name.as_str()), ("requests", "run_time"));
}

#[test]
fn a_program_that_does_not_tell_its_metric_fails_the_attempt() {
    let fault = fault_of_node_0(&telling("echo none"), 5.0);
    assert_eq!(fault.kind, FaultKind::Attempt);
    assert!(fault.message.contains("metric `requests` is not in") && fault.remedy.is_some(), "{fault}");
    let fault = fault_of_node_0(&telling("exit 3"), 5.0);
    assert!(fault.message.contains("exit code 3"), "how it ended comes first: {fault}");
}

#[test]
fn a_flood_of_output_neither_blocks_nor_stays() {
    let readings =
        scene::finished(play(&shell("head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2"), 1, 20.0));
    assert!(scene::value(&readings, "run_time") < 15.0);
}

#[test]
fn it_asks_for_as_many_nodes_as_it_is_given_and_for_a_program() {
    assert_eq!(Command.deploy(&shell("true").with("nodes", 3)).expect("deploys").nodes, 3);
    assert_eq!(Command.deploy(&Params::default()).expect_err("no program").kind, FaultKind::Usage);
    assert!(Command.deploy(&shell("true").with("nodes", 0)).is_err());
}
