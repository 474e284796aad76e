//! Two workloads in one scene: one that lasts beside one that ends.

mod common;

use common::Stage;
use crosstalk_core::record::{Line, Observation, Status};

fn scene(neighbour: &str, own: &str) -> Stage {
    under("", neighbour, own)
}

/// The same under a condition.
fn under(condition: &str, neighbour: &str, own: &str) -> Stage {
    Stage::new(&format!(
        r#"
        schema = "crosstalk.study/1"
        title = "Own work beside external work"
        looks = [2]
        [experiment.e]
        {condition}
        work.own = {{ kind = "actor", nodes = 1, does = "$own" }}
        work.external = {{ kind = "neighbour", does = "$neighbour", start = "steady before own" }}
        factors = {{ own = ["{own}"], neighbour = ["{neighbour}"] }}
        "#
    ))
}

/// Metric and value of every sample, in the journal's order.
fn samples(stage: &Stage) -> Vec<(String, f64)> {
    let values = stage.journal().into_iter().filter_map(|line| match line {
        Line::Sample { reading, .. } => match reading.observation {
            Observation::Value(value) => Some((reading.metric, value)),
            _ => None,
        },
        _ => None,
    });
    values.collect()
}

fn reasons(stage: &Stage) -> Vec<String> {
    let ended = stage.journal().into_iter().filter_map(|line| match line {
        Line::Attempt { status: Status::Failed, reason, .. } => reason,
        _ => None,
    });
    ended.collect()
}

#[test]
fn what_lasts_is_there_before_and_after_and_tells_what_it_did() {
    let stage = scene("well", "look");
    assert_eq!(stage.run(0).expect("runs").status, Status::Finished);
    let attempt = [("run_time".to_string(), 1.0), ("donated".to_string(), 7.0)];
    assert_eq!(samples(&stage), [attempt.clone(), attempt].concat());
    assert_eq!(reasons(&stage), [""; 0]);
}

#[test]
fn its_trouble_is_the_attempt_s() {
    for (does, says) in
        [("fail", "not welcome"), ("leave", "before it was steady"), ("restless", "not finished after")]
    {
        let stage = scene(does, "look");
        // That nothing could be measured is a fault of its own.
        let _ = stage.run(0);
        let reasons = reasons(&stage);
        assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains(says)), "{does}: {reasons:?}");
    }
}

#[test]
fn one_that_hears_nothing_costs_its_own_attempt_only() {
    let stage = scene("deaf once", "look");
    assert_eq!(stage.run(0).expect("runs").status, Status::Finished);
    let reasons = reasons(&stage);
    assert!(reasons.len() == 1 && reasons[0].contains("not finished after"), "{reasons:?}");
}

#[test]
fn trouble_beside_it_ends_it_too() {
    let stage = scene("well", "fail");
    let _ = stage.run(0);
    let reasons = reasons(&stage);
    assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains("on fire")), "{reasons:?}");
    // It was called off, and its agent can be used again: the second block came as far.
    assert!(reasons.len() >= 2, "{reasons:?}");
}

#[test]
fn a_condition_is_on_from_before_external_work_begins_until_it_has_ended_and_begins_once_it_is_steady() {
    let stage = under("conditions.watched = \"holds\"", "well", "look");
    assert_eq!(stage.run(0).expect("runs").status, Status::Finished);
    assert_eq!(reasons(&stage), [""; 0]);
    // On and off with nobody there, in each of two attempts; what may pause a neighbour is there once it is
    // steady. Whether it has left when that ends depends on who is faster.
    let told = stage.told.lock().expect("not poisoned");
    assert_eq!(told.len(), 8, "{told:?}");
    for attempt in told.chunks(4) {
        assert_eq!(
            [&attempt[0], &attempt[1], &attempt[3]],
            ["on beside 0", "begun beside 1", "off beside 0"]
        );
        assert!(attempt[2].starts_with("ended beside "), "{told:?}");
    }
}

#[test]
fn an_attempt_whose_condition_did_not_hold_has_failed() {
    let stage = under("conditions.watched = \"slips\"", "well", "look");
    let _ = stage.run(0);
    let reasons = reasons(&stage);
    assert!(!reasons.is_empty() && reasons.iter().all(|why| why.contains("has slipped")), "{reasons:?}");
    let told = stage.told.lock().expect("not poisoned");
    assert_eq!(told.iter().filter(|told| told.starts_with("off")).count(), reasons.len(), "{told:?}");
}
