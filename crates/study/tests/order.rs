//! The order of cells: every cell once a block, seeded, shuffled, hard levels together.

use crate::mock;
use crosstalk_core::cell::CellId;
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, parse, plan};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn planned(fixture: &str, seed: u64) -> Plan {
    let study = parse(fixture, "f.toml").expect("reads");
    let options = PlanOptions { seed: Some(seed), ..PlanOptions::default() };
    plan(&study, &mock::catalogues(), &mock::registry(), &options).expect("plans")
}

const EASY: &str = include_str!("../../../studies/kosmos.toml");
const HARD: &str = include_str!("fixtures/volunteer.toml");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_cell_comes_once_a_block(seed: u64, block in 0usize..100) {
        let plan = planned(HARD, seed);
        let order = plan.cells_in_order(block);
        let all: BTreeSet<_> = plan.cells().map(|cell| &cell.id).collect();
        prop_assert_eq!(order.len(), all.len());
        prop_assert_eq!(order.into_iter().map(|cell| &cell.id).collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn hard_levels_stay_together(seed: u64, block in 0usize..100) {
        let plan = planned(HARD, seed);
        let order = plan.cells_in_order(block);
        let protect = |id: &CellId| (id.experiment == "owner").then(|| id.levels["protect"].to_string());
        let levels: Vec<_> = order.iter().map(|cell| protect(&cell.id)).collect();
        let changes = levels.windows(2).filter(|pair| pair[0] != pair[1]).count();
        prop_assert!(changes <= 4, "{changes} changes in {levels:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_block_another(seed: u64) {
        let plan = planned(EASY, seed);
        let again = planned(EASY, seed);
        prop_assert_eq!(plan.cells_in_order(3), again.cells_in_order(3));
        prop_assert_ne!(plan.cells_in_order(3), plan.cells_in_order(4));
    }
}

#[test]
fn experiments_are_interleaved_and_no_cell_has_a_fixed_place() {
    let mut plan = planned(EASY, 1);
    plan.experiments.iter_mut().for_each(|experiment| experiment.blocks = None);
    let first = plan.cells_in_order(0);
    let cells = first.len();
    // So many that a cell misses a place with a probability of exp(−3).
    let blocks = 3 * cells;
    let mut first_half = vec![0; cells];
    let mut seen = BTreeSet::new();
    for block in 0..blocks {
        for (place, cell) in plan.cells_in_order(block).into_iter().enumerate() {
            let known = first.iter().position(|other| *other == cell).expect("is there");
            first_half[known] += usize::from(place < cells / 2);
            seen.insert((place, &cell.id));
        }
    }
    // Binomial(blocks, 1/2) stays within 6 standard deviations, each of half a square root of them.
    let bound = (3.0 * (blocks as f64).sqrt()) as usize;
    assert!(first_half.iter().all(|count| count.abs_diff(blocks / 2) < bound), "{first_half:?}");
    assert!(seen.len() > cells * cells * 9 / 10, "every cell comes at nearly every place: {}", seen.len());
}

#[test]
fn the_order_of_hard_levels_changes_between_blocks() {
    let plan = planned(HARD, 1);
    let first = |block: usize| {
        let order = plan.cells_in_order(block);
        let cell = order.iter().find(|cell| cell.id.experiment == "owner").expect("is there");
        cell.id.levels["protect"].to_string()
    };
    let firsts: BTreeSet<_> = (0..20).map(first).collect();
    assert_eq!(firsts.len(), 2);
}
