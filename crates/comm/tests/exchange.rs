//! Large simultaneous exchanges end; clocks, accounts and fidelity are reported.

use crate::common::{emulation, fabric, run, try_run};
use crosstalk_core::units::Seconds;
use std::hint::black_box;

#[test]
fn ranks_that_all_send_more_than_sockets_hold_do_not_deadlock() {
    const NODES: usize = 7;
    const BYTES: usize = 6 << 20;
    run(NODES, None, |rank| {
        let id = rank.id();
        let got = rank.world().alltoallv((0..NODES).map(|to| vec![(16 * id + to) as u8; BYTES]).collect())?;
        for (from, part) in got.iter().enumerate() {
            assert!(part.len() == BYTES && part.iter().all(|byte| *byte == (16 * from + id) as u8));
        }
        Ok(())
    });
}

#[test]
fn two_ranks_that_both_send_first_do_not_deadlock() {
    run(2, None, |rank| {
        let peer = 1 - rank.id();
        for _ in 0..3 {
            rank.world().send(peer, 0, &vec![1_u8; 32 << 20])?;
        }
        for _ in 0..3 {
            assert_eq!(rank.world().recv::<u8>(peer, 0)?.len(), 32 << 20);
        }
        Ok(())
    });
}

/// About `rounds` dependent multiplications.
fn work(rounds: u64) -> u64 {
    (0..rounds).fold(1u64, |x, i| black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i)))
}

#[test]
fn the_parts_of_the_account_add_up_to_the_clock() {
    let emulation = emulation(2, &fabric(1e8, 1000.0, 1000.0, 1.0, 0.0));
    let accounts = run(2, Some(&emulation), |rank| {
        rank.restart_clock()?;
        work(1_000_000);
        rank.serialise(|| work(1_000_000));
        if rank.id() == 0 {
            rank.world().send(1, 0, &[1_u8])?;
        } else {
            rank.world().recv::<u8>(0, 0)?;
        }
        let account = rank.account()?;
        assert!(rank.now()?.0 >= account.total().0);
        Ok(account)
    });
    for account in &accounts {
        assert!(account.compute.0 > 100e-6 && account.serialise.0 > 100e-6, "{account:?}");
        let ratio = account.compute.0 / account.serialise.0;
        assert!((0.3..3.0).contains(&ratio), "the same work, {ratio}");
    }
    assert_eq!(accounts[0].wait, Seconds(0.0));
    // The message takes a tenth of a second. The difference of the two ranks' computing is noise, of milliseconds
    // on a virtual machine.
    assert!(accounts[1].wait.0 > 0.0);
}

#[test]
fn marks_have_the_time_at_which_they_were_made() {
    let emulation = emulation(2, &fabric(1e8, 1000.0, 1000.0, 1.0, 0.0));
    for emulated in [true, false] {
        run(2, emulated.then_some(&emulation), |rank| {
            rank.restart_clock()?;
            let peer = 1 - rank.id();
            let mut between = Vec::new();
            for _ in 0..3 {
                rank.mark_time();
                work(1_000_000);
                rank.mark_time();
                rank.world().send(peer, 0, &[1_u8])?;
                rank.world().recv::<u8>(peer, 0)?;
                between.push(rank.now()?);
            }
            let marked = rank.marked_times()?;
            assert_eq!(marked.len(), 6);
            assert!(marked.is_sorted_by(|one, next| one.0 <= next.0), "{marked:?}");
            for (marks, after) in marked.chunks(2).zip(&between) {
                assert!(marks[1].0 - marks[0].0 > 100e-6, "work takes its time: {marked:?}");
                assert!(marks[1].0 < after.0, "{marked:?}, {between:?}");
            }
            assert_eq!(rank.marked_times()?, [], "each is returned once");
            Ok(())
        });
    }
}

#[test]
fn a_node_of_four_slow_cores_computes_as_such() {
    let mut emulation = emulation(1, &fabric(1e3, 1e3, 1e3, 1.0, 0.0));
    emulation.node.cores = 4;
    emulation.node.speed = 0.5;
    run(1, Some(&emulation), |rank| {
        let ratio_of = |rank: &mut crosstalk_comm::Rank| {
            let timed = |rank: &mut crosstalk_comm::Rank, parallel: bool| {
                let begin = rank.now().expect("has a clock").0;
                if parallel {
                    rank.compute_in_parallel(|| work(3_000_000));
                } else {
                    work(3_000_000);
                }
                rank.now().expect("has a clock").0 - begin
            };
            timed(rank, false) / timed(rank, true)
        };
        let mut ratios: Vec<f64> = (0..7).map(|_| ratio_of(rank)).collect();
        ratios.sort_by(f64::total_cmp);
        assert!((3.6..4.4).contains(&ratios[3]), "{ratios:?}");
        Ok(())
    });
}

#[test]
fn restarting_sets_all_clocks_to_zero_and_earlier_messages_have_arrived() {
    let emulation = emulation(3, &fabric(1e6, 1000.0, 1000.0, 1.0, 0.0));
    run(3, Some(&emulation), |rank| {
        let id = rank.id();
        rank.world().send((id + 1) % 3, 5, b"old")?;
        work(1_000_000 * id as u64);
        rank.restart_clock()?;
        assert!(rank.now()?.0 < 900e-6, "{:?}", rank.now());
        assert_eq!(rank.world().recv::<u8>((id + 2) % 3, 5)?, b"old");
        assert!(rank.now()?.0 < 900e-6, "it had arrived: {:?}", rank.account());
        Ok(())
    });
}

#[test]
fn boards_decide_which_fabric_a_message_takes() {
    let mut emulation = emulation(3, &fabric(1e4, 0.0, 0.0, 1.0, 0.0));
    emulation.across = fabric(1e6, 0.0, 0.0, 1.0, 0.0);
    emulation.board = vec![0, 0, 1];
    let waits = run(3, Some(&emulation), |rank| {
        rank.restart_clock()?;
        if rank.id() == 0 {
            rank.world().send(1, 0, &[1_u8])?;
            rank.world().send(2, 0, &[1_u8])?;
        } else {
            rank.world().recv::<u8>(0, 0)?;
        }
        Ok(rank.now()?.0)
    });
    assert!((9e-6..300e-6).contains(&waits[1]) && waits[2] >= 990e-6, "{waits:?}");
}

#[test]
fn fidelity_is_reported_in_virtual_time_only() {
    let program = |mut rank: crosstalk_comm::Rank| {
        rank.restart_clock()?;
        work(20_000_000);
        if rank.id() == 0 {
            rank.world().send(1, 0, &[1_u8])?;
        } else {
            rank.world().recv_any::<u8>(0)?;
        }
        rank.finish()
    };
    for result in try_run(2, None, 20.0, program) {
        assert_eq!(result, Ok(None));
    }
    let emulation = emulation(2, &fabric(1e3, 1e3, 1e3, 1.0, 0.0));
    let seen: Vec<_> = try_run(2, Some(&emulation), 20.0, program)
        .into_iter()
        .map(|result| result.expect("finishes").expect("is virtual"))
        .collect();
    assert!(seen.iter().all(|seen| seen.counters["cpu_seconds"] > 1e-3));
}
