//! What the emulated nodes have no memory for is refused by every workload of this room.

use crate::common::emulation;
use crosstalk_core::message::Part;
use crosstalk_core::units::Seconds;
use crosstalk_core::value::Params;
use crosstalk_kernels::workloads;
use std::net::{IpAddr, Ipv4Addr};

/// The first node's part of a workload on so many nodes of 1 GiB.
fn part(workload: &str, params: &Params, nodes: usize) -> Part {
    Part {
        workload: workload.into(),
        params: params.clone(),
        node: 0,
        nodes,
        addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST); nodes],
        emulation: Some(emulation(nodes)),
        deadline: Seconds(60.0),
        shared: None,
        keep_schedule: false,
        scratch: std::env::temp_dir(),
        artifacts: None,
        seed: 1,
    }
}

#[test]
fn work_beyond_the_memory_of_all_emulated_nodes_is_refused() {
    for workload in workloads() {
        // 1.5 GiB and 1.1 GiB: too much for one node, and not for two.
        let params = match workload.name() {
            "npb" => Params::default().with("kernel", "ft").with("class", "B"),
            "hpl" => Params::default().with("n", 12_000),
            other => panic!("`{other}`: add work of 1 to 2 GiB"),
        };
        let prepared = |nodes| workload.prepare(&part(workload.name(), &params, nodes));
        let refused = prepared(1).err().expect("is refused").to_string();
        assert!(refused.contains("the emulated cluster has 1 GiB"), "{refused}");
        if let Some(refused) = prepared(2).err() {
            assert!(refused.to_string().contains("this machine has"), "{refused}");
        }
    }
}
