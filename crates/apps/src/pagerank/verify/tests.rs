//! Tests of `verify`.

use super::*;
use crate::pagerank::mass::Mass;

fn balance(all: f64, flowing: f64) -> Balance {
    Balance { all: Mass::of_rank(all), flowing: Mass::of_rank(flowing) }
}

#[test]
fn a_star_balances() {
    // Three leaves and a sink, by hand: 4, then 0.6 + 0.85 · 3, then 0.6 + 0.85 · 0.45.
    let good = [balance(4.0, 3.0), balance(3.15, 0.45), balance(0.9825, 0.45)];
    assert_eq!(check_balances(4, &good, 0.15), Ok(()));
    let mut lost = good;
    lost[2] = balance(0.9824, 0.45);
    let fault = check_balances(4, &lost, 0.15).expect_err("refused");
    assert!(fault.message.starts_with("wrong answer: the ranks of iteration 2 add up to"), "{fault}");
    assert!(check_balances(5, &good, 0.15).is_err());
}

#[test]
fn a_missing_edge_is_found() {
    assert_eq!(check_edge_count(7, 7), Ok(()));
    assert!(check_edge_count(7, 6).expect_err("refused").message.contains("has 7 edges, the slaves hold 6"));
}

#[test]
fn the_highest_ranks_are_as_many_as_there_are_vertices_and_descend() {
    assert_eq!(check_highest(&[(7, 2.0), (3, 1.0)], 2), Ok(()));
    assert_eq!(check_highest(&[(7, 2.0); TOP_RANKS], 1000), Ok(()));
    assert!(check_highest(&[(7, 2.0)], 2).is_err());
    assert!(check_highest(&[(7, 1.0), (3, 2.0)], 2).is_err());
}

#[test]
fn a_sampled_vertex_must_have_the_rank_its_edges_give_it() {
    let report = |sum: f64, rank: f64| vec![sum.to_bits(), rank.to_bits()];
    let check = |rank| SampleCheck::new(&[report(1.5, f64::NAN), report(0.5, rank)]).expect("joins");
    let rank = 0.15 + 0.85 * 2.0;
    assert_eq!(check(rank).verify(0.15, 1.0), Ok(()));
    assert_eq!(check(rank * 3.0).verify(0.15, 3.0), Ok(()));
    assert!(check(rank * (1.0 + 1e-8)).verify(0.15, 1.0).is_err());
    assert!(check(f64::NAN).verify(0.15, 1.0).is_err());
    assert!(SampleCheck::new(&[vec![0; 2], vec![0; 4]]).is_err());
}
