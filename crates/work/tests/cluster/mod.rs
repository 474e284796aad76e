//! A cluster for tests: every node a thread, all on loopback.

use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::message::Part;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::system::{Disk, NodeKind};
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::scene;

/// Gigabit Ethernet between `nodes` nodes of four cores.
pub fn emulation(nodes: usize) -> Emulation {
    let costs = Costs {
        latency: Seconds(5e-6),
        overhead: Seconds(2e-6),
        gap: Seconds(1e-6),
        gap_per_byte: Seconds(8e-9),
        overhead_per_byte: Seconds(0.0),
    };
    let fabric = Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(1e9),
        costs,
        step: Vec::new(),
        node_speed: None,
        source: BTreeMap::new(),
        caveats: Vec::new(),
    };
    let node = NodeKind {
        cpu: "Test".into(),
        cores: 4,
        clock: Hertz(1e9),
        speed: 1.0,
        scaling: 1.0,
        memory: Bytes(1 << 30),
        disk: Some(Disk { rate: BitRate(8e8), latency: Seconds(0.01) }),
    };
    Emulation {
        system: "test".into(),
        node,
        board: (0..nodes as u32).collect(),
        within: fabric.clone(),
        across: fabric,
        uplink: None,
        ranks_per_node: 1,
        memory: None,
        mpi: None,
    }
}

/// Plays all parts of a workload; returns all nodes' readings, or the fault of
/// the first node that has one.
pub fn play(
    workload: &dyn Workload,
    params: &Params,
    nodes: usize,
    emulation: Option<Emulation>,
) -> Result<Vec<Reading>, Fault> {
    let parts = (0..nodes).map(|node| Part {
        emulation: emulation.clone(),
        ..scene::part(workload.name(), params, node, nodes, 60.0)
    });
    let results = scene::play_parts(workload, parts, &AtomicBool::new(false));
    // Who was left alone says so; why it was is another's fault.
    let blame = |fault: &Fault| fault.kind == FaultKind::Gone;
    let mut faults: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    faults.sort_by_key(|fault| blame(fault));
    match faults.first() {
        Some(fault) => Err((*fault).clone()),
        None => Ok(results.into_iter().flatten().flatten().collect()),
    }
}
