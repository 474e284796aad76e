//! In virtual time, executed collectives take the time that the simulator computes
//! for the same steps: within 1 %, on a number of ranks that is no power of two.

use crate::common::{emulation, fabric, run};
use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_model::rounds::{self as collective, Round};
use crosstalk_model::simulate::{Program, simulate};

const NODES: usize = 6;
const ROOT: usize = 2;
/// The lower quartile of this many runs is compared: disturbances only add time.
const REPEATS: usize = 9;

/// The data of a collective, allocated beforehand: one part, and one for each rank.
struct Data {
    own: Vec<u8>,
    each: Vec<Vec<u8>>,
    kept: Vec<Vec<u8>>,
}

fn agrees(
    size: usize,
    steps: impl Fn(usize) -> Vec<Round>,
    execute: impl Fn(&mut Rank, &mut Data) -> Result<(), Fault> + Sync,
) {
    let fabric = fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3);
    let programs =
        (0..NODES).map(|rank| Program::of_collective(steps(rank), vec![size as u64; NODES])).collect();
    let ports = simulate(programs, |_, _| &fabric).expect("runs to its end");
    let expected = ports.iter().map(|port| port.clock().seconds().0).fold(0.0, f64::max);

    let once = |rank: &mut Rank| {
        let own = vec![1; size];
        let mut data = Data { each: vec![own.clone(); NODES], own, kept: Vec::new() };
        rank.restart_clock()?;
        execute(rank, &mut data)?;
        Ok(rank.now().0)
    };
    let ends = run(NODES, Some(&emulation(NODES, &fabric)), |rank| {
        (0..REPEATS).map(|_| once(rank)).collect::<Result<Vec<f64>, Fault>>()
    });
    let latest = |repeat: usize| ends.iter().map(|ends| ends[repeat]).fold(0.0, f64::max);
    let mut times: Vec<f64> = (0..REPEATS).map(latest).collect();
    times.sort_by(f64::total_cmp);
    let found = times[REPEATS / 4];
    assert!((found / expected - 1.0).abs() < 0.01, "{size} B: {found} s executed, {expected} s simulated");
}

#[test]
fn execution_takes_the_simulated_time() {
    agrees(0, |rank| collective::barrier(rank, NODES), |rank, _| rank.barrier());
    for size in [64, 100_000] {
        agrees(
            size,
            |rank| collective::bcast(rank, NODES, ROOT),
            |rank, data| rank.bcast(ROOT, &mut data.own),
        );
        agrees(
            size,
            |rank| collective::gather(rank, NODES, ROOT),
            |rank, data| rank.gather(ROOT, &data.own).map(|parts| data.kept = parts.unwrap_or_default()),
        );
        agrees(
            size,
            |rank| collective::scatter(rank, NODES, ROOT),
            |rank, data| {
                let each = std::mem::take(&mut data.each);
                rank.scatter(ROOT, each).map(|own| data.own = own)
            },
        );
        agrees(
            size,
            |rank| collective::allgather(rank, NODES),
            |rank, data| rank.allgather(&data.own).map(|parts| data.kept = parts),
        );
        agrees(
            size,
            |rank| collective::alltoall(rank, NODES, size as u64),
            |rank, data| {
                let each = std::mem::take(&mut data.each);
                rank.alltoall(each).map(|parts| data.kept = parts)
            },
        );
    }
}
