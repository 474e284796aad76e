//! Tests of `ranks`.

use super::*;
use crate::exchange::{Exchange, mock::on_threads};
use crate::pagerank::build::build;
use crate::pagerank::edge::Edge;
use crate::pagerank::partition::Partition;
use crate::pagerank::reference;
use crate::pagerank::source::{Extent, Source};
use proptest::prelude::*;
use std::io::Write;
use tempfile::NamedTempFile;

/// The ranks as `parts` parts find them, by label, and the last balance.
fn distributed(
    source: &Source,
    extent: Extent,
    parts: usize,
    iterations: usize,
) -> (Vec<(u32, f64)>, Vec<Balance>) {
    let found = on_threads(parts, |exchange| {
        let partition = Partition::new(parts);
        let (shard, _) = build(source, extent, 9, exchange).expect("builds");
        let mut ranks = Ranks::new(&shard, 0.15);
        let mut balances = vec![ranks.balance()];
        for iteration in 1..=iterations {
            let packed = ranks.pack_shares();
            let arrived = exchange.exchange(packed).expect("exchanged");
            ranks.unpack_shares(arrived).expect("unpacked");
            balances.push(ranks.iterate(iteration == iterations));
        }
        let named: Vec<_> =
            ranks.iter().map(|(place, r)| (partition.label(exchange.part(), place), r)).collect();
        (named, balances)
    });
    let mut ranks = Vec::new();
    let mut balances = vec![Balance::default(); iterations + 1];
    for (part, partial) in found {
        ranks.extend(part);
        balances.iter_mut().zip(&partial).for_each(|(sum, b)| sum.add(b));
    }
    ranks.sort_by_key(|(label, _)| *label);
    (ranks, balances)
}

fn written(edges: &[Edge]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    for edge in edges {
        writeln!(file, "{} {}", edge.source, edge.target).expect("written");
    }
    file
}

fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
    pairs.iter().map(|&(source, target)| Edge { source, target }).collect()
}

fn of_file(pairs: &[(u32, u32)], parts: usize, iterations: usize) -> Vec<(u32, f64)> {
    let file = written(&edges(pairs));
    let source = Source::File(file.path().to_path_buf());
    distributed(&source, source.extent().expect("known"), parts, iterations).0
}

fn sum_of(ranks: &[(u32, f64)]) -> u64 {
    checksum(ranks.iter().map(|(label, rank)| (Name::Number(u64::from(*label)), *rank)))
}

#[test]
fn a_ring_keeps_its_ranks() {
    for (_, rank) in of_file(&[(0, 1), (1, 2), (2, 3), (3, 0)], 3, 5) {
        assert!((rank - 1.0).abs() < 1e-15);
    }
}

#[test]
fn a_star_by_hand() {
    // Three leaves point at 9, which points nowhere: leaves get the reset
    // alone, and what 9 had is lost.
    let star = [(1, 9), (2, 9), (3, 9)];
    let once = of_file(&star, 2, 1);
    assert_eq!(once, [(1, 0.15), (2, 0.15), (3, 0.15), (9, 0.15 + 0.85 * 3.0)]);
    let twice = of_file(&star, 2, 2);
    assert!((twice[3].1 - (0.15 + 0.85 * 0.45)).abs() < 1e-15);
}

#[test]
fn duplicate_edges_and_self_loops_count_one_by_one() {
    // 0 points twice at 1 and once at itself: a third of its rank an edge.
    let ranks = of_file(&[(0, 1), (0, 1), (0, 0)], 1, 1);
    assert!((ranks[0].1 - (0.15 + 0.85 / 3.0)).abs() < 1e-15);
    assert!((ranks[1].1 - (0.15 + 0.85 * 2.0 / 3.0)).abs() < 1e-15);
}

#[test]
fn the_answer_is_the_same_bit_by_bit_for_any_number_of_parts() {
    let source = Source::Rmat(crate::pagerank::rmat::Rmat::new(11, 90, 4));
    let extent = source.extent().expect("known");
    let (alone, balances) = distributed(&source, extent, 1, 4);
    for parts in [2, 3, 6] {
        let (ranks, sums) = distributed(&source, extent, parts, 4);
        assert_eq!(ranks, alone);
        assert_eq!(sums, balances);
        assert_eq!(sum_of(&ranks), sum_of(&alone));
    }
    let mut spoiled = alone.clone();
    spoiled[7].1 = f64::from_bits(spoiled[7].1.to_bits() ^ 1);
    assert_ne!(sum_of(&spoiled), sum_of(&alone));
}

#[test]
fn the_top_are_the_highest_in_order() {
    let ranks = [(0, 1.0), (1, 3.0), (2, 2.0), (3, 3.0), (4, 0.5)];
    assert_eq!(highest_ranks(ranks.into_iter(), 3), [(1, 3.0), (3, 3.0), (2, 2.0)]);
    assert_eq!(highest_ranks(ranks.into_iter(), 9).len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_graph_agrees_with_the_reference_and_balances(
        pairs in proptest::collection::vec((0_u32..40, 0_u32..40), 1..200),
        parts in 1_usize..5,
        iterations in 1_usize..6,
    ) {
        let list = edges(&pairs);
        let file = written(&list);
        let source = Source::File(file.path().to_path_buf());
        let (ranks, balances) = distributed(&source, source.extent().expect("known"), parts, iterations);
        let expected = reference::ranks(&list, iterations, 0.15);
        prop_assert_eq!(ranks.len(), expected.len());
        for ((label, rank), (expected_label, expected)) in ranks.iter().zip(&expected) {
            prop_assert_eq!(label, expected_label);
            prop_assert!((rank - expected).abs() < 1e-12 * expected);
        }
        for pair in balances.windows(2) {
            let expected = 0.15 * ranks.len() as f64 + 0.85 * pair[0].flowing.to_number();
            prop_assert!((pair[1].all.to_number() - expected).abs() < 1e-9 * expected);
        }
    }
}
