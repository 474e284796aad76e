//! The search on surfaces whose best grouping is known, with noise.

use super::super::grouping::{LIMITS, Limits, WHO, Who};
use super::*;
use crosstalk_stats::rng::Rng;
use proptest::prelude::*;

/// The whole space of 16 users.
fn space() -> Vec<Grouping> {
    let mut space = vec![Grouping::PLAIN];
    for groups in [2, 4, 8, 16] {
        for (who, _) in WHO {
            for (limits, _) in LIMITS {
                // One each is the same however they are divided.
                if groups < 16 || who == Who::Dealt {
                    space.push(Grouping { groups, limits, who });
                }
            }
        }
    }
    space
}

/// Pressure with streamers: limits help, more if they are apart; too many groups are a cliff.
fn streaming(grouping: &Grouping) -> f64 {
    if grouping.groups == 1 {
        return 10.0;
    }
    let who = [(Who::Dealt, 1.0), (Who::Alike, 0.9), (Who::Apart, 0.8)];
    let limits = [(Limits::None, 0.9), (Limits::Equal, 0.6), (Limits::Need, 0.5)];
    let groups = [(2, 1.0), (4, 0.9), (8, 0.8), (16, 1.7)];
    let factor =
        |table: &[(Who, f64)]| table.iter().find(|(who, _)| *who == grouping.who).map_or(1.0, |(_, f)| *f);
    let limit = limits.iter().find(|(limits, _)| *limits == grouping.limits).map_or(1.0, |(_, f)| *f);
    let count = groups.iter().find(|(groups, _)| *groups == grouping.groups).map_or(1.0, |(_, f)| *f);
    10.0 * factor(&who) * limit * count
}

/// Users alike: nothing helps, and a group each is a cliff.
fn alike(grouping: &Grouping) -> f64 {
    let limits = if grouping.limits == Limits::None { 1.0 } else { 1.05 };
    match grouping.groups {
        1 => 10.0,
        16 => 13.5 * limits,
        groups => 10.0 * limits + 0.1 * groups as f64,
    }
}

/// The best is beside the middle, where an interaction hides it: few groups, by need.
fn few(grouping: &Grouping) -> f64 {
    match (grouping.groups, grouping.limits) {
        (1, _) => 10.0,
        (2, Limits::Need) => 4.0,
        (groups, Limits::Need) => 4.0 * 1.3_f64.powi(groups.ilog2().cast_signed() - 1),
        (_, Limits::Equal) => 8.0,
        (_, Limits::None) => 9.5,
    }
}

/// Searches a surface with noise of this spread. Returns what was found, and the orders in which runs were made.
fn found(surface: fn(&Grouping) -> f64, spread: f64, seed: u64, budget: usize) -> SearchResult<()> {
    let mut random = Rng::seeded(!seed);
    let mut measure = |grouping: &Grouping, _block: usize, cap: Option<f64>| {
        let makespan = surface(grouping) * (spread * random.normal()).exp();
        Ok(match cap {
            Some(cap) if makespan > cap => Ending::Cut(cap),
            _ => Ending::Done { makespan, more: () },
        })
    };
    let plain = measure(&Grouping::PLAIN, 0, None).expect("runs");
    let before = vec![Run { grouping: Grouping::PLAIN, block: 0, ending: plain }];
    search(&space(), budget, seed, before, &mut measure).expect("never fails")
}

fn best(surface: fn(&Grouping) -> f64) -> f64 {
    space().iter().map(surface).fold(f64::INFINITY, f64::min)
}

#[test]
fn without_noise_the_best_is_found_and_what_is_beside_it_is_known() {
    for surface in [streaming, alike, few] {
        let found = found(surface, 0.0, 1, 30);
        assert_eq!(surface(&found.best), best(surface), "{}", found.best.code());
        let next = more(&space(), found.best).into_iter().take(1);
        for neighbour in next.chain(fewer(&space(), found.best)) {
            let known = found.runs.iter().any(|run| run.grouping == neighbour);
            assert!(known, "{} is beside {}", neighbour.code(), found.best.code());
        }
    }
    assert_eq!(found(alike, 0.0, 1, 30).best, Grouping::PLAIN);
}

