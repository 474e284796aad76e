//! Attempts of the workload on nodes that are threads, and a file system without a network.
#![allow(dead_code, reason = "every test file uses a part of these helpers")]

use crosstalk_comm::{Listener, Rank, listen};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::message::Part;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::system::{Disk, NodeKind};
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_core::value::{Params, Value};
use crosstalk_files::{FILES, Request, Server, Servers, Site};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Servers in this process.
pub struct Local(pub Vec<Server>);

impl Local {
    pub fn new(site: Site) -> Self {
        Local((0..site.servers).map(|number| Server::new(number, site)).collect())
    }
}

impl Servers for Local {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn exchange(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(requests
            .iter()
            .map(|(server, request)| self.0[*server].answer(&request.encode()).answer)
            .collect())
    }
}

/// L, o, g in nanoseconds, G and O in nanoseconds a byte.
#[derive(Debug, Clone, Copy)]
pub struct Net(pub f64, pub f64, pub f64, pub f64, pub f64);

/// About the costs of gigabit Ethernet with TCP.
pub const SLOW: Net = Net(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3);
/// About the costs of InfiniBand of 2005.
pub const FAST: Net = Net(1_500.0, 500.0, 1_100.0, 1.08, 0.1);

/// 100 MB/s, 10 ms.
pub const DISK: Disk = Disk { rate: BitRate(8e8), latency: Seconds(0.01) };

/// A cluster with this network, with so many ranks on each node.
pub fn emulation(nodes: usize, each: u32, net: Net, disk: Option<Disk>) -> Emulation {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    let Net(latency, overhead, gap, per_byte, cpu_per_byte) = net;
    let fabric = Fabric {
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
        node_speed: None,
        source: Default::default(),
        caveats: Vec::new(),
    };
    Emulation {
        system: "test".into(),
        node: NodeKind {
            cpu: "test".into(),
            cores: 2,
            clock: Hertz(1e9),
            speed: 1.0,
            scaling: 1.0,
            memory: Bytes(1 << 30),
            disk,
        },
        board: vec![0; nodes],
        within: fabric.clone(),
        across: fabric,
        uplink: None,
        ranks_per_node: each,
        memory: None,
        mpi: None,
    }
}

/// Parameters from `name = value` pairs.
pub fn params(pairs: &[(&str, &str)]) -> Params {
    pairs.iter().fold(Params::default(), |params, (name, value)| {
        let value: Value = match (value.parse::<i64>(), value.parse::<bool>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(flag)) => flag.into(),
            _ => (*value).into(),
        };
        params.with(name, value)
    })
}

/// What came of an attempt: what was reported, and each node's fault.
#[derive(Debug)]
pub struct Outcome {
    pub readings: Vec<Reading>,
    pub faults: Vec<Fault>,
}

impl Outcome {
    /// A metric's value.
    pub fn value(&self, metric: &str) -> f64 {
        assert_eq!(self.faults, [], "the attempt is right");
        let reading = self.readings.iter().find(|reading| reading.metric == metric);
        Self::number(reading.unwrap_or_else(|| panic!("no {metric}")))
    }

    /// A reading's number.
    pub fn number(reading: &Reading) -> f64 {
        match &reading.observation {
            Observation::Value(value) => *value,
            other => panic!("{other:?}"),
        }
    }

    /// The only fault.
    pub fn fault(&self) -> String {
        assert_eq!(self.faults.len(), 1, "{:?}", self.faults);
        self.faults[0].to_string()
    }
}

/// Runs the workload once; `nodes` and `emulation` as in a study.
pub fn attempt(params: &Params, nodes: usize, emulation: Option<&Emulation>, seed: u64) -> Outcome {
    let ready: Vec<_> =
        (0..nodes).map(|node| FILES.prepare(&part(params, node, nodes, emulation, seed))).collect();
    let refused: Vec<Fault> = ready.iter().filter_map(|ready| ready.as_ref().err().cloned()).collect();
    if !refused.is_empty() {
        return Outcome { readings: Vec::new(), faults: refused };
    }
    let ready: Vec<_> = ready.into_iter().flatten().collect();
    let endpoints: Vec<_> = ready.iter().map(|ready| ready.endpoint()).collect();
    let (endpoints, never) = (&endpoints, &AtomicBool::new(false));
    let results: Vec<_> = thread::scope(|scope| {
        let run = |ready: Box<dyn crosstalk_core::scene::Prepared>| {
            move || {
                let mut readings: Vec<Reading> = Vec::new();
                let result = ready.run(endpoints, &mut readings, never);
                (readings, result)
            }
        };
        let threads: Vec<_> = ready.into_iter().map(|ready| scope.spawn(run(ready))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut outcome = Outcome { readings: Vec::new(), faults: Vec::new() };
    for (readings, result) in results {
        outcome.readings.extend(readings);
        outcome.faults.extend(result.err());
    }
    outcome
}

/// Runs `program` on ranks that are threads, by number; each one's result. Rank `n` gives up after
/// `deadline(n)` seconds.
pub fn ranks<T: Send>(
    count: usize,
    emulation: Option<&Emulation>,
    deadline: impl Fn(usize) -> f64 + Sync,
    program: impl Fn(Rank) -> T + Sync,
) -> Vec<T> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed);
    let listeners: Vec<Listener> = (0..count).map(|_| listen(LOOPBACK).expect("listens")).collect();
    let endpoints: Vec<_> = listeners.iter().map(|listener| Some(listener.endpoint())).collect();
    let never = AtomicBool::new(false);
    let one = |node: usize, listener: Listener| {
        let part = Part {
            deadline: Seconds(deadline(node)),
            ..part(&Params::default(), node, count, emulation, seed)
        };
        program(listener.connect(&part, &endpoints, &never).expect("connects"))
    };
    thread::scope(|scope| {
        let one = &one;
        let listeners = listeners.into_iter().enumerate();
        let threads: Vec<_> =
            listeners.map(|(node, listener)| scope.spawn(move || one(node, listener))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn part(params: &Params, node: usize, nodes: usize, emulation: Option<&Emulation>, seed: u64) -> Part {
    Part {
        workload: "files".into(),
        params: params.clone().with("nodes", nodes as i64),
        node,
        nodes,
        addresses: vec![LOOPBACK; nodes],
        emulation: emulation.cloned(),
        deadline: Seconds(120.0),
        shared: None,
        keep_schedule: false,
        scratch: std::env::temp_dir(),
        artifacts: None,
        seed,
    }
}
