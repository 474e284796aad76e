//! MPI functions in virtual time against closed forms, and in real time over loopback.

#[path = "../../work/tests/cluster/mod.rs"]
mod cluster;
#[path = "../../work/tests/scene/mod.rs"]
mod scene;

use cluster::{emulation, play};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::value::{Params, Value};
use crosstalk_probe::collective::{COLLECTIVE, Function};
use scene::value;

fn params(function: &str, sizes: &[i64], nodes: usize) -> Params {
    Params::default()
        .with("function", function)
        .with("size", Value::List(sizes.iter().map(|size| Value::Int(*size)).collect()))
        .with("nodes", nodes as i64)
        .with("duration", "0.01 s")
}

fn run(
    function: &str,
    sizes: &[i64],
    nodes: usize,
    emulation: Option<Emulation>,
) -> Result<Vec<Reading>, Fault> {
    play(&COLLECTIVE, &params(function, sizes, nodes), nodes, emulation)
}

/// The seconds of one function with one size in virtual time.
fn time(function: &str, size: i64, cluster: &Emulation) -> f64 {
    let readings = run(function, &[size], cluster.board.len(), Some(cluster.clone())).expect("runs");
    value(&readings, "time")
}

/// 2o + L + (s − 1) · max(O, G): a message's time.
fn message(size: i64, cluster: &Emulation) -> f64 {
    let costs = cluster.across.costs;
    let bytes = (size - 1).max(0) as f64;
    2.0 * costs.overhead.0 + costs.latency.0 + bytes * costs.gap_per_byte.0.max(costs.overhead_per_byte.0)
}

#[test]
fn half_a_round_trip_is_a_messages_time() {
    let cluster = emulation(2);
    for size in [0, 1, 1024, 1 << 20] {
        let (found, expected) = (time("pingpong", size, &cluster), message(size, &cluster));
        assert!((found - expected).abs() < 1e-9, "{size} B: {found} s instead of {expected} s");
    }
}

#[test]
fn collectives_take_their_algorithms_rounds() {
    let cluster = emulation(4);
    let rounds = |function: &str, size: i64, expected: f64| {
        let found = time(function, size, &cluster);
        assert!((found - expected).abs() < 1e-9, "{function} of {size} B: {found} s, expected {expected} s");
    };
    rounds("barrier", 0, 2.0 * message(0, &cluster));
    rounds("bcast", 64, 2.0 * message(64, &cluster));
    rounds("allgather", 64, message(64, &cluster) + message(128, &cluster));
    rounds("sendrecv", 1024, message(1024, &cluster));
}

#[test]
fn a_pipeline_takes_a_message_over_each_link_and_its_other_messages_over_the_last() {
    let cluster = emulation(4);
    let costs = cluster.across.costs;
    let each = costs.gap.0 + 69_999.0 * costs.gap_per_byte.0;
    let expected = 3.0 * message(70_000, &cluster) + 7.0 * each;
    let found = time("pipeline", 70_000, &cluster);
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} s, expected {expected} s");
}

#[test]
fn every_function_brings_the_right_data_in_virtual_time() {
    for function in Function::ALL {
        let sizes: &[i64] = if function.has_size() { &[0, 4, 1000, 70_000] } else { &[0] };
        for nodes in [2, 3, 4] {
            let readings = run(function.name(), sizes, nodes, Some(emulation(nodes)));
            let readings = readings.unwrap_or_else(|fault| panic!("{} of {nodes}: {fault}", function.name()));
            let times = readings.iter().filter(|reading| reading.metric == "time");
            assert_eq!(times.count(), sizes.len(), "{}", function.name());
        }
    }
}

#[test]
fn two_ranks_of_a_node_exchange_through_its_memory() {
    let mut cluster = emulation(2);
    let between_nodes = time("pingpong", 1024, &cluster);
    let mut memory = cluster.across.clone();
    memory.costs.latency.0 /= 10.0;
    cluster.memory = Some(memory);
    cluster.ranks_per_node = 2;
    // Ranks 0 and 1 share node 0.
    assert!(time("pingpong", 1024, &cluster) < between_nodes);
    for function in Function::ALL.map(Function::name) {
        let sizes: &[i64] = if function == "barrier" { &[0] } else { &[4096] };
        run(function, sizes, 2, Some(cluster.clone())).unwrap_or_else(|fault| panic!("{function}: {fault}"));
    }
}

#[test]
fn every_function_is_timed_in_real_time() {
    for function in Function::ALL {
        let sizes: &[i64] = if function.has_size() { &[0, 4096] } else { &[0] };
        let readings = run(function.name(), sizes, 2, None);
        let readings = readings.unwrap_or_else(|fault| panic!("{}: {fault}", function.name()));
        let of = |metric: &str| -> Vec<f64> {
            readings.iter().filter(|r| r.metric == metric).filter_map(Reading::number).collect()
        };
        let times = [of("time"), of("late_time")].concat();
        assert_eq!(times.len(), sizes.len(), "{}", function.name());
        assert!(times.iter().all(|seconds| (1e-7..5.0).contains(seconds)), "{readings:?}");
        assert!(of("late").iter().all(|share| (0.0..=1.0).contains(share)), "{readings:?}");
        // Both ranks run on one host.
        assert!(of("clock_error").iter().all(|seconds| *seconds == 0.0), "{readings:?}");
    }
}

#[test]
fn calls_in_turn_are_timed_by_loops() {
    let params = params("exchange", &[0, 4096], 2).with("begin", "in-turn");
    let readings = play(&COLLECTIVE, &params, 2, None).expect("runs");
    let of = |metric: &str| readings.iter().filter(|reading| reading.metric == metric).count();
    assert_eq!((of("time"), of("transfer_rate"), of("call_time"), of("late")), (2, 1, 0, 0), "{readings:?}");
}

#[test]
fn each_ping_pong_in_turn_has_a_time_of_its_own() {
    let params = params("pingpong", &[8, 4096], 2).with("begin", "in-turn");
    let readings = play(&COLLECTIVE, &params, 2, None).expect("runs");
    let calls = readings.iter().filter(|reading| reading.metric == "call_time");
    let counts: Vec<u64> = calls
        .map(|reading| match &reading.observation {
            Observation::Histogram(seen) => seen.count(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(counts.len() == 2 && counts.iter().all(|count| *count >= 3), "{readings:?}");
}

#[test]
fn one_rank_has_nobody_to_send_to() {
    let fault = run("allreduce", &[4], 1, Some(emulation(1))).expect_err("is refused");
    assert!(fault.message.contains("two ranks"), "{fault}");
}
