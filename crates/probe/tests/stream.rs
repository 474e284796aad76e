//! The bandwidth probe against LogGOPS's closed form.

#[path = "../../work/tests/cluster/mod.rs"]
mod cluster;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

use cluster::{emulation, play};
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_probe::collective::COLLECTIVE;
use crosstalk_probe::stream::STREAM;
use scene::value;

/// The relative error of the bandwidth of messages of `size` bytes, against one
/// every `max(o + (s − 1) · O, g + (s − 1) · G)`.
fn error(size: i64, overhead: f64, overhead_per_byte: f64) -> f64 {
    let mut cluster = emulation(2);
    cluster.across.costs.overhead = Seconds(overhead);
    cluster.across.costs.overhead_per_byte = Seconds(overhead_per_byte);
    let costs = cluster.across.costs;
    let bytes = (size - 1) as f64;
    let cpu = costs.overhead.0 + bytes * costs.overhead_per_byte.0;
    let nic = costs.gap.0 + bytes * costs.gap_per_byte.0;
    let expected = size as f64 * 8.0 / cpu.max(nic);

    let params = Params::default().with("size", size);
    let part = scene::part("stream", &params, 0, 2, 60.0);
    let computed =
        STREAM.on_clusters(&part, std::slice::from_ref(&cluster)).expect("computes").expect("is known");
    let readings = play(&STREAM, &params, 2, Some(cluster)).expect("runs");
    let off = |readings: &[Reading]| (value(readings, "bandwidth") / expected - 1.0).abs();
    assert!(off(&computed[0]) < 1e-12, "on other clusters it is computed");
    off(&readings)
}

#[test]
fn bandwidth_is_as_the_closed_form_says_at_every_size() {
    for size in [1, 64, 128, 1024, 4096, 65_536, 1 << 20] {
        // Limited by the NIC; then by the CPU's overhead of a message, and of a byte.
        for (overhead, overhead_per_byte) in [(5e-7, 0.0), (2e-6, 0.0), (5e-7, 2e-8)] {
            let error = error(size, overhead, overhead_per_byte);
            assert!(error < 0.01, "{size} B, o = {overhead}, O = {overhead_per_byte}: off by {error}");
        }
    }
}

#[test]
fn its_numbers_follow_from_the_cluster_alone() {
    assert!(STREAM.is_computed(&Params::default()));
    for (function, computed) in [("alltoall", true), ("pingpong", true), ("allreduce", false)] {
        let params = Params::default().with("function", function).with("nodes", 4);
        assert_eq!(COLLECTIVE.is_computed(&params), computed, "{function}");
    }
    let unknown = Params::default().with("function", "alltonone");
    assert!(!COLLECTIVE.is_computed(&unknown), "`deploy` refuses it");
}

#[test]
fn it_refuses_a_real_network() {
    let fault = play(&STREAM, &Params::default(), 2, None).expect_err("refused");
    assert_eq!(fault.remedy.as_deref(), Some("use the workload `bandwidth`"));
}
