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
pub const UNITS: f64 = (1_u64 << 40) as f64;

/// A trained model.
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
    /// From the sums of (feature, label, units), ascending.
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
            let base = (alpha + all as f64 / UNITS).ln();
            model.offsets.push(model.cells.len());
            model.base.push(base);
            for (_, label, units) in mine {
                of_label[usize::from(*label)] += u128::from(*units);
                let rest = (alpha + (all - units) as f64 / UNITS).ln();
                model.cells.push((*label, rest - base));
            }
        }
        model.offsets.push(model.cells.len());
        let all: u128 = of_label.iter().sum();
        for (label, units) in of_label.iter().enumerate() {
            model.log_total[label] = (alpha * features as f64 + (all - units) as f64 / UNITS).ln();
        }
        if norm {
            model.divisor = model.totals((0..features as u32).map(|feature| (feature, 1.0)));
        }
        model
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
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
    pub fn decide(&self, weights: impl Iterator<Item = (u32, f64)>) -> u8 {
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula at the top of this file as it is written.
    fn reference(sums: &[Vec<f64>], labels: &[u8], document: &[f64], alpha: f64, norm: bool) -> Vec<f64> {
        let all: Vec<f64> = (0..document.len()).map(|i| sums.iter().map(|of| of[i]).sum()).collect();
        let score = |label: &u8| {
            let rest: Vec<f64> =
                all.iter().zip(&sums[usize::from(*label)]).map(|(n, of)| alpha + n - of).collect();
            let total: f64 = rest.iter().sum();
            let weights: Vec<f64> = rest.iter().map(|rest| -(rest / total).ln()).collect();
            let divisor = if norm { weights.iter().sum() } else { 1.0 };
            weights.iter().zip(document).map(|(w, x)| w * x).sum::<f64>() / divisor
        };
        labels.iter().map(score).collect()
    }

    proptest! {
        #[test]
        fn it_decides_as_the_formula_does(
            sums in proptest::collection::vec(proptest::collection::vec(0..3_u8, 6), 4),
            document in proptest::collection::vec(0..4_u8, 6),
            alpha in 0.1..2.0_f64,
            norm: bool,
        ) {
            let labels = vec![0, 2, 3];
            let sum = |label: usize, feature: usize| if label == 1 { 0 } else { sums[label][feature] };
            let units = UNITS as u64 / 4;
            let mut cells = Vec::new();
            for feature in 0..6 {
                for label in (0..4).filter(|label| sum(*label, feature) > 0) {
                    cells.push((feature as u32, label as u8, u64::from(sum(label, feature)) * units));
                }
            }
            let model = Model::new(cells, 6, labels.clone(), alpha, norm);
            let plain: Vec<Vec<f64>> =
                (0..4).map(|label| (0..6).map(|i| f64::from(sum(label, i)) / 4.0).collect()).collect();
            let weights: Vec<f64> = document.iter().map(|x| f64::from(*x)).collect();
            let scores = reference(&plain, &labels, &weights, alpha, norm);
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sparse = (0..).zip(weights.iter().copied()).filter(|(_, x)| *x > 0.0);
            let decided = labels.iter().position(|label| *label == model.decide(sparse.clone())).expect("a label");
            // Equal scores may round to either side.
            prop_assert!(scores[decided] >= best - 1e-9 * best.abs(), "{:?}, decided {}", scores, decided);
        }
    }

    #[test]
    fn a_document_without_features_gets_the_first_label() {
        let model = Model::new(vec![(0, 3, 1 << 40), (0, 4, 1 << 40)], 1, vec![3, 4], 1.0, false);
        assert_eq!(model.decide(std::iter::empty()), 3);
        assert_eq!(model.decide([(0, 1.0)].into_iter()), 3);
    }

    #[test]
    fn another_model_has_another_checksum() {
        let model =
            |units| Model::new(vec![(0, 3, units), (1, 4, 1 << 40)], 2, vec![3, 4], 1.0, false).checksum();
        assert_eq!(model(1 << 39), model(1 << 39));
        assert_ne!(model(1 << 39), model((1 << 39) + (1 << 10)));
    }
}
