//! Every test of the workload, in real and in virtual time.

use crate::common::{Outcome, SLOW, attempt, emulation, params};
use crosstalk_core::record::Origin;

const TESTS: [&str; 7] = ["create", "stat", "list", "rename", "remove", "write", "read"];

#[test]
fn every_test_runs_and_checks_over_tcp_in_real_time() {
    for test in TESTS {
        for (layout, access) in [("shared", "sequential"), ("file-per-process", "random")] {
            let params = params(&[
                ("test", test),
                ("files", "7"),
                ("servers", "2"),
                ("layout", layout),
                ("access", access),
                ("block", "300 KiB"),
                ("transfer", "100 KiB"),
            ]);
            let outcome = attempt(&params, 4, None, 1);
            assert!(outcome.value("completion_time") > 0.0, "{test}");
        }
    }
}

#[test]
fn every_test_runs_and_checks_in_virtual_time() {
    for test in TESTS {
        for (nodes, each, servers) in [(2, 1, "1"), (4, 1, "2"), (2, 2, "2"), (3, 2, "1")] {
            let emulation = emulation(nodes, each, SLOW, None);
            let params = params(&[
                ("test", test),
                ("files", "5"),
                ("servers", servers),
                ("block", "300 KiB"),
                ("transfer", "100 KiB"),
            ]);
            let [one, other] = [1, 2].map(|seed| attempt(&params, nodes, Some(&emulation), seed));
            let time = |outcome: &Outcome| outcome.value("completion_time");
            assert!(time(&one) > 0.0);
            assert_eq!(time(&one), time(&other), "{test} on {nodes} × {each}: the time is computed");
        }
    }
}

#[test]
fn computing_counts_where_it_is_asked_for_and_is_labelled() {
    let emulation = emulation(2, 1, SLOW, None);
    let of = |on: Option<_>, computing| {
        let outcome = attempt(&params(&[("test", "read"), ("computing", computing)]), 2, on, 1);
        let time = outcome.value("completion_time");
        (time, outcome.value("time_compute"), outcome.readings[0].origin)
    };
    let (network, none, origin) = of(Some(&emulation), "false");
    assert_eq!((none, origin), (0.0, Origin::Computed));
    let (both, _, origin) = of(Some(&emulation), "true");
    assert!(both > network, "{both} s, of which messages take {network}");
    assert_eq!(origin, Origin::Emulated);
    assert_eq!(of(None, "false").2, Origin::Measured);
}

#[test]
fn every_rank_says_where_its_time_went() {
    let emulation = emulation(2, 2, SLOW, None);
    let outcome = attempt(&params(&[("servers", "2")]), 2, Some(&emulation), 1);
    let time = outcome.value("completion_time");
    let of = |rank: &str| -> f64 {
        let parts = outcome
            .readings
            .iter()
            .filter(|reading| reading.labels.get("node").is_some_and(|node| node == rank));
        parts.map(Outcome::number).sum()
    };
    // Ranks 0 and 2 are the clients.
    let slowest = f64::max(of("0"), of("2"));
    assert!((slowest / time - 1.0).abs() < 1e-9, "{slowest} of {time}");
    assert!(of("1") > 0.0 && of("3") > 0.0);
}
