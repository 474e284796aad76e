//! Tests of `model` and `segment`.

use super::*;
use crate::bayes::segment::pairs_within;
use crate::exchange::append_pair;
use crate::mapreduce::budget::Budget;
use crate::mapreduce::cluster::Single;
use crate::mapreduce::sorted::ListWriter;
use crate::spill::{Scratch, Unmetered};
use proptest::prelude::*;

const FREE: usize = 1 << 20;

/// A model of these sums by feature and label, ascending, with segments of `room` bytes.
fn model(
    sums: &[(u32, u8, u64)],
    features: u32,
    labels: &[u8],
    alpha: f64,
    norm: bool,
    room: usize,
) -> Model {
    let (budget, scratch, disk) = (Budget::new(1 << 20, 1), Scratch::temporary(), &mut Unmetered);
    let mut list = ListWriter::new(&scratch, budget.spool_memory(), budget.block_bytes());
    for (feature, label, units) in sums {
        list.push(disk, &Cell::new(*feature, *label), units).expect("pushed");
    }
    let list = list.finish(disk).expect("finished");
    let (cells, _) = Shared::new(list, (0, 0), budget, &scratch, &mut Single::default()).expect("shared");
    let shape = Shape { features, labels: labels.to_vec(), alpha, norm };
    Model::new(disk, cells, shape, room).expect("a model")
}

/// The label of a vector, its sums stored between segments; and the number of segments.
fn decided(model: &Model, vector: &[(u32, f64)]) -> (u8, usize) {
    let (mut written, mut state, mut segments) = (Vec::new(), Vec::new(), 0);
    vector.iter().for_each(|(feature, weight)| append_pair(*feature, *weight, &mut written));
    let mut walk = model.walk();
    while let Some(segment) = walk.next(&mut Unmetered).expect("reads") {
        let mut sums = Sums::read(&state);
        segment.add(pairs_within(&written, segment.features()), &mut sums);
        state.clear();
        sums.write(&mut state);
        segments += 1;
    }
    (model.label_of(&Sums::read(&state)), segments)
}

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
    fn it_decides_as_the_formula_does_whatever_its_segments(
        sums in proptest::collection::vec(proptest::collection::vec(0..3_u8, 6), 4),
        document in proptest::collection::vec(0..4_u8, 6),
        alpha in 0.1..2.0_f64,
        norm: bool,
        room in 0_usize..700,
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
        let whole = model(&cells, 6, &labels, alpha, norm, FREE);
        let plain: Vec<Vec<f64>> =
            (0..4).map(|label| (0..6).map(|i| f64::from(sum(label, i)) / 4.0).collect()).collect();
        let weights: Vec<f64> = document.iter().map(|x| f64::from(*x)).collect();
        let scores = reference(&plain, &labels, &weights, alpha, norm);
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sparse: Vec<_> = (0..).zip(weights.iter().copied()).filter(|(_, x)| *x > 0.0).collect();
        let (label, segments) = decided(&whole, &sparse);
        prop_assert_eq!(segments, 1);
        let place = labels.iter().position(|of| *of == label).expect("a label");
        // Equal scores may round to either side.
        prop_assert!(scores[place] >= best - 1e-9 * best.abs(), "{:?}, decided {}", scores, label);
        // In segments everything is the same, bit by bit.
        let parts = model(&cells, 6, &labels, alpha, norm, room);
        let (same, segments) = decided(&parts, &sparse);
        prop_assert_eq!(same, label);
        // A feature has at most 26 entries of 16 bytes.
        prop_assert!(segments > 1 || room > 26 * 16);
        let disk = &mut Unmetered;
        prop_assert_eq!(parts.checksum(disk).expect("reads"), whole.checksum(disk).expect("reads"));
        prop_assert_eq!(parts.log_total, whole.log_total);
        prop_assert_eq!(parts.divisor, whole.divisor);
    }
}

#[test]
fn a_document_without_features_gets_the_first_label() {
    let model = model(&[(0, 3, 1 << 40), (0, 4, 1 << 40)], 1, &[3, 4], 1.0, false, FREE);
    assert_eq!(decided(&model, &[]).0, 3);
    assert_eq!(decided(&model, &[(0, 1.0)]).0, 3);
}

#[test]
fn a_model_without_features_gives_the_first_label() {
    assert_eq!(decided(&model(&[], 0, &[3, 4], 1.0, false, FREE), &[]), (3, 1));
}

#[test]
fn another_model_has_another_checksum() {
    let sum = |units| {
        let model = model(&[(0, 3, units), (1, 4, 1 << 40)], 2, &[3, 4], 1.0, false, FREE);
        model.checksum(&mut Unmetered).expect("reads")
    };
    assert_eq!(sum(1 << 39), sum(1 << 39));
    assert_ne!(sum(1 << 39), sum((1 << 39) + (1 << 10)));
}

#[test]
fn the_checksum_is_that_of_the_numbers_in_their_order() {
    // Two features, of weight 1 with one label and of weight 2 with another; alpha is 1.
    let model = model(&[(0, 3, 1 << 40), (1, 4, 2 << 40)], 2, &[3, 4], 1.0, false, FREE);
    let base = [2_f64.ln(), 3_f64.ln()];
    let mut total = [5_f64.ln(); NAMES.len()];
    (total[3], total[4]) = (4_f64.ln(), 3_f64.ln());
    let cells = [(3_u64, 1_f64.ln() - base[0]), (4, 1_f64.ln() - base[1])];
    let numbers = base.iter().chain(&total).chain(&[1.0; NAMES.len()]).map(|number| number.to_bits());
    let cells = cells.iter().flat_map(|(label, delta)| [*label, delta.to_bits()]);
    let words = numbers.chain([0, 1, 2]).chain(cells);
    let expected =
        words.fold(0_u64, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    assert_eq!(model.checksum(&mut Unmetered), Ok(expected));
}
