//! Tests of `generate`.

use super::*;
use crate::als::csv;
use crate::als::rating::Rating;
use std::collections::{BTreeMap, BTreeSet};

fn ratings(scale: f64, seed: u64) -> Vec<(Rating, u64)> {
    let mut found = Vec::new();
    csv::ratings(&generate(scale, seed), "generated", |r, t| found.push((r, t))).expect("good");
    found
}

fn quartiles(ids: impl Iterator<Item = u32>) -> [usize; 3] {
    let mut counts = BTreeMap::new();
    ids.for_each(|id| *counts.entry(id).or_insert(0_usize) += 1);
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable();
    [1, 2, 3].map(|quarter| counts[counts.len() * quarter / 4])
}

fn near(found: usize, expected: usize) -> bool {
    found.abs_diff(expected) * 4 <= expected.max(8)
}

#[test]
fn scale_one_has_the_shape_of_the_data_set() {
    let found = ratings(1.0, 1);
    assert_eq!(found.len(), 100_004);
    let (users, items): (BTreeSet<_>, BTreeSet<_>) = found.iter().map(|(r, _)| (r.user, r.item)).unzip();
    assert_eq!((users.len(), items.len()), (671, 9066));
    let pairs: BTreeSet<_> = found.iter().map(|(r, _)| (r.user, r.item)).collect();
    assert_eq!(pairs.len(), found.len(), "a pair was rated twice");
    let users = quartiles(found.iter().map(|(r, _)| r.user));
    assert!(users.iter().zip([37, 71, 161]).all(|(f, e)| near(*f, e)), "{users:?}");
    let items = quartiles(found.iter().map(|(r, _)| r.item));
    assert!(items.iter().zip([1, 3, 9]).all(|(f, e)| near(*f, e)), "{items:?}");
}

#[test]
fn stars_and_time_stamps_spread_as_there() {
    let found = ratings(1.0, 2);
    let n = found.len() as f64;
    let mean = found.iter().map(|(r, _)| f64::from(r.stars)).sum::<f64>() / n;
    let spread = (found.iter().map(|(r, _)| (f64::from(r.stars) - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((mean - 3.54).abs() < 0.15 && (spread - 1.06).abs() < 0.1, "{mean} {spread}");
    assert!(found.iter().all(|(r, _)| (r.stars * 2.0).fract() == 0.0));
    for digit in 0..10 {
        let share = found.iter().filter(|(_, t)| t % 10 == digit).count() as f64 / n;
        assert!((share - 0.1).abs() < 0.01, "digit {digit}: {share}");
    }
}

#[test]
fn another_scale_multiplies_and_another_seed_changes() {
    let small = ratings(0.1, 1);
    assert_eq!(small.len(), 10_000);
    assert_eq!(small.iter().map(|(r, _)| r.user).max(), Some(67));
    assert_eq!(small.iter().map(|(r, _)| r.item).max(), Some(907));
    assert_ne!(small, ratings(0.1, 2));
    assert_eq!(small, ratings(0.1, 1));
}
