//! Tests of `model`.

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
        let units = UNITS_PER_WEIGHT as u64 / 4;
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
        let decided = labels.iter().position(|label| *label == model.label_of(sparse.clone())).expect("a label");
        // Equal scores may round to either side.
        prop_assert!(scores[decided] >= best - 1e-9 * best.abs(), "{:?}, decided {}", scores, decided);
    }
}

#[test]
fn a_document_without_features_gets_the_first_label() {
    let model = Model::new(vec![(0, 3, 1 << 40), (0, 4, 1 << 40)], 1, vec![3, 4], 1.0, false);
    assert_eq!(model.label_of(std::iter::empty()), 3);
    assert_eq!(model.label_of([(0, 1.0)].into_iter()), 3);
}

#[test]
fn another_model_has_another_checksum() {
    let model =
        |units| Model::new(vec![(0, 3, units), (1, 4, 1 << 40)], 2, vec![3, 4], 1.0, false).checksum();
    assert_eq!(model(1 << 39), model(1 << 39));
    assert_ne!(model(1 << 39), model((1 << 39) + (1 << 10)));
}
