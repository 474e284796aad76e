//! The load probe with a server on this host.

use crosstalk_core::FaultKind;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::load::{LOAD, Spec, measure};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod local;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

fn on_this_host(params: &Params) -> Vec<Reading> {
    let spec = Spec::from_params(params).expect("reads");
    let readings = local::on_this_host(|target, until| measure(target, &spec, until)).expect("measures");
    readings.into_iter().map(|(reading, _)| reading).collect()
}

fn value(readings: &[Reading], metric: &str, offered: f64) -> Option<f64> {
    let offered = offered.to_string();
    let mut of = readings.iter().filter(|r| r.metric == metric);
    of.find(|r| r.labels.get("offered") == Some(&offered))?.number()
}

#[test]
fn every_rate_is_offered_and_answered() {
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
            let achieved = value(&readings, "achieved", rate).expect("is reported");
            // Never more than was due; on a busy machine fewer.
            assert!(achieved > 0.0 && achieved < 1.01 * rate, "{transport}: {achieved} of {rate} a second");
            let count = |metric| value(&readings, metric, rate).expect("is reported");
            assert_eq!(count("sent") + count("not_sent"), 0.3 * rate, "{transport}");
            let lost = 1.0 - count("received") / count("sent");
            assert!((count("lost") - lost).abs() < 1e-9, "{transport}: {lost}");
        }
        assert!(value(&readings, "latency_p99", 500.0).is_none(), "150 messages have no p99");
        assert!(value(&readings, "latency_p50", 500.0).is_some_and(|p50| p50 > 0.0));
    }
}

#[test]
fn shares_of_the_saturation_are_offered() {
    let params = Params::default().with("transport", "unix").with("duration", "200 ms");
    let readings = on_this_host(&params);
    let saturation = readings.iter().find(|r| r.metric == "saturation").and_then(Reading::number);
    let saturation = saturation.expect("is reported");
    assert!(saturation > 0.0, "{saturation} a second");
    // A test with a mock server has more than can be answered: on a busy machine the saturation that is
    // found may be too low.
    for share in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1] {
        let offered = (share * saturation).round().to_string();
        let latency = readings.iter().find(|r| r.metric == "latency" && r.labels["offered"] == offered);
        match latency.map(|r| &r.observation) {
            Some(Observation::Histogram(h)) => assert!(h.count() > 0, "{share} of {saturation}"),
            other => panic!("{share} of {saturation}: {other:?}"),
        }
    }
}

#[test]
fn every_metric_is_declared_and_a_measurement_can_be_cancelled() {
    let params = Params::default().with("rate", 1000).with("duration", "100 ms");
    let readings = scene::finished(scene::play(&LOAD, &params, 2, 20.0, &AtomicBool::new(false)));
    let declared = LOAD.deploy(&params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "an undeclared metric");
    let long = Params::default().with("rate", 1000).with("duration", "1 min");
    let (outcomes, _) = scene::cancelled(&LOAD, &long, Duration::from_millis(200));
    let fault = outcomes[0].as_ref().expect_err("is cancelled");
    assert_eq!(fault.kind, FaultKind::Interrupted);
}
