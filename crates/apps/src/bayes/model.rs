//! Complementary Naive Bayes: the model, and its decisions.
//!
//! Rennie, Shih, Teevan, Karger: *Tackling the Poor Assumptions of Naive Bayes
//! Text Classifiers*, ICML 2003, as scikit-learn's `ComplementNB` has it: with
//! N_i the weight of feature i in all training documents and N_ci in those of
//! label c,
//!
//! θ_ci = (α + N_i − N_ci) / Σ_j (α + N_j − N_cj),  w_ci = −ln θ_ci,
//!
//! and, with `norm`, w_ci divided by Σ_j w_cj. A document with weights x gets
//! the label with the highest Σ_i x_i w_ci, of equal ones the first.

use super::category::NAMES;

/// The units in a weight of 1.
pub const UNITS_PER_WEIGHT: f64 = (1_u64 << 40) as f64;

/// A trained naive Bayes model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The labels that it can give, ascending.
    labels: Vec<u8>,
    /// Feature → ln(α + N_i).
    base: Vec<f64>,
    /// Feature → where its cells begin; one more at the end.
    offsets: Vec<usize>,
    /// Label and ln(α + N_i − N_ci) − ln(α + N_i), where N_ci is not 0: few.
    cells: Vec<(u8, f64)>,
    /// Label → ln Σ_j (α + N_j − N_cj).
    log_total: [f64; NAMES.len()],
    /// Label → the divisor of its scores.
    divisor: [f64; NAMES.len()],
}

impl Model {
    /// A model from the sums of (feature, label, units), ascending.
    pub fn new(sums: Vec<(u32, u8, u64)>, features: usize, labels: Vec<u8>, alpha: f64, norm: bool) -> Self {
        let mut model = Model {
            labels,
            base: Vec::with_capacity(features),
            offsets: Vec::with_capacity(features + 1),
            cells: Vec::with_capacity(sums.len()),
            log_total: [0.0; NAMES.len()],
            divisor: [1.0; NAMES.len()],
        };
        let mut left = sums.as_slice();
        let mut of_label = [0_u128; NAMES.len()];
        for feature in 0..features {
            let count = left.iter().take_while(|(of, _, _)| *of as usize == feature).count();
            let (mine, rest) = left.split_at(count);
            left = rest;
            let all: u64 = mine.iter().map(|(_, _, units)| units).sum();
            let base = (alpha + all as f64 / UNITS_PER_WEIGHT).ln();
            model.offsets.push(model.cells.len());
            model.base.push(base);
            for (_, label, units) in mine {
                of_label[usize::from(*label)] += u128::from(*units);
                let rest = (alpha + (all - units) as f64 / UNITS_PER_WEIGHT).ln();
                model.cells.push((*label, rest - base));
            }
        }
        model.offsets.push(model.cells.len());
        let all: u128 = of_label.iter().sum();
        for (label, units) in of_label.iter().enumerate() {
            model.log_total[label] = (alpha * features as f64 + (all - units) as f64 / UNITS_PER_WEIGHT).ln();
        }
        if norm {
            model.divisor = model.totals((0..features as u32).map(|feature| (feature, 1.0)));
        }
        model
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        let lists = size_of_val(self.base.as_slice()) + size_of_val(self.offsets.as_slice());
        (lists + size_of_val(self.cells.as_slice())) as u64
    }

    /// Σ_i x_i w_ci of every label, not divided.
    fn totals(&self, weights: impl Iterator<Item = (u32, f64)>) -> [f64; NAMES.len()] {
        let (mut length, mut shared, mut own) = (0.0, 0.0, [0.0; NAMES.len()]);
        for (feature, weight) in weights {
            let feature = feature as usize;
            length += weight;
            shared += weight * self.base[feature];
            for (label, delta) in &self.cells[self.offsets[feature]..self.offsets[feature + 1]] {
                own[usize::from(*label)] += weight * delta;
            }
        }
        std::array::from_fn(|label| length * self.log_total[label] - shared - own[label])
    }

    /// The label of a document with these weights, whose features ascend.
    pub fn label_of(&self, weights: impl Iterator<Item = (u32, f64)>) -> u8 {
        let totals = self.totals(weights);
        let score = |label: u8| totals[usize::from(label)] / self.divisor[usize::from(label)];
        let mut best = self.labels[0];
        for label in &self.labels {
            if score(*label) > score(best) {
                best = *label;
            }
        }
        best
    }

    /// A checksum: equal for equal models, bit by bit.
    pub fn checksum(&self) -> u64 {
        let cells = self.cells.iter().flat_map(|(label, delta)| [u64::from(*label), delta.to_bits()]);
        let numbers = self.base.iter().chain(&self.log_total).chain(&self.divisor).map(|n| n.to_bits());
        let offsets = self.offsets.iter().map(|offset| *offset as u64);
        numbers
            .chain(offsets)
            .chain(cells)
            .fold(0, |sum: u64, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[cfg(test)]
mod tests;
