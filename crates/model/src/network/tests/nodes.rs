//! What a node's numbers do to computing and to its disk.

use super::*;
use crate::Access;
use crosstalk_core::system::Disk;

/// One rank that does each kind of work once: 1 ms of CPU time of the host, and 1 MB to the disk.
fn clock(node: impl Fn(&mut NodeKind)) -> TimeBreakdown {
    let mut emulation = cluster(1);
    emulation.node.disk = Some(Disk { rate: BitRate(8e8), latency: Seconds(0.01) });
    node(&mut emulation.node);
    let compute = |used| Operation::Compute { used, nanos: 1_000_000 };
    let program = [TimeUse::Compute, TimeUse::Parallel, TimeUse::Serialise].map(compute);
    let spill = Operation::Spill { access: Access::Seek, bytes: 1_000_000 };
    Script::new(vec![program.into_iter().chain([spill]).collect()]).run(&emulation).expect("runs")[0]
}

fn seconds(time: VirtualTime) -> f64 {
    time.seconds().0
}

#[test]
fn only_work_on_all_cores_depends_on_their_number_and_scaling() {
    for (cores, scaling, parallel) in
        [(1, 1.0, 1.0), (4, 1.0, 0.25), (8, 1.0, 0.125), (8, 0.5, 0.25), (2, 0.25, 1.0)]
    {
        let clock = clock(|node| (node.cores, node.scaling) = (cores, scaling));
        assert!(
            (seconds(clock.compute) - (1.0 + parallel) * 1e-3).abs() < 1e-9,
            "{cores} {scaling} {clock:?}"
        );
        assert!((seconds(clock.serialise) - 1e-3).abs() < 1e-9, "on one core: {clock:?}");
    }
}

#[test]
fn a_disk_takes_its_latency_and_the_bytes_over_its_rate() {
    let spill = |rate, latency| {
        seconds(clock(|node| node.disk = Some(Disk { rate: BitRate(rate), latency: Seconds(latency) })).spill)
    };
    assert!((spill(8e8, 0.01) - 0.02).abs() < 1e-9);
    assert!((spill(4e8, 0.01) - 0.03).abs() < 1e-9);
    assert!((spill(8e8, 0.005) - 0.015).abs() < 1e-9);
}
