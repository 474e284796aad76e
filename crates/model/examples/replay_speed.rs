//! How fast schedules are replayed, and in how much memory. Prints a line of JSON for each pattern and size:
//! messages, operations, seconds of the fastest of five replays, and bytes of the schedule.
//!
//! cargo run --release -p crosstalk-model --example replay_speed -- [PATTERN [RANKS…]]

use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::mpi::{Algorithm, Choice, Mpi, Operation as Collective};
use crosstalk_core::system::NodeKind;
use crosstalk_core::units::{BitRate, Bytes, Hertz, Seconds};
use crosstalk_model::network::{Call, Operation, Pattern, Sizes};
use crosstalk_model::schedule::Schedule;
use crosstalk_model::schedule::codec::put_operation;
use std::collections::BTreeMap;
use std::time::Instant;

/// Replays of each; the fastest counts.
const REPLAYS: usize = 5;
/// Bytes of a message.
const BYTES: u64 = 1024;

/// A rank's operations, among so many ranks.
type Rank = fn(u32, u32) -> Vec<Operation>;
/// A pattern: its name, its number of messages by that of ranks, and each rank's operations.
type PatternOf = (&'static str, fn(u64) -> u64, Rank);

const PATTERNS: [PatternOf; 5] = [
    ("pairwise all-to-all", |n| n * (n - 1), pairwise),
    ("linear all-to-all by requests", |n| n * (n - 1), linear),
    ("ring", |n| 1000 * n, ring),
    ("incast from any", |n| 100 * (n - 1), incast),
    ("unexpected, in reverse", |n| 100 * (n - 1), reverse),
];

fn pairwise(_: u32, _: u32) -> Vec<Operation> {
    let call = Call { operation: Collective::Alltoall, communicator: 0, root: 0, sizes: Sizes::Equal(BYTES) };
    vec![Operation::Collective(Box::new(call))]
}

fn send(to: u32, tag: u32, request: Option<u32>) -> Operation {
    Operation::Send { communicator: 0, to, tag, bytes: BYTES, request }
}

fn receive(from: Option<u32>, tag: u32, request: Option<u32>) -> Operation {
    Operation::Receive { communicator: 0, pattern: Pattern { from, tag: Some(tag) }, request }
}

fn linear(rank: u32, ranks: u32) -> Vec<Operation> {
    let others = || (1..ranks).map(move |k| (k, (rank + k) % ranks));
    let receives = others().map(|(k, from)| receive(Some(from), 0, Some(k - 1)));
    let sends = others().map(|(k, to)| send(to, 0, Some(ranks + k - 2)));
    let requests = (0..2 * (ranks - 1)).collect();
    receives.chain(sends).chain([Operation::WaitAll(requests)]).collect()
}

fn ring(rank: u32, ranks: u32) -> Vec<Operation> {
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    (0..1000).flat_map(|_| [send(right, 0, None), receive(Some(left), 0, None)]).collect()
}

fn incast(rank: u32, ranks: u32) -> Vec<Operation> {
    match rank {
        0 => (0..100 * (ranks - 1)).map(|_| receive(None, 0, None)).collect(),
        _ => vec![send(0, 0, None); 100],
    }
}

fn reverse(rank: u32, ranks: u32) -> Vec<Operation> {
    match rank {
        0 => (1..ranks)
            .rev()
            .flat_map(|from| (0..100).rev().map(move |tag| receive(Some(from), tag, None)))
            .collect(),
        _ => (0..100).map(|tag| send(0, tag, None)).collect(),
    }
}

fn emulation(ranks: u32) -> Emulation {
    let nanos = |ns: f64| Seconds(ns * 1e-9);
    let across = Fabric {
        name: "bench".into(),
        title: "Bench".into(),
        rate: BitRate(8e9),
        costs: Costs {
            latency: nanos(2500.0),
            overhead: nanos(1500.0),
            gap: nanos(1000.0),
            gap_per_byte: nanos(1.0),
            overhead_per_byte: nanos(0.0),
        },
        step: Vec::new(),
        node_speed: None,
        source: BTreeMap::new(),
        caveats: Vec::new(),
    };
    let pairwise = Choice {
        operation: Collective::Alltoall,
        up_to: None,
        up_to_in_all: None,
        from_ranks: None,
        algorithm: Algorithm::Pairwise,
    };
    let mpi = Mpi {
        name: "bench".into(),
        title: "Bench".into(),
        eager_limit: None,
        overhead: Seconds(0.0),
        eager_copy: Seconds(0.0),
        rendezvous: Seconds(0.0),
        collectives: vec![pairwise],
        source: BTreeMap::new(),
        caveats: Vec::new(),
    };
    let node = NodeKind {
        cpu: "bench".into(),
        cores: 1,
        clock: Hertz(1e9),
        speed: 1.0,
        scaling: 1.0,
        memory: Bytes(1 << 30),
        disk: None,
    };
    Emulation {
        system: "bench".into(),
        node,
        board: (0..ranks).collect(),
        within: across.clone(),
        across,
        uplink: None,
        ranks_per_node: 1,
        memory: None,
        mpi: Some(mpi),
    }
}

fn schedule(rank: Rank, ranks: u32) -> Schedule {
    let code = |number| {
        let mut bytes = Vec::new();
        rank(number, ranks).iter().for_each(|operation| put_operation(&mut bytes, operation, 0));
        bytes
    };
    Schedule {
        title: "bench".into(),
        combine: Seconds(0.0),
        operations: (0..ranks).map(code).collect(),
        clocks: Vec::new(),
    }
}

/// The process's largest memory so far, in bytes (proc(5), `VmHWM`).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<u32> = arguments.iter().skip(1).filter_map(|ranks| ranks.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![64, 256, 1024] } else { sizes };
    let chosen = |name: &str| arguments.first().is_none_or(|wanted| name.starts_with(wanted.as_str()));
    for (name, messages, rank) in PATTERNS.iter().filter(|(name, ..)| chosen(name)) {
        for ranks in &sizes {
            let (schedule, emulation) = (schedule(*rank, *ranks), emulation(*ranks));
            let once = |_| {
                let begin = Instant::now();
                schedule.replay(&emulation).expect("it replays");
                begin.elapsed().as_secs_f64()
            };
            let seconds = (0..REPLAYS).map(once).fold(f64::MAX, f64::min);
            let bytes: usize = schedule.operations.iter().map(Vec::len).sum();
            println!(
                "{{\"pattern\":\"{name}\",\"ranks\":{ranks},\"messages\":{},\"operations\":{},\"seconds\":{seconds:e},\
                 \"schedule_bytes\":{bytes},\"peak_bytes\":{}}}",
                messages(u64::from(*ranks)),
                schedule.count(),
                peak()
            );
        }
    }
}
