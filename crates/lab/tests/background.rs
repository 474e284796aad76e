//! Background and foreground work in one scene: one workload runs until it is stopped, one ends by itself.

mod common;

use common::TestRun;
use crosstalk_core::record::{Line, Observation, Status};

fn scene(background: &str, foreground: &str) -> TestRun {
    scene_with("", background, foreground)
}

/// The same with a condition.
fn scene_with(condition: &str, background: &str, foreground: &str) -> TestRun {
    TestRun::new(&format!(
        r#"
        schema = "crosstalk.study/1"
        title = "Foreground and background work"
        looks = [2]
        [experiment.e]
        {condition}
        work.foreground = {{ kind = "scripted", nodes = 1, does = "$foreground" }}
        work.background = {{ kind = "neighbour", does = "$background", start = "steady before foreground" }}
        factors = {{ foreground = ["{foreground}"], background = ["{background}"] }}
        "#
    ))
}

/// Metric and value of every sample, in the journal's order.
fn samples(run: &TestRun) -> Vec<(String, f64)> {
    let values = run.journal().into_iter().filter_map(|line| match line {
        Line::Sample { reading, .. } => match reading.observation {
            Observation::Value(value) => Some((reading.metric, value)),
            _ => None,
        },
        _ => None,
    });
    values.collect()
}

fn reasons(run: &TestRun) -> Vec<String> {
    let ended = run.journal().into_iter().filter_map(|line| match line {
        Line::Attempt { status: Status::Failed, reason, .. } => reason,
        _ => None,
    });
    ended.collect()
}

#[test]
fn background_work_runs_before_and_after_foreground_work_and_reports_its_cpu_time() {
    let run = scene("well", "count");
    assert_eq!(run.run(0).expect("runs").status, Status::Finished);
    let attempt = [("run_time".to_string(), 1.0), ("background_cpu".to_string(), 7.0)];
    assert_eq!(samples(&run), [attempt.clone(), attempt].concat());
    assert_eq!(reasons(&run), [""; 0]);
}

#[test]
fn a_fault_of_background_work_is_the_attempt_s() {
    for (does, says) in
        [("fail", "not welcome"), ("leave", "before it was steady"), ("never steady", "not finished after")]
    {
        let run = scene(does, "count");
        // The run may fail too, as nothing could be measured.
        let _ = run.run(0);
        let reasons = reasons(&run);
        assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains(says)), "{does}: {reasons:?}");
    }
}

#[test]
fn background_work_that_ignores_the_cancellation_costs_one_attempt_only() {
    let run = scene("ignore once", "count");
    assert_eq!(run.run(0).expect("runs").status, Status::Finished);
    let reasons = reasons(&run);
    assert!(reasons.len() == 1 && reasons[0].contains("not finished after"), "{reasons:?}");
}

#[test]
fn a_fault_of_foreground_work_ends_background_work_too() {
    let run = scene("well", "fail");
    let _ = run.run(0);
    let reasons = reasons(&run);
    assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains("on fire")), "{reasons:?}");
    // It was cancelled, and its agent could be used again in the second block.
    assert!(reasons.len() >= 2, "{reasons:?}");
}

#[test]
fn a_condition_is_applied_before_background_work_and_undone_after_it_and_begins_once_it_is_steady() {
    let run = scene_with("conditions.logged = \"holds\"", "well", "count");
    assert_eq!(run.run(0).expect("runs").status, Status::Finished);
    assert_eq!(reasons(&run), [""; 0]);
    // In each of two attempts. When the condition ends, background work may or may not have ended already.
    let log = run.log.lock().expect("not poisoned");
    assert_eq!(log.len(), 8, "{log:?}");
    for attempt in log.chunks(4) {
        assert_eq!(
            [&attempt[0], &attempt[1], &attempt[3]],
            ["applied with 0", "begun with 1", "undone with 0"]
        );
        assert!(attempt[2].starts_with("ended with "), "{log:?}");
    }
}

#[test]
fn an_attempt_whose_condition_did_not_hold_has_failed() {
    let run = scene_with("conditions.logged = \"fails\"", "well", "count");
    let _ = run.run(0);
    let reasons = reasons(&run);
    assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains("did not hold")), "{reasons:?}");
    let log = run.log.lock().expect("not poisoned");
    assert_eq!(log.iter().filter(|entry| entry.starts_with("undone")).count(), reasons.len(), "{log:?}");
}
