//! The recurrence of `docs/pagerank.md` as it is written, edge by edge: what
//! tests hold the distributed program against.

use std::collections::BTreeMap;

use super::Edge;

/// Label and rank of every vertex that has an edge, by label.
pub fn ranks(edges: &[Edge], iterations: usize, reset: f64) -> Vec<(u32, f64)> {
    let mut ranks: BTreeMap<u32, f64> =
        edges.iter().flat_map(|edge| [(edge.source, 1.0), (edge.target, 1.0)]).collect();
    let mut out_degree: BTreeMap<u32, f64> = BTreeMap::new();
    for edge in edges {
        *out_degree.entry(edge.source).or_default() += 1.0;
    }
    for _ in 0..iterations {
        let mut gathered: BTreeMap<u32, f64> = ranks.keys().map(|vertex| (*vertex, 0.0)).collect();
        for edge in edges {
            *gathered.entry(edge.target).or_default() += ranks[&edge.source] / out_degree[&edge.source];
        }
        ranks = gathered.into_iter().map(|(vertex, sum)| (vertex, reset + (1.0 - reset) * sum)).collect();
    }
    ranks.into_iter().collect()
}
