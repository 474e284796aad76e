//! A scene of one workload on nodes of this host, as the runner composes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::{Prepared, Workload};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;

/// One node's part.
pub fn part(workload: &str, params: &Params, node: usize, nodes: usize, deadline: f64) -> Part {
    Part {
        workload: workload.to_string(),
        params: params.clone(),
        node,
        nodes,
        addresses: vec![[127, 0, 0, 1].into(); nodes],
        emulation: None,
        deadline: Seconds(deadline),
        shared: None,
        keep_schedule: false,
        scratch: std::env::temp_dir(),
        artifacts: None,
        seed: 1,
    }
}

/// What each node reported, by number.
pub fn play(
    workload: &dyn Workload,
    params: &Params,
    nodes: usize,
    deadline: f64,
    cancelled: &AtomicBool,
) -> Vec<Result<Vec<Reading>, Fault>> {
    let parts = (0..nodes).map(|node| part(workload.name(), params, node, nodes, deadline));
    play_parts(workload, parts, cancelled)
}

/// The same, of these parts.
pub fn play_parts(
    workload: &dyn Workload,
    parts: impl Iterator<Item = Part>,
    cancelled: &AtomicBool,
) -> Vec<Result<Vec<Reading>, Fault>> {
    let prepared: Result<Vec<Box<dyn Prepared>>, Fault> = parts.map(|part| workload.prepare(&part)).collect();
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(fault) => return vec![Err(fault)],
    };
    let endpoints: Vec<_> = prepared.iter().map(|p| p.endpoint()).collect();
    thread::scope(|scope| {
        let running: Vec<_> = prepared
            .into_iter()
            .map(|prepared| {
                scope.spawn(|| {
                    let mut readings = Vec::new();
                    prepared.run(&endpoints, &mut readings, cancelled).map(|_| readings)
                })
            })
            .collect();
        running.into_iter().map(|r| r.join().expect("a node does not panic")).collect()
    })
}

/// What each node reported of a scene that is cancelled `after` it began, and
/// how long the scene took in all.
#[allow(dead_code, reason = "not every test file asks for it")]
pub fn cancelled(
    workload: &dyn Workload,
    params: &Params,
    after: Duration,
) -> (Vec<Result<Vec<Reading>, Fault>>, Duration) {
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(after);
            flag.store(true, Ordering::Relaxed);
        });
        let begin = Instant::now();
        (play(workload, params, 2, 90.0, &flag), begin.elapsed())
    })
}

/// The readings of the node that is asked for, where all went well.
#[allow(dead_code, reason = "not every test file asks for it")]
pub fn finished(outcomes: Vec<Result<Vec<Reading>, Fault>>) -> Vec<Reading> {
    outcomes.into_iter().flat_map(|outcome| outcome.expect("the node finishes")).collect()
}

/// The named metric's only value.
#[allow(dead_code, reason = "not every test file asks for it")]
pub fn value(readings: &[Reading], metric: &str) -> f64 {
    let mut found = readings.iter().filter(|reading| reading.metric == metric);
    match (found.next(), found.next()) {
        (Some(Reading { observation: Observation::Value(value), .. }), None) => *value,
        other => panic!("expected one value of {metric}, found {other:?}"),
    }
}
