//! Programs that cannot end get a fault with the call sites where they wait, and never hang.

use crate::common::{emulation, fabric, try_run};
use crosstalk_comm::{Envelope, Rank};
use crosstalk_core::mpi::Mpi;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::{Fault, FaultKind};
use std::time::{Duration, Instant};

fn virtual_faults(program: impl Fn(Rank) -> Result<(), Fault> + Sync) -> Vec<String> {
    let begin = Instant::now();
    let emulation = emulation(2, &fabric(5000.0, 500.0, 500.0, 1.0, 0.1));
    let results = try_run(2, Some(&emulation), 60.0, program);
    assert!(begin.elapsed() < Duration::from_secs(20));
    results.into_iter().map(|result| result.expect_err("cannot end").to_string()).collect()
}

#[test]
fn two_ranks_that_wait_for_each_other() {
    let faults = virtual_faults(|mut rank| {
        let peer = 1 - rank.id();
        rank.world().recv::<u8>(peer, 0)?;
        rank.world().send(peer, 0, b"never")
    });
    for fault in faults {
        assert!(fault.contains("deadlock: rank 0 at"), "{fault}");
        assert_eq!(fault.matches("deadlock.rs:").count(), 2, "{fault}");
    }
}

#[test]
fn two_sends_above_the_eager_limit() {
    let mut emulation = emulation(2, &fabric(5000.0, 500.0, 500.0, 1.0, 0.1));
    emulation.mpi = Some(Mpi {
        name: "test".into(),
        title: "Test".into(),
        eager_limit: Some(Bytes(1000)),
        overhead: Seconds(0.0),
        eager_copy: Seconds(0.0),
        rendezvous: Seconds(0.0),
        collectives: Vec::new(),
        source: Default::default(),
        caveats: Vec::new(),
    });
    let program = |bytes: usize| {
        move |mut rank: Rank| {
            let peer = 1 - rank.id();
            rank.world().send(peer, 0, &vec![0_u8; bytes])?;
            rank.world().recv::<u8>(peer, 0)?;
            rank.finish().map(drop)
        }
    };
    assert!(try_run(2, Some(&emulation), 60.0, program(1000)).iter().all(Result::is_ok));
    for result in try_run(2, Some(&emulation), 60.0, program(1001)) {
        let fault = result.expect_err("both wait").to_string();
        assert!(fault.contains("waits for rank 1 to receive its message"), "{fault}");
    }
}

#[test]
fn a_message_that_is_never_received() {
    for emulated in [false, true] {
        let emulation = emulation(2, &fabric(5000.0, 500.0, 500.0, 1.0, 0.1));
        let results = try_run(2, emulated.then_some(&emulation), 20.0, |mut rank| {
            if rank.id() == 0 {
                rank.world().send(1, 8, &[1.0_f64; 3])?;
            }
            rank.world().barrier()?;
            rank.finish().map(drop)
        });
        let fault = results[1].as_ref().expect_err("it has a message left").to_string();
        assert!(fault.contains("a message of 24 bytes with tag 8 from rank 0"), "{fault}");
        assert!(fault.contains("was never received"), "{fault}");
    }
}

#[test]
fn collectives_with_other_sizes() {
    let faults = virtual_faults(|mut rank| {
        let own = vec![1_u8; 1 + rank.id()];
        rank.world().allgather(&own).map(drop)
    });
    let says_both =
        |fault: &String| fault.contains("bytes a rank where rank") || fault.contains("where 1 are expected");
    assert!(faults.iter().any(says_both), "{faults:?}");
}

