//! Ranks as threads of the test process, over loopback: CPU time is a
//! thread's own, so that they behave as processes do.
#![allow(dead_code, reason = "every test file uses a part of these helpers")]

use crosstalk_comm::{Listener, Rank, bind};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::message::Part;
use crosstalk_core::system::NodeKind;
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_core::value::Params;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A fabric with costs in nanoseconds, per-byte costs in nanoseconds a byte.
pub fn fabric(latency: f64, overhead: f64, gap: f64, per_byte: f64, cpu_per_byte: f64) -> Fabric {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(8e9 / per_byte),
        costs: Costs {
            latency: nanos(latency),
            overhead: nanos(overhead),
            gap: nanos(gap),
            gap_per_byte: nanos(per_byte),
            overhead_per_byte: nanos(cpu_per_byte),
        },
        step: Vec::new(),
        source: Default::default(),
        caveats: Vec::new(),
    }
}

/// A system of `nodes` nodes like this host's, all on one board.
pub fn emulation(nodes: usize, fabric: &Fabric) -> Emulation {
    Emulation {
        system: "test".into(),
        node: NodeKind {
            cpu: "test".into(),
            cores: 1,
            clock: Hertz(1e9),
            speed: 1.0,
            memory: Bytes(1 << 30),
        },
        board: vec![0; nodes],
        within: fabric.clone(),
        across: fabric.clone(),
    }
}

pub fn part(node: usize, nodes: usize, emulation: Option<&Emulation>, deadline: f64) -> Part {
    static SEED: AtomicU64 = AtomicU64::new(1);
    Part {
        workload: "test".into(),
        params: Params::default(),
        node,
        nodes,
        addresses: vec![LOOPBACK; nodes],
        emulation: emulation.cloned(),
        deadline: Seconds(deadline),
        seed: SEED.fetch_add(u64::from(node == 0), Ordering::Relaxed),
    }
}

/// Parts and listeners of `nodes` ranks.
pub fn ranks(nodes: usize, emulation: Option<&Emulation>, deadline: f64) -> Vec<(Part, Listener)> {
    let first = part(0, nodes, emulation, deadline);
    (0..nodes)
        .map(|node| (Part { node, ..first.clone() }, bind(LOOPBACK).expect("loopback can be bound")))
        .collect()
}

static NEVER: AtomicBool = AtomicBool::new(false);

/// Runs `program` on every rank; its results by rank.
pub fn try_run<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    deadline: f64,
    program: impl Fn(Rank) -> Result<R, Fault> + Sync,
) -> Vec<Result<R, Fault>> {
    let ranks = ranks(nodes, emulation, deadline);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let (program, endpoints) = (&program, &endpoints);
    thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|(part, listener)| scope.spawn(move || program(listener.connect(&part, endpoints, &NEVER)?)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

/// Runs `program` on every rank, none of which may fail.
pub fn run<R: Send>(
    nodes: usize,
    emulation: Option<&Emulation>,
    program: impl Fn(&mut Rank) -> Result<R, Fault> + Sync,
) -> Vec<R> {
    let results = try_run(nodes, emulation, 60.0, |mut rank| {
        let result = program(&mut rank)?;
        rank.finish()?;
        Ok(result)
    });
    results.into_iter().map(|result| result.expect("every rank finishes")).collect()
}
