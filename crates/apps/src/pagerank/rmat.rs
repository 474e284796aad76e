//! Generated graphs: R-MAT with Graph500's parameters.
//!
//! D. Chakrabarti, Y. Zhan, C. Faloutsos: "R-MAT: A Recursive Model for Graph
//! Mining", SDM 2004; parameters, labels in random order and duplicate edges
//! kept as in the Graph500 specification (a = 0.57, b = 0.19, c = 0.19). Each
//! level of the recursion picks one quadrant of the adjacency matrix, that is
//! one bit of the source and one of the target. Five levels are drawn at once
//! from an alias table (M. D. Vose, IEEE Trans. Softw. Eng. 17(9), 1991; for
//! R-MAT: L. Hübschle-Schneider, P. Sanders, 2019).
//!
//! The generator counts instead of keeping a state, so that edge `i` is the
//! same whoever makes it, and any node can make any part of the list.

use super::edge::Edge;
use crate::random::{counted, mix};

/// Probabilities of the quadrants: (source bit, target bit) = 00, 01, 10, 11.
pub const QUADRANTS: [f64; 4] = [0.57, 0.19, 0.19, 0.05];

/// Levels drawn at once: so many that the table fits into the first cache.
const LEVELS: u32 = 5;
/// Joint outcomes of so many levels.
const OUTCOMES: usize = 1 << (2 * LEVELS);

/// An R-MAT graph: a list of edges that is never stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Rmat {
    scale: u32,
    edges: u64,
    seed: u64,
    table: AliasTable,
    /// What the rounds of shuffling add to a label.
    added: [u32; 3],
}

impl Rmat {
    /// `2^scale` vertex labels and `edge_factor · 2^scale` edges.
    pub fn new(scale: u32, edge_factor: u64, seed: u64) -> Self {
        let seed = mix(seed);
        Rmat {
            scale,
            edges: edge_factor << scale,
            seed,
            table: AliasTable::new(&joint_probabilities()),
            added: std::array::from_fn(|round| counted(seed, !(round as u64)) as u32),
        }
    }

    /// A name that no other graph has, fit for a file.
    pub fn name(&self) -> String {
        format!("rmat-{}-{}-{:016x}", self.scale, self.edges, self.seed)
    }

    /// How many edges there are, duplicates and self loops included.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// How many labels there are; not every one has an edge.
    pub fn labels(&self) -> u32 {
        1 << self.scale
    }

    /// The `index`-th edge.
    pub fn edge(&self, index: u64) -> Edge {
        let draws = u64::from(self.scale.div_ceil(LEVELS));
        let (mut source, mut target) = (0_u32, 0_u32);
        for draw in 0..draws {
            let outcome = self.table.sample(counted(self.seed, index * draws + draw));
            source = source << LEVELS | outcome >> LEVELS;
            target = target << LEVELS | outcome & ((1 << LEVELS) - 1);
        }
        // Levels beyond the scale are independent of the others: drop them.
        let mask = self.labels() - 1;
        Edge { source: self.shuffle(source & mask), target: self.shuffle(target & mask) }
    }

    /// A fixed permutation of the labels, so that a label says nothing about
    /// its degree and every residue class of labels carries the same load.
    fn shuffle(&self, label: u32) -> u32 {
        let mask = self.labels() - 1;
        let half = self.scale.div_ceil(2);
        let mut x = label;
        for added in self.added {
            // Each step can be undone, so the whole is a permutation: adding a
            // constant, multiplying by an odd number, folding high bits onto low.
            x = x.wrapping_add(added) & mask;
            x = x.wrapping_mul(0x9E37_79B1) & mask;
            x ^= x >> half;
        }
        x
    }
}

/// The probability of every outcome of [`LEVELS`] levels; an outcome is the
/// source's bits followed by the target's.
fn joint_probabilities() -> Vec<f64> {
    (0..OUTCOMES)
        .map(|outcome| {
            let (source, target) = (outcome >> LEVELS, outcome & ((1 << LEVELS) - 1));
            (0..LEVELS).map(|level| QUADRANTS[(source >> level & 1) << 1 | target >> level & 1]).product()
        })
        .collect()
}

/// Draws from a discrete distribution with one look-up.
#[derive(Debug, Clone, PartialEq)]
struct AliasTable {
    /// Outcome → (it stands for itself below this threshold, else for that one).
    entries: Vec<(u32, u32)>,
}

impl AliasTable {
    fn new(probabilities: &[f64]) -> Self {
        let count = probabilities.len();
        let mut weight: Vec<f64> = probabilities.iter().map(|p| p * count as f64).collect();
        let mut entries: Vec<(u32, u32)> = (0..count as u32).map(|i| (u32::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|i| weight[*i] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
            entries[poor] = ((weight[poor] * 2_f64.powi(32)) as u32, rich as u32);
            weight[rich] -= 1.0 - weight[poor];
            if weight[rich] < 1.0 { small.push(rich) } else { large.push(rich) }
        }
        AliasTable { entries }
    }

    fn sample(&self, random: u64) -> u32 {
        let outcome = (random >> (64 - 2 * LEVELS)) as u32;
        let (threshold, alias) = self.entries[outcome as usize];
        // Without a branch, which nobody could predict.
        let keep = u32::from((random as u32) < threshold).wrapping_neg();
        alias ^ (alias ^ outcome) & keep
    }
}

#[cfg(test)]
mod tests {
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
}
