//! A corrupted write is found every time.

use crate::common::{Local, SLOW, attempt, emulation, params};
use crosstalk_core::Fault;
use crosstalk_files::{Client, Corruption, DataJob, Direction, Job, Member, Site, Sync, Transfers};

const CORRUPTIONS: [(Corruption, &str); 3] = [
    (Corruption::Data, "data"),
    (Corruption::StripeOrder, "stripe-order"),
    (Corruption::LostWrite, "lost-write"),
];
const STRIPE: u64 = 16;

/// Runs all clients, phase by phase, without a network. The faults of their checks.
fn faults(
    servers: usize,
    clients: usize,
    direction: Direction,
    transfers: Transfers,
    corruption: Option<Corruption>,
    seed: u64,
) -> Vec<Fault> {
    let site = Site { servers, stripe: STRIPE, capacity: u64::MAX, sync: Sync::None };
    let mut local = Client(Local::new(site));
    let job = |number| DataJob::new(direction, transfers, corruption, Member { number, clients, seed });
    let mut jobs: Vec<DataJob> = (0..clients).map(job).collect();
    jobs.iter_mut().for_each(|job| job.make(&mut local).expect("makes"));
    jobs.iter_mut().for_each(|job| job.fill(&mut local).expect("fills"));
    jobs.iter_mut().for_each(|job| job.timed(&mut local).expect("runs"));
    jobs.iter_mut().filter_map(|job| job.check(&mut local, ()).err()).collect()
}

/// Calls `see` with the faults of every kind of test, with many seeds.
fn in_every_test(corruption: Option<Corruption>, see: impl Fn(Vec<Fault>, String)) {
    for seed in 0..200 {
        for direction in [Direction::Write, Direction::Read] {
            for (shared, random) in [(true, false), (true, true), (false, false)] {
                let (servers, clients) = (1 + seed as usize % 4, 1 + seed as usize % 3);
                let transfers = Transfers {
                    shared,
                    random,
                    block: 8 * STRIPE,
                    transfer: [2, 4, 8][seed as usize % 3] * STRIPE,
                };
                let case = format!("{corruption:?}, {direction:?}, {transfers:?}, seed {seed}");
                see(faults(servers, clients, direction, transfers, corruption, seed), case);
            }
        }
    }
}

#[test]
fn each_corruption_is_found_every_time_by_the_client_whose_data_it_is() {
    for (corruption, _) in CORRUPTIONS {
        in_every_test(Some(corruption), |faults, case| {
            assert_eq!(faults.len(), 1, "{case}: {faults:?}");
            let text = faults[0].to_string();
            assert!(text.contains("wrong contents at offset"), "{case}: {text}");
            assert!(text.contains("file `data") && text.contains("on server"), "{case}: {text}");
        });
    }
}

#[test]
fn without_a_corruption_nothing_is_found() {
    in_every_test(None, |faults, case| assert_eq!(faults, [], "{case}"));
}

#[test]
fn the_workload_fails_by_it_and_says_what_was_expected() {
    for (_, inject) in CORRUPTIONS {
        for (test, emulation) in [("write", None), ("read", Some(emulation(4, 1, SLOW, None)))] {
            let pairs = [("test", test), ("inject", inject), ("servers", "2")];
            let fault = attempt(&params(&pairs), 4, emulation.as_ref(), 7).fault();
            assert!(fault.contains("file `data`: wrong contents at offset"), "{inject}: {fault}");
            assert!(fault.contains("expected 0x") && fault.contains("found 0x"), "{inject}: {fault}");
        }
    }
}
