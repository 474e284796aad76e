//! Where the time of a program goes.

use super::{play_alone, scene, scratch, shell, wait_for};

#[test]
fn sleeping_is_waiting_and_spinning_is_computing() {
    let asleep = scene::finished(play_alone(&shell("sleep 0.5"), 20.0));
    let of = |metric| scene::value(&asleep, metric);
    assert!(of("run_time") >= 0.5, "{} s", of("run_time"));
    assert!(of("time_wait") > 0.9 * 0.5 && of("time_compute") < of("time_wait"), "{asleep:?}");

    let busy = scene::finished(play_alone(&shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"), 20.0));
    let (wall, compute) = (scene::value(&busy, "run_time"), scene::value(&busy, "time_compute"));
    let queue = scene::value(&busy, "time_queue");
    assert!(compute + queue > 0.7 * wall, "{compute} s computing, {queue} s queueing of {wall} s");
}

/// The parts of the run time, and the CPU time in parallel to them, where the parts add up to the run time.
fn split(script: &str) -> [f64; 4] {
    let readings = scene::finished(play_alone(&shell(script), 30.0));
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
    // Long enough for a hundred samples beside the few moments at which one process starts another, when
    // both may be ready to run, each for as long as a busy machine makes it wait.
    let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let [compute, _, wait, parallel] = split(&format!("sleep 0.3; sh -c '{spin}'; {spin}; sh -c '{spin}'"));
    assert!(wait > 0.29, "{wait} s");
    assert!(parallel < 0.2 * compute, "{parallel} s in parallel to {compute} s");
}

#[test]
fn parallel_cpu_time_is_not_part_of_the_run_time_and_hides_no_waiting() {
    let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let [compute, _, wait, parallel] = split(&format!("({spin})& ({spin})& ({spin})& wait; sleep 1"));
    // How many were busy at once is a sample, and so is the time in which any was.
    assert!(wait > 0.5, "the sleep is waiting: {wait} s");
    // Three of the same: two thirds run in parallel, less where one ends before the others.
    assert!(parallel > compute && parallel < 2.5 * compute, "{parallel} s in parallel to {compute} s");
}

#[test]
fn the_cpu_time_of_an_orphan_counts() {
    let folder = scratch();
    let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let direct = scene::finished(play_alone(&shell(spin), 20.0));
    let done = folder.path().join("done");
    let wait = wait_for(folder.path(), &["done"]);
    let script = format!("(setsid sh -c '{spin}; echo > {}; sleep 3600' &); {wait}", done.display());
    let orphan = scene::finished(play_alone(&shell(&script), 60.0));
    let (direct, orphan) = (scene::value(&direct, "time_compute"), scene::value(&orphan, "time_compute"));
    assert!(orphan > 0.5 * direct, "{orphan} s against {direct} s");
}
