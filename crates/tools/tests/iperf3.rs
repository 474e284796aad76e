//! The real iperf3 between two nodes of this host.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::FaultKind;
use crosstalk_core::need::Need;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_tools::iperf3::IPERF3;

#[path = "../../work/tests/scene/mod.rs"]
mod scene;

/// Whether this machine has iperf3; prints that a test is skipped if not.
fn has_iperf3() -> bool {
    let unmet = IPERF3.needs(&Params::default()).into_iter().find_map(Need::unmet);
    if let Some(need) = &unmet {
        eprintln!("skipped: iperf3 is missing: {}", need.remedy.as_deref().unwrap_or_default());
    }
    unmet.is_none()
}

fn measured(params: &Params) -> Vec<Reading> {
    let readings = scene::finished(scene::play(&IPERF3, params, 2, 30.0, &AtomicBool::new(false)));
    let declared = IPERF3.deploy(params).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|m| m.name == r.metric)), "{readings:?}");
    readings
}

#[test]
fn tcp_has_bandwidth_retransmissions_and_congestion_control() {
    if !has_iperf3() {
        return;
    }
    for reverse in [false, true] {
        let params = Params::default().with("duration", "1 s").with("congestion", "reno").with("streams", 2);
        let readings = measured(&params.with("reverse", reverse));
        assert!(scene::value(&readings, "bandwidth") > 0.0 && scene::value(&readings, "offered") > 0.0);
        assert!(scene::value(&readings, "retransmitted") >= 0.0);
        for metric in ["bandwidth", "retransmitted"] {
            let reading = readings.iter().find(|reading| reading.metric == metric).expect("is there");
            assert_eq!(reading.labels["congestion"], "reno", "{reading:?}");
            assert_eq!(reading.labels["streams"], "2");
        }
    }
}

#[test]
fn udp_has_datagrams() {
    if !has_iperf3() {
        return;
    }
    let params = Params::default().with("transport", "udp").with("size", "1400 B").with("rate", "10 Mbit/s");
    let readings = measured(&params.with("duration", "1 s"));
    let (offered, lost) = (scene::value(&readings, "offered"), scene::value(&readings, "lost"));
    assert!(offered > 0.0 && offered < 10e6 * 1.2, "{offered} bit/s");
    assert!((0.0..=1.0).contains(&lost) && scene::value(&readings, "sent") > 0.0, "{lost}");
}

#[test]
fn what_iperf3_refuses_is_its_own_error() {
    if !has_iperf3() {
        return;
    }
    let params = Params::default().with("duration", "1 s").with("congestion", "no-such-control");
    let outcomes = scene::play(&IPERF3, &params, 2, 30.0, &AtomicBool::new(false));
    let fault = outcomes[0].as_ref().expect_err("the kernel lacks it");
    assert!(
        fault.message.starts_with("iperf3 failed: ") && fault.message.contains("TCP_CONGESTION"),
        "{fault}"
    );
}

#[test]
fn a_cancelled_run_is_interrupted_and_leaves_no_server() {
    if !has_iperf3() {
        return;
    }
    let params = Params::default().with("duration", "60 s");
    let (outcomes, took) = scene::cancelled(&IPERF3, &params, Duration::from_millis(700));
    assert!(took < Duration::from_secs(20), "{took:?}");
    let [client, server] = &outcomes[..] else { panic!("two nodes: {outcomes:?}") };
    assert_eq!(client.as_ref().expect_err("is cancelled").kind, FaultKind::Interrupted);
    // The server ends by itself where its client went first.
    assert!(
        server.as_ref().is_ok_and(Vec::is_empty)
            || server.as_ref().is_err_and(|f| f.kind == FaultKind::Interrupted)
    );
}

#[test]
fn another_number_of_nodes_is_refused() {
    if !has_iperf3() {
        return;
    }
    let fault = scene::play(&IPERF3, &Params::default(), 3, 5.0, &AtomicBool::new(false));
    assert_eq!(fault[0].as_ref().expect_err("is refused").kind, FaultKind::Usage);
}