#[test]
fn a_rank_that_dies_within_a_collective() {
    for emulated in [false, true] {
        let emulation = emulation(4, &fabric(5000.0, 500.0, 500.0, 1.0, 0.1));
        let results = try_run(4, emulated.then_some(&emulation), 20.0, |mut rank| {
            rank.world().barrier()?;
            if rank.id() == 3 {
                return Ok(());
            }
            rank.world().allgather(&[1_i32; 1000]).map(drop)
        });
        assert_eq!(results[3], Ok(()));
        for result in &results[..3] {
            let fault = result.as_ref().expect_err("cannot go on");
            // In real time a rank may see the end of another one before that one's report of the cause.
            assert!(fault.node() == Some(3) || !emulated && fault.node().is_some(), "{fault}");
            assert_eq!(fault.kind, FaultKind::Gone);
        }
    }
}

#[test]
fn a_request_of_a_rank_that_is_never_sent_to() {
    let faults = virtual_faults(|mut rank| {
        if rank.id() == 1 {
            return rank.world().recv::<u8>(0, 9).map(drop);
        }
        let request = rank.world().irecv(Envelope { from: None, tag: None })?;
        rank.wait(request).map(drop)
    });
    assert!(faults[0].contains("waits for a message of any rank with any tag"), "{faults:?}");
}

/// The faults of ranks in real time, of which one at least names the deadlock.
fn real_faults(ranks: usize, program: impl Fn(Rank) -> Result<(), Fault> + Sync) -> Vec<String> {
    let begin = Instant::now();
    let results = try_run(ranks, None, 60.0, program);
    assert!(begin.elapsed() < Duration::from_secs(20), "it was found long before the deadline");
    results.into_iter().filter_map(Result::err).map(|fault| fault.to_string()).collect()
}

#[test]
fn ranks_that_wait_for_each_other_in_real_time() {
    for ranks in [2, 3, 5] {
        let faults = real_faults(ranks, |mut rank| {
            let (id, ranks) = (rank.id(), rank.size());
            rank.world().recv::<u8>((id + 1) % ranks, 0)?;
            rank.world().send((id + ranks - 1) % ranks, 0, b"never")
        });
        let found = faults.iter().find(|fault| fault.contains("a deadlock"));
        let found = found.unwrap_or_else(|| panic!("nobody has found it: {faults:?}"));
        assert_eq!(found.matches("deadlock.rs:").count(), ranks, "{found}");
    }
}

#[test]
fn a_receive_and_a_collective_that_wait_for_each_other_in_real_time() {
    let faults = real_faults(2, |mut rank| match rank.id() {
        0 => rank.world().recv::<u8>(1, 0).map(drop),
        _ => rank.world().bcast(0, &mut [0_u8]),
    });
    assert!(faults.iter().any(|fault| fault.contains("a deadlock")), "{faults:?}");
}

#[test]
fn requests_that_wait_for_each_other_in_real_time() {
    let faults = real_faults(2, |mut rank| {
        let peer = 1 - rank.id();
        let requests =
            (0..2).map(|tag| rank.world().irecv(Envelope::exact(peer, tag))).collect::<Result<_, _>>()?;
        rank.world().send(peer, 0, b"one of two")?;
        rank.wait_all(requests).map(drop)
    });
    assert!(faults.iter().any(|fault| fault.contains("a deadlock")), "{faults:?}");
}

#[test]
fn a_ring_with_a_slow_rank_is_no_deadlock() {
    // Each waits for the next one, the last one for the first; but one sends first, and late, again and again.
    let results = try_run(3, None, 60.0, |mut rank| {
        let (id, ranks) = (rank.id(), rank.size());
        let (left, right) = ((id + ranks - 1) % ranks, (id + 1) % ranks);
        for pause in [1_100, 2_050, 990] {
            if id == 2 {
                std::thread::sleep(Duration::from_millis(pause));
                rank.world().send(left, 0, b"late")?;
                rank.world().recv::<u8>(right, 0)?;
            } else {
                rank.world().recv::<u8>(right, 0)?;
                rank.world().send(left, 0, b"then")?;
            }
        }
        rank.finish().map(drop)
    });
    for result in results {
        result.expect("nobody waits for ever");
    }
}
