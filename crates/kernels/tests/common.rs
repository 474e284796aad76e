//! Runs a kernel on ranks that are threads.
#![allow(dead_code, reason = "every test file uses a part of these helpers")]

use crosstalk_comm::{Listener, Rank, listen};
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::message::Part;
use crosstalk_core::system::NodeKind;
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_core::value::Params;
use crosstalk_kernels::{Class, Timed, find};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The clock that times a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Real,
    Virtual,
}

/// Runs a kernel; each rank's result, by number.
pub fn run(kernel: &str, class: Class, count: usize, clock: Clock) -> Vec<Timed> {
    let kernel = find(kernel).expect("there is one");
    kernel.check_ranks(count).expect("runs on so many");
    ranks(count, clock, |rank| (kernel.run)(class, rank).expect("runs"))
}

/// Runs a program on so many ranks; what each returns, by number.
pub fn ranks<T: Send>(count: usize, clock: Clock, program: impl Fn(&mut Rank) -> T + Sync) -> Vec<T> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed);
    let emulation = (clock == Clock::Virtual).then(|| emulation(count));
    let listeners: Vec<Listener> = (0..count).map(|_| listen(LOOPBACK).expect("listens")).collect();
    let endpoints: Vec<_> = listeners.iter().map(|listener| Some(listener.endpoint())).collect();
    let never = AtomicBool::new(false);
    let one = |node: usize, listener: Listener| {
        let part = Part {
            workload: "test".into(),
            params: Params::default(),
            node,
            nodes: count,
            addresses: vec![LOOPBACK; count],
            emulation: emulation.clone(),
            deadline: Seconds(600.0),
            shared: None,
            keep_schedule: false,
            scratch: std::env::temp_dir(),
            artifacts: None,
            seed,
        };
        let mut rank = listener.connect(&part, &endpoints, &never).expect("connects");
        let result = program(&mut rank);
        rank.finish().expect("ends");
        result
    };
    thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = listeners
            .into_iter()
            .enumerate()
            .map(|(node, listener)| scope.spawn(move || one(node, listener)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    })
}

/// Runs a kernel and verifies it; each rank's result.
pub fn verified(kernel: &str, class: Class, ranks: usize, clock: Clock) -> Vec<Timed> {
    let all = run(kernel, class, ranks, clock);
    assert!(!all[0].checks.is_empty(), "the first rank has all results");
    for check in &all[0].checks {
        check.verify().unwrap_or_else(|wrong| panic!("{kernel} {} on {ranks}: {wrong}", class.letter()));
    }
    all
}

/// The results of a kernel, bit by bit.
pub fn bits(all: &[Timed]) -> Vec<u64> {
    all[0].checks.iter().map(|check| check.found.to_bits()).collect()
}

/// Verifies a kernel on these numbers of ranks, in real and in virtual time, with the same results bit by bit.
pub fn verified_by_both_clocks(kernel: &str, class: Class, ranks: &[usize]) {
    for &ranks in ranks {
        let [real, emulated] =
            [Clock::Real, Clock::Virtual].map(|clock| bits(&verified(kernel, class, ranks, clock)));
        assert_eq!(real, emulated, "{kernel} {} on {ranks}", class.letter());
    }
}

/// Nodes of one core and 1 GiB on one board.
pub fn emulation(nodes: usize) -> Emulation {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    let fabric = Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(1e9),
        costs: Costs {
            latency: nanos(20_000.0),
            overhead: nanos(4_000.0),
            gap: nanos(9_000.0),
            gap_per_byte: nanos(8.0),
            overhead_per_byte: nanos(0.3),
        },
        step: Vec::new(),
        node_speed: None,
        source: Default::default(),
        caveats: Vec::new(),
    };
    Emulation {
        system: "test".into(),
        node: NodeKind {
            cpu: "test".into(),
            cores: 1,
            clock: Hertz(1e9),
            speed: 1.0,
            scaling: 1.0,
            memory: Bytes(1 << 30),
            disk: None,
        },
        board: vec![0; nodes],
        within: fabric.clone(),
        across: fabric,
        uplink: None,
        ranks_per_node: 1,
        memory: None,
        mpi: None,
    }
}
