//! The recurrence of `docs/explanation/pagerank.md`, edge by edge: the reference for the distributed program and other
//! engines.

use super::edge::Edge;

/// Label and rank of every vertex that has an edge, by label.
pub fn ranks(edges: &[Edge], iterations: usize, reset: f64) -> Vec<(u32, f64)> {
    let bound = edges.iter().map(|edge| edge.source.max(edge.target) as usize + 1).max().unwrap_or(0);
    let mut out_degree = vec![0.0; bound];
    let mut present = vec![false; bound];
    for edge in edges {
        out_degree[edge.source as usize] += 1.0;
        present[edge.source as usize] = true;
        present[edge.target as usize] = true;
    }
    let mut ranks = vec![1.0; bound];
    let mut gathered = vec![0.0; bound];
    for _ in 0..iterations {
        gathered.fill(0.0);
        for edge in edges {
            let source = edge.source as usize;
            gathered[edge.target as usize] += ranks[source] / out_degree[source];
        }
        for (rank, sum) in ranks.iter_mut().zip(&gathered) {
            *rank = reset + (1.0 - reset) * sum;
        }
    }
    (0..).zip(ranks).zip(present).filter_map(|(ranked, present)| present.then_some(ranked)).collect()
}
