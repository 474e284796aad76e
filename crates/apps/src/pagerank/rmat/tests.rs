//! Tests of `rmat`.

use super::*;
use proptest::prelude::*;

#[test]
fn the_alias_table_gives_every_outcome_its_probability() {
    let probabilities = joint_probabilities();
    let table = AliasTable::new(&probabilities);
    let mut mass = vec![0.0; OUTCOMES];
    for (outcome, (threshold, alias)) in table.entries.iter().enumerate() {
        let kept = f64::from(*threshold) / 2_f64.powi(32);
        mass[outcome] += kept / OUTCOMES as f64;
        mass[*alias as usize] += (1.0 - kept) / OUTCOMES as f64;
    }
    for (found, expected) in mass.iter().zip(&probabilities) {
        assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
    }
}

/// Undoes the permutation by looking every label up.
fn unshuffled(graph: &Rmat) -> Vec<u32> {
    let mut back = vec![u32::MAX; graph.labels() as usize];
    for label in 0..graph.labels() {
        back[graph.shuffle(label) as usize] = label;
    }
    back
}

#[test]
fn quadrants_come_as_often_as_they_should_on_every_level() {
    let graph = Rmat::new(12, 32, 7);
    let back = unshuffled(&graph);
    let n = graph.edges() as f64;
    let mut counts = vec![[0_u64; 4]; 12];
    for index in 0..graph.edges() {
        let edge = graph.edge(index);
        let (s, t) = (back[edge.source as usize], back[edge.target as usize]);
        for (level, count) in counts.iter_mut().enumerate() {
            count[(s >> level & 1) as usize * 2 + (t >> level & 1) as usize] += 1;
        }
    }
    for count in counts {
        for (found, p) in count.iter().zip(QUADRANTS) {
            let sigma = (n * p * (1.0 - p)).sqrt();
            assert!((*found as f64 - n * p).abs() < 5.0 * sigma, "{count:?}");
        }
    }
}

#[test]
fn degrees_are_as_skewed_as_the_recursion_says() {
    // Label 0 of the recursion is the target of (a + c)^scale of the edges.
    let graph = Rmat::new(10, 64, 3);
    let hub = graph.shuffle(0);
    let found = (0..graph.edges()).filter(|i| graph.edge(*i).target == hub).count() as f64;
    let expected = graph.edges() as f64 * 0.76_f64.powi(10);
    assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found} for {expected}");
}

#[test]
fn another_seed_gives_another_graph() {
    let (a, b) = (Rmat::new(16, 16, 1), Rmat::new(16, 16, 2));
    let same = (0..1000).filter(|i| a.edge(*i) == b.edge(*i)).count();
    assert!(same < 10, "{same} of 1000 edges are the same");
}

proptest! {
    #[test]
    fn shuffling_is_a_permutation(scale in 1_u32..=14, seed: u64) {
        let graph = Rmat::new(scale, 1, seed);
        let back = unshuffled(&graph);
        prop_assert!(back.iter().all(|label| *label != u32::MAX));
    }

    #[test]
    fn labels_stay_within_the_scale(scale in 1_u32..=28, seed: u64, index: u64) {
        let graph = Rmat::new(scale, 16, seed);
        let edge = graph.edge(index % graph.edges());
        prop_assert!(edge.source < graph.labels() && edge.target < graph.labels());
    }
}