/// It falls off only with a group each, two steps above the best.
fn late_cliff(grouping: &Grouping) -> f64 {
    match (grouping.groups, grouping.limits) {
        (1, _) => 10.0,
        (16, _) => 9.0,
        (groups, Limits::Equal) if grouping.who == Who::Dealt => 4.0 + 0.02 * groups as f64,
        _ => 8.0,
    }
}

#[test]
fn more_groups_are_run_until_it_falls_off() {
    let found = found(late_cliff, 0.0, 1, 30);
    assert_eq!(found.best.code(), "2-dealt-equal");
    let has_run = |code: &str| found.runs.iter().any(|run| run.grouping.code() == code);
    assert!(has_run("4-dealt-equal") && has_run("8-dealt-equal") && has_run("16-dealt-equal"));
}

#[test]
fn with_noise_what_is_found_is_within_5_percent_of_the_best() {
    for (surface, least) in [(streaming as fn(&Grouping) -> f64, 95), (alike, 90), (few, 95)] {
        let good =
            (0..100).filter(|seed| surface(&found(surface, 0.04, *seed, 30).best) <= 1.05 * best(surface));
        let good = good.count();
        assert!(good >= least, "{good} of 100");
    }
}

#[test]
fn what_is_much_slower_than_plain_is_cut_off_and_not_run_again() {
    let found = found(|grouping| if grouping.groups == 1 { 1.0 } else { 2.0 }, 0.0, 3, 30);
    assert_eq!(found.best, Grouping::PLAIN);
    let cut = found.runs.iter().filter(|run| matches!(run.ending, Ending::Cut(cap) if cap == CAP));
    let groupings: Vec<Grouping> = cut.map(|run| run.grouping).collect();
    assert!(!groupings.is_empty());
    let again = |one: &Grouping| groupings.iter().filter(|other| *other == one).count();
    assert!(groupings.iter().all(|one| again(one) == 1));
}

#[test]
fn one_that_is_killed_is_never_chosen() {
    let mut measure = |grouping: &Grouping, _: usize, _: Option<f64>| {
        Ok(match grouping.limits {
            Limits::Need => Ending::Killed("g1".into()),
            _ => Ending::Done { makespan: streaming(grouping), more: () },
        })
    };
    let before =
        vec![Run { grouping: Grouping::PLAIN, block: 0, ending: Ending::Done { makespan: 10.0, more: () } }];
    let found = search(&space(), 30, 1, before, &mut measure).expect("never fails");
    assert_eq!(found.best.code(), "8-apart-equal");
}

#[test]
fn a_fault_ends_the_search() {
    let mut measure = |_: &Grouping, _: usize, _: Option<f64>| Err(Fault::interrupted());
    let before =
        vec![Run { grouping: Grouping::PLAIN, block: 0, ending: Ending::Done { makespan: 1.0, more: () } }];
    assert_eq!(search(&space(), 30, 1, before, &mut measure).err(), Some(Fault::interrupted()));
}

proptest! {
    #[test]
    fn there_are_never_more_runs_than_the_budget_and_a_seed_repeats(seed: u64, budget in 4_usize..40, spread in 0.0_f64..0.3) {
        for surface in [streaming, alike, few] {
            let once = found(surface, spread, seed, budget);
            prop_assert!(once.runs.len() <= budget, "{} of {}", once.runs.len(), budget);
            let again = found(surface, spread, seed, budget);
            prop_assert_eq!((once.best, once.runs), (again.best, again.runs));
        }
    }

    #[test]
    fn nothing_is_run_twice_in_a_block(seed: u64, spread in 0.0_f64..0.3) {
        let runs = found(streaming, spread, seed, 30).runs;
        for (at, run) in runs.iter().enumerate() {
            let same = |other: &Run<()>| other.grouping == run.grouping && other.block == run.block;
            prop_assert!(!runs[..at].iter().any(same), "{} in block {}", run.grouping.code(), run.block);
        }
    }
}
