//! Patterns and collectives take exactly the time of their closed forms.
//! `c`, `n`, `t`: the CPU's time, the NIC's time, one message end to end.

use super::*;
use crate::rounds::{self as collective, Receive, Send};
use crosstalk_core::fabric::Costs;
use crosstalk_core::units::{BitRate, Seconds};

/// A fabric with a CPU faster than the NIC (2c ≤ n), and a latency longer than
/// the handling of a message.
fn fabric() -> Fabric {
    Fabric {
        name: "test".into(),
        title: "Test".into(),
        rate: BitRate(8e9),
        costs: Costs {
            latency: Seconds(5e-6),
            overhead: Seconds(1e-6),
            gap: Seconds(3e-6),
            gap_per_byte: Seconds(1e-9),
            overhead_per_byte: Seconds(0.1e-9),
        },
        step: Vec::new(),
        source: BTreeMap::new(),
        caveats: Vec::new(),
    }
}

const fn nanos(ns: u64) -> VirtualTime {
    VirtualTime(ns * 1000)
}

/// The NIC's time for `s` bytes on [`fabric`], in picoseconds.
fn n(s: u64) -> u64 {
    3_000_000 + (s - 1) * 1000
}
/// The time of a message of `s` bytes end to end on [`fabric`], in picoseconds.
fn t(s: u64) -> u64 {
    7_000_000 + (s - 1) * 1000
}

fn latest(programs: Vec<Program>) -> u64 {
    let fabric = fabric();
    let ports = simulate(programs, |_, _| &fabric).expect("runs to its end");
    ports.iter().map(|port| port.clock().0).max().expect("has ranks")
}

fn all(size: usize, sizes: &[u64], one: impl Fn(usize) -> Vec<Round>) -> u64 {
    latest((0..size).map(|rank| Program::of_collective(one(rank), sizes.to_vec())).collect())
}

fn send(to: usize) -> Operation {
    Operation::Exchange(Round { sends: vec![Send { to, piece: 0 }], receives: Vec::new() })
}

fn receive(from: usize) -> Operation {
    Operation::Exchange(Round {
        sends: Vec::new(),
        receives: vec![Receive { from, piece: 0, action: Action::Keep }],
    })
}

const S: u64 = 1001;

fn program(operations: Vec<Operation>) -> Program {
    Program { operations, sizes: vec![S] }
}

#[test]
fn ping_pong() {
    assert_eq!(
        latest(vec![program(vec![send(1), receive(1)]), program(vec![receive(0), send(0)])]),
        2 * t(S)
    );
}

#[test]
fn a_stream_is_bound_by_the_nic() {
    let programs = vec![program(vec![send(1); 10]), program(vec![receive(0); 10])];
    assert_eq!(latest(programs), 9 * n(S) + t(S));
}

#[test]
fn two_directions_do_not_delay_each_other() {
    let both = |other| program(vec![send(other), receive(other)]);
    assert_eq!(latest(vec![both(1), both(0)]), t(S));
}

#[test]
fn an_incast_is_bound_by_one_nic_in_every_order_of_receiving() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
        let mut programs = vec![program(order.map(receive).to_vec())];
        programs.extend(vec![program(vec![send(0)]); 3]);
        assert_eq!(latest(programs), 2 * n(S) + t(S), "{order:?}");
    }
}

/// LogGOPSim with L = 2500, o = 1500, g = 1000, G = 1, O = 0 ns gives 65,499 ns
/// for 60,000 B, and 495,992 ns for an incast of eight. It keeps the CPU busy
/// while bytes arrive, so that o is charged if it is more than g. Here g is charged.
#[test]
fn sixty_kilobytes_take_the_time_of_the_reference_tool() {
    let nano = |ns: f64| Seconds(ns * 1e-9);
    let costs = Costs {
        latency: nano(2500.0),
        overhead: nano(1500.0),
        gap: nano(1000.0),
        gap_per_byte: nano(1.0),
        overhead_per_byte: nano(0.0),
    };
    let fabric = Fabric { costs, ..fabric() };
    let incast = |senders: usize| {
        let mut programs = vec![program((1..=senders).map(receive).collect())];
        programs.extend((0..senders).map(|_| Program { operations: vec![send(0)], sizes: vec![60_000] }));
        simulate(programs, |_, _| &fabric).expect("runs to its end")[0].clock()
    };
    assert_eq!(incast(1), nanos(65_499));
    assert_eq!(incast(8), nanos(495_992 - 7 * 500));
}

#[test]
fn a_message_that_arrives_during_computing_costs_its_handling() {
    let late = nanos(1_000_000);
    let programs = vec![program(vec![send(1)]), program(vec![Operation::Compute(late), receive(0)])];
    assert_eq!(latest(programs), late.0 + 1_000_000 + 100 * 1000);
}

#[test]
fn barrier_takes_a_message_each_doubling() {
    for (size, rounds) in [(2, 1), (3, 2), (8, 3), (33, 6)] {
        assert_eq!(all(size, &[0], |rank| collective::barrier(rank, size)), rounds * 7_000_000);
    }
}

#[test]
fn trees_are_as_deep_as_the_logarithm() {
    for (size, depth) in [(2, 1), (4, 2), (16, 4)] {
        assert_eq!(all(size, &[S], |rank| collective::bcast(rank, size, 1)), depth * t(S));
        assert_eq!(all(size, &[S], |rank| collective::reduce(rank, size, 1)), depth * t(S));
        assert_eq!(all(size, &[S], |rank| collective::allreduce_doubling(rank, size)), depth * t(S));
    }
}

#[test]
fn rings_take_a_message_each_step() {
    for size in [2, 3, 7, 16] {
        let (steps, sizes) = (size as u64 - 1, vec![S; size]);
        assert_eq!(all(size, &sizes, |rank| collective::allgather(rank, size)), steps * t(S));
        assert_eq!(all(size, &sizes, |rank| collective::allreduce_ring(rank, size)), 2 * steps * t(S));
        assert_eq!(all(size, &sizes, |rank| collective::alltoall_pairwise(rank, size)), steps * t(S));
    }
}

#[test]
fn linear_ones_are_bound_by_one_nic() {
    for size in [2, 3, 7, 16] {
        let (others, sizes) = (size as u64 - 1, vec![S; size]);
        let form = (others - 1) * n(S) + t(S);
        assert_eq!(all(size, &sizes, |rank| collective::gather(rank, size, 0)), form);
        assert_eq!(all(size, &sizes, |rank| collective::scatter(rank, size, 0)), form);
        assert_eq!(all(size, &sizes, |rank| collective::alltoall_linear(rank, size)), form);
    }
}

#[test]
fn a_rank_that_waits_for_ever_is_named() {
    let fabric = fabric();
    let fault =
        simulate(vec![program(vec![]), program(vec![receive(0)])], |_, _| &fabric).expect_err("stuck");
    assert!(fault.to_string().contains("rank 1 waits"), "{fault}");
}
