//! Every test of the workload, in real and in virtual time.

use crate::common::{SLOW, attempt, emulation, params};

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
            let time = |outcome: &crate::common::Outcome| outcome.value("completion_time");
            assert!(time(&one) > 0.0);
            assert_eq!(time(&one), time(&other), "{test} on {nodes} × {each}: the time is computed");
        }
    }
}
