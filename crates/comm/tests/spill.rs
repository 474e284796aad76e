//! Spilling is charged as the disk's time, and the account still adds up.

use crate::common::{emulation, fabric, run};
use crosstalk_comm::Access;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::system::Disk;
use crosstalk_core::units::{BitRate, Seconds};
use std::thread::sleep;
use std::time::Duration;

/// One node with a disk of 100 MB/s and a latency of 10 ms.
fn with_disk() -> Emulation {
    let mut emulation = emulation(1, &fabric(1e3, 1e3, 1e3, 1.0, 0.0));
    emulation.node.disk = Some(Disk { rate: BitRate(8e8), latency: Seconds(0.01) });
    emulation
}

/// Takes 2 ms, as a slow disk of the host might.
fn slowly() -> Result<(), Fault> {
    sleep(Duration::from_millis(2));
    Ok(())
}

#[test]
fn in_virtual_time_a_disk_takes_its_latency_and_rate_whatever_the_host_took() {
    let accounts = run(1, Some(&with_disk()), |rank| {
        rank.restart_clock()?;
        rank.spill(Access::Seek, 1_000_000, slowly)?;
        rank.spill(Access::Sequential, 500_000, slowly)?;
        let account = rank.account()?;
        let parts = account.compute.0 + account.wait.0 + account.serialise.0 + account.spill.0;
        assert!((account.total().0 - parts).abs() < 1e-12, "{account:?}");
        assert!(rank.now()?.0 >= account.total().0);
        Ok(account)
    });
    assert_eq!(accounts[0].spill, Seconds(0.025));
    assert_eq!((accounts[0].wait, accounts[0].serialise), (Seconds(0.0), Seconds(0.0)));
}

#[test]
fn in_real_time_spilling_takes_the_time_of_its_work() {
    let accounts = run(1, None, |rank| {
        rank.restart_clock()?;
        rank.spill(Access::Seek, 1 << 40, slowly)?;
        Ok((rank.account()?, rank.now()?))
    });
    let (account, now) = accounts[0];
    assert!((0.002..1.0).contains(&account.spill.0), "{account:?}");
    assert!(now.0 >= account.total().0);
}

#[test]
fn a_node_without_a_disk_cannot_spill() {
    let mut without = with_disk();
    without.node.disk = None;
    run(1, Some(&without), |rank| {
        let fault = rank.spill(Access::Seek, 1, slowly).expect_err("refused");
        assert!(fault.to_string().contains("no disk to spill to"), "{fault}");
        assert!(fault.remedy.is_some());
        assert_eq!(rank.account()?.spill, Seconds(0.0));
        Ok(())
    });
}

#[test]
fn work_that_fails_is_not_charged() {
    run(1, Some(&with_disk()), |rank| {
        let failed: Result<(), _> =
            rank.spill(Access::Seek, 1 << 20, || Err(Fault::attempt("no space left on device")));
        assert!(failed.is_err());
        assert_eq!(rank.account()?.spill, Seconds(0.0));
        Ok(())
    });
}

/// Computes for `milliseconds` of this thread's CPU time.
fn compute(milliseconds: u64) {
    let end = crosstalk_host::clock::thread_cpu_ns() + milliseconds * 1_000_000;
    while crosstalk_host::clock::thread_cpu_ns() < end {}
}

#[test]
fn work_that_spills_is_charged_for_its_computing_and_for_the_disk() {
    let mut emulation = with_disk();
    (emulation.node.cores, emulation.node.speed) = (4, 1.0);
    let accounts = run(1, Some(&emulation), |rank| {
        rank.restart_clock()?;
        let work = |rank: &mut crosstalk_comm::Rank| {
            compute(8);
            rank.spill(Access::Seek, 1_000_000, slowly)?;
            compute(8);
            rank.now()
        };
        let within = rank.compute_in_parallel_spilling(work)?;
        let parallel = rank.account()?;
        // The subtracted cost of a reading is an estimate: the clock may then show a little less.
        assert!(within.0 <= parallel.total().0 + 2e-6, "work sees the same clock");
        rank.serialise_spilling(work)?;
        Ok((parallel, rank.account()?))
    });
    let (parallel, both) = accounts[0];
    // 16 ms of computing take 4 ms on four cores, 16 ms on one. The disk takes 20 ms each time.
    let near = |found: Seconds, expected: f64| (found.0 - expected).abs() < 0.1 * expected;
    assert!(near(parallel.compute, 0.004) && parallel.serialise == Seconds(0.0), "{parallel:?}");
    assert!(near(both.serialise, 0.016) && near(both.compute, 0.004), "{both:?}");
    assert_eq!((parallel.spill, both.spill), (Seconds(0.02), Seconds(0.04)));
}
