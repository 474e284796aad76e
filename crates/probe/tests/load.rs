//! The load probe between two ends on this host.

use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::load::{LOAD, Spec, measure};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod ends;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

fn on_this_host(params: &Params) -> Vec<Reading> {
    let spec = Spec::from_params(params).expect("reads");
    let readings = ends::on_this_host(|target, until| measure(target, &spec, until)).expect("measures");
    readings.into_iter().map(|(reading, _)| reading).collect()
}

fn value(readings: &[Reading], metric: &str, offered: f64) -> Option<f64> {
    let offered = offered.to_string();
    let mut of = readings.iter().filter(|r| r.metric == metric);
    of.find(|r| r.labels.get("offered") == Some(&offered))?.number()
}

#[test]
fn a_rate_that_is_asked_for_is_offered_and_answered() {
    for transport in ["tcp", "io-uring", "udp", "unix", "pipe", "shared"] {
        let needs = LOAD.needs(&Params::default().with("transport", transport));
        if let Some(missing) = needs.iter().find(|need| !need.is_found()) {
            eprintln!("skipped: {missing:?}");
            continue;
        }
        let rates = Value::List(vec![500.into(), 1000.into()]);
        let params =
            Params::default().with("transport", transport).with("rate", rates).with("duration", "300 ms");
        let readings = on_this_host(&params);
        for rate in [500.0, 1000.0] {
            let achieved = value(&readings, "achieved", rate).expect("is told");
            // Never more than was due; on a busy machine fewer.
            assert!((0.5..1.01).contains(&(achieved / rate)), "{transport}: {achieved} of {rate} a second");
            assert!(value(&readings, "lost", rate).expect("is told") < 0.5, "{transport}");
        }
        assert!(value(&readings, "latency_p99", 500.0).is_none(), "150 messages have no p99");
        assert!(value(&readings, "latency_p50", 500.0).is_some_and(|p50| p50 > 0.0));
    }
}

#[test]
fn where_it_saturates_is_found_and_shares_of_it_are_offered() {
    let params = Params::default().with("transport", "unix").with("duration", "200 ms");
    let readings = on_this_host(&params);
    let found = readings.iter().find(|r| r.metric == "saturation").and_then(Reading::number);
    let found = found.expect("is told");
    assert!(found > 0.0, "{found} a second");
    // That messages wait where more is offered than can be done is tested with a service of
    // known speed: on a busy machine what was found may be too little.
    for share in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1] {
        let offered = (share * found).round().to_string();
        let latency = readings.iter().find(|r| r.metric == "latency" && r.labels["offered"] == offered);
        match latency.map(|r| &r.observation) {
            Some(Observation::Histogram(h)) => assert!(h.count() > 0, "{share} of {found}"),
            other => panic!("{share} of {found}: {other:?}"),
        }
    }
}

#[test]
fn what_is_told_is_declared_and_it_can_be_cancelled() {
    let params = Params::default().with("rate", 1000).with("duration", "100 ms");
    let readings = scene::finished(scene::play(&LOAD, &params, 2, 20.0, &AtomicBool::new(false)));
    let declared = LOAD.deploy(&params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "an undeclared metric");
    let long = Params::default().with("rate", 1000).with("duration", "1 min");
    let (_, took) = scene::cancelled(&LOAD, &long, Duration::from_millis(200));
    assert!(took < Duration::from_secs(2), "took {took:?}");
}
