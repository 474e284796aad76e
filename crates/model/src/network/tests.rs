//! Patterns and collectives take exactly the time of their closed forms. The forms share no code with what they
//! test. `c`, `n`, `t`, `r`: the CPU's time for a message, the card's, one message end to end, the same by
//! rendezvous.

mod boards;
mod closed_forms;
mod collectives;
mod deadlock;
mod nodes;
mod order;

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::time::VirtualTime;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::mpi::Mpi;
use crosstalk_core::system::NodeKind;
use crosstalk_core::units::Seconds;
use crosstalk_core::units::{BitRate, Bytes, Hertz};

/// A fabric of L, o, g in nanoseconds, G and O in nanoseconds a byte.
fn fabric(latency: f64, overhead: f64, gap: f64, per_byte: f64, cpu_per_byte: f64) -> Fabric {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(8e9),
        costs: Costs {
            latency: nanos(latency),
            overhead: nanos(overhead),
            gap: nanos(gap),
            gap_per_byte: nanos(per_byte),
            overhead_per_byte: nanos(cpu_per_byte),
        },
        step: Vec::new(),
        node_speed: None,
        source: BTreeMap::new(),
        caveats: Vec::new(),
    }
}

/// Nodes on a fabric with a CPU faster than the card (2c ≤ n), and a latency longer than a small message's time
/// on the card.
fn cluster(nodes: usize) -> Emulation {
    let across = fabric(5000.0, 1000.0, 3000.0, 1.0, 0.1);
    Emulation {
        system: "test".into(),
        node: NodeKind {
            cpu: "test".into(),
            cores: 4,
            clock: Hertz(1e9),
            speed: 1.0,
            scaling: 1.0,
            memory: Bytes(1 << 30),
            disk: None,
        },
        board: (0..nodes as u32).collect(),
        within: across.clone(),
        across,
        uplink: None,
        ranks_per_node: 1,
        memory: None,
        mpi: None,
    }
}

/// A library that announces messages above `limit` bytes, and adds nothing.
fn announcing(limit: u64) -> Mpi {
    Mpi {
        name: "test".into(),
        title: "Test".into(),
        eager_limit: Some(Bytes(limit)),
        overhead: Seconds(0.0),
        eager_copy: Seconds(0.0),
        rendezvous: Seconds(0.0),
        collectives: Vec::new(),
        source: BTreeMap::new(),
        caveats: Vec::new(),
    }
}

const S: u64 = 1001;

/// The CPU's time for `s` bytes on [`cluster`], in picoseconds.
fn c(s: u64) -> u64 {
    1_000_000 + (s - 1) * 100
}
/// The card's.
fn n(s: u64) -> u64 {
    3_000_000 + (s - 1) * 1000
}
/// A message of `s` bytes end to end.
fn t(s: u64) -> u64 {
    7_000_000 + (s - 1) * 1000
}
/// The same by rendezvous: two latencies more.
fn r(s: u64) -> u64 {
    17_000_000 + (s - 1) * 1000
}

/// Ranks that do what was written down.
#[derive(Debug, Clone, Default)]
struct Script {
    ranks: Vec<VecDeque<Operation>>,
    answers: Vec<Vec<Answer>>,
    /// A rank is running for so many questions, before each of its operations.
    pauses: VecDeque<u8>,
    pausing: Vec<u8>,
}

impl Script {
    fn new(ranks: Vec<Vec<Operation>>) -> Self {
        let count = ranks.len();
        Script {
            ranks: ranks.into_iter().map(VecDeque::from).collect(),
            answers: vec![Vec::new(); count],
            pauses: VecDeque::new(),
            pausing: vec![0; count],
        }
    }

    /// Runs to the end; returns the clocks.
    fn run(&mut self, emulation: &Emulation) -> Result<Vec<TimeBreakdown>, Fault> {
        let mut network = Network::new(emulation, self.ranks.len(), Seconds(0.0))?;
        while network.advance(self)? == Progress::NeedsMore {}
        Ok(network.clocks().collect())
    }
}

impl Source for Script {
    fn next(&mut self, rank: u32) -> Next {
        let pausing = &mut self.pausing[rank as usize];
        if *pausing > 0 {
            *pausing -= 1;
            return Next::NotYet;
        }
        *pausing = self.pauses.pop_front().unwrap_or(0);
        let left = &mut self.ranks[rank as usize];
        let site = left.len() as Site;
        Next::Operation(left.pop_front().unwrap_or(Operation::Finish), site)
    }

    fn answer_rank(&mut self, rank: u32, answer: Answer) {
        self.answers[rank as usize].push(answer);
    }

    fn call_site(&self, rank: u32, site: Site) -> String {
        format!("{rank}:{site}")
    }
}

/// The latest clock at the end.
fn latest(emulation: &Emulation, ranks: Vec<Vec<Operation>>) -> u64 {
    let clocks = Script::new(ranks).run(emulation).expect("runs to its end");
    clocks.iter().map(|clock| clock.total().0).max().expect("has ranks")
}

fn send(to: u32, bytes: u64) -> Operation {
    Operation::Send { communicator: 0, to, tag: 0, bytes, request: None }
}

fn isend(to: u32, bytes: u64, request: u32) -> Operation {
    Operation::Send { communicator: 0, to, tag: 0, bytes, request: Some(request) }
}

fn receive(from: u32) -> Operation {
    Operation::Receive { communicator: 0, pattern: Pattern { from: Some(from), tag: Some(0) }, request: None }
}

fn ireceive(from: Option<u32>, request: u32) -> Operation {
    Operation::Receive { communicator: 0, pattern: Pattern { from, tag: Some(0) }, request: Some(request) }
}

fn wait(requests: impl IntoIterator<Item = u32>) -> Operation {
    Operation::WaitAll(requests.into_iter().collect())
}

fn compute(nanos: u64) -> Operation {
    Operation::Compute { used: TimeUse::Compute, nanos }
}
