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
//! The generator works by index instead of a state: edge `i` is the same on every node, and any node can
//! generate any part of the list.

use super::edge::Edge;
use crate::random::{mix, random_at};

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
            added: std::array::from_fn(|round| random_at(seed, !(round as u64)) as u32),
        }
    }

    /// A unique name, usable for a file.
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
            let outcome = self.table.sample(random_at(self.seed, index * draws + draw));
            source = source << LEVELS | outcome >> LEVELS;
            target = target << LEVELS | outcome & ((1 << LEVELS) - 1);
        }
        // Levels beyond the scale are independent of the others: drop them.
        let mask = self.labels() - 1;
        Edge { source: self.shuffle(source & mask), target: self.shuffle(target & mask) }
    }

    /// A fixed permutation of the labels, so that a label does not depend on its degree and every residue
    /// class of labels has the same load.
    fn shuffle(&self, label: u32) -> u32 {
        let mask = self.labels() - 1;
        let half = self.scale.div_ceil(2);
        let mut x = label;
        for added in self.added {
            // Each step is reversible, so the whole is a permutation: adding a constant, multiplying by an
            // odd number, folding high bits onto low.
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
        // Without a branch, which would be unpredictable.
        let keep = u32::from((random as u32) < threshold).wrapping_neg();
        alias ^ (alias ^ outcome) & keep
    }
}

#[cfg(test)]
mod tests;
