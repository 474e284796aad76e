//! A run that was recorded gives the same clocks when it is replayed on the same fabric, to the nanosecond; and on
//! another fabric those of a run there.

use crate::common::{emulation, fabric, run_kept, run_recorded};
use crosstalk_comm::{Envelope, Rank, ReduceOp};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::Fabric;
use crosstalk_core::units::BitRate;
use crosstalk_model::network::TimeBreakdown;
use crosstalk_model::schedule::Schedule;
use std::hint::black_box;

const NODES: usize = 4;

/// A program of everything that takes time: computing, messages of many sizes, requests, parts, collectives.
fn program(rank: &mut Rank) -> Result<(), Fault> {
    let (id, size) = (rank.id(), rank.size());
    rank.restart_clock()?;
    let row = rank.world().split(Some(id as u32 / 2), 0)?.expect("all have a color");
    for round in 0..10_usize {
        black_box((0..20_000 * (1 + (id + round) % size)).fold(0_u64, |sum, i| black_box(sum ^ i as u64)));
        let bytes = 1 << (2 * round);
        let (left, right) = ((id + size - 1) % size, (id + 1) % size);
        let receive = rank.world().irecv(Envelope::exact(left, 1))?;
        let send = rank.world().isend(right, 1, &vec![0_u8; bytes])?;
        rank.serialise(|| black_box((0..5_000).fold(0_u64, |sum, i| black_box(sum + i))));
        rank.wait_all(vec![send, receive])?;
        rank.within(&row).allreduce(&mut vec![1.0; 10 * bytes.min(1000)], ReduceOp::Sum)?;
        if id == 0 {
            for _ in 1..size {
                rank.world().recv_any::<u8>(2)?;
            }
        } else {
            rank.world().send(0, 2, &[0_u8; 300])?;
        }
        rank.world().alltoallv((0..size).map(|to| vec![0; 100 * to * round]).collect())?;
    }
    Ok(())
}

fn recorded(emulation: &Emulation) -> Schedule {
    run_recorded(NODES, emulation, program)
}

fn on(fabric: &Fabric) -> Emulation {
    emulation(NODES, fabric)
}

fn latest(clocks: &[TimeBreakdown]) -> f64 {
    clocks.iter().map(|clock| clock.total().seconds().0).fold(0.0, f64::max)
}

#[test]
fn a_replay_on_the_recorded_fabric_gives_the_recorded_clocks() {
    let emulation = on(&fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    let schedule = recorded(&emulation);
    assert_eq!(schedule.replay(&emulation), Ok(schedule.clocks));
}

#[test]
fn a_replay_where_nodes_share_the_links_of_boards_gives_the_recorded_clocks() {
    let apart = on(&fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    let shared = Emulation { board: vec![0, 0, 1, 1], uplink: Some(BitRate(0.25e9)), ..apart.clone() };
    let schedule = recorded(&shared);
    let elsewhere = schedule.replay(&apart).expect("replays");
    assert!(latest(&elsewhere) < latest(&schedule.clocks), "links of a quarter of the cards' rate delay it");
    assert_eq!(schedule.replay(&shared), Ok(schedule.clocks));
}

#[test]
fn a_replay_on_another_fabric_gives_the_clocks_of_a_run_there() {
    let (slow, fast) =
        (fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3), fabric(1_500.0, 500.0, 1_100.0, 1.08, 0.1));
    let (here, there) = (recorded(&on(&slow)), recorded(&on(&fast)));
    let replayed = latest(&here.replay(&on(&fast)).expect("replays"));
    let run = latest(&there.clocks);
    // What both computed differs by the machine's noise; the messages do not.
    let computed = |schedule: &Schedule| {
        schedule.clocks.iter().map(|clock| clock.compute.seconds().0).fold(0.0, f64::max)
    };
    let noise = (computed(&here) - computed(&there)).abs() + 0.005 * run;
    assert!(
        (replayed - run).abs() < 2.0 * noise + 1e-4,
        "replayed {replayed} s, run {run} s, noise {noise} s"
    );
}

#[test]
fn an_attempt_that_a_rank_other_than_the_first_has_spoiled_is_named_unfaithful() {
    let emulation = on(&fabric(1_000.0, 10.0, 10.0, 1.0, 0.0));
    // The machine may disturb the first rank, too: then another try.
    let first_is_faithful = (0..20).any(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let (fidelities, file) = run_kept(2, &emulation, folder.path(), |rank| {
            if rank.id() == 0 {
                black_box((0..5_000_000_u64).fold(0, |sum, i| black_box(sum ^ i)));
                rank.world().recv::<u8>(1, 0)?;
            } else {
                // Its clock holds one short message, and not the windows that are too short to measure.
                (0..20_000).for_each(|_| rank.mark_time());
                rank.world().send(0, 0, &[0_u8])?;
            }
            Ok(())
        });
        assert!(!fidelities[1].faithful(), "the other rank's windows are too short to measure");
        assert!(file.ends_with("a.unfaithful.schedule"), "{}", file.display());
        fidelities[0].faithful()
    });
    assert!(first_is_faithful, "the first rank is never faithful");
}

#[test]
fn a_faithful_attempt_is_named_so() {
    let emulation = on(&fabric(20_000.0, 4_000.0, 9_000.0, 8.0, 0.3));
    // The machine may disturb a rank: then another try.
    let mut tries = 0..20;
    while tries.next().is_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let (fidelities, file) = run_kept(NODES, &emulation, folder.path(), |rank| {
            black_box((0..20_000_000_u64).fold(0, |sum, i| black_box(sum ^ i)));
            rank.world().barrier()
        });
        let faithful = fidelities.iter().all(|fidelity| fidelity.faithful());
        assert_eq!(file.ends_with("a.schedule"), faithful, "{}: {fidelities:?}", file.display());
        if faithful {
            return;
        }
    }
    eprintln!("skipped: this machine disturbs every attempt");
}
