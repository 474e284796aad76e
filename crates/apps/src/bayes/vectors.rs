//! The fourth stage: documents become vectors of weights, tf-idf as Mahout has
//! it (√tf · idf), of length 1.

use crosstalk_core::Fault;

use super::features::Features;
use super::node::{Node, Stage};
use super::record::{Head, read_numbers};
use crate::exchange::append_pair;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::Spool;

/// Turns documents of word numbers into vectors.
pub fn weigh_documents<C: Cluster>(
    node: &mut Node<C>,
    numbered: &Spool,
    features: &Features,
) -> Result<Spool, Fault> {
    let mut vectors = node.spool();
    node.cluster.parallel(|disk| {
        let mut reader = numbered.reader();
        let (mut record, mut words, mut found, mut weights) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        while let Some(document) = reader.read(disk)? {
            let (head, rest) = Head::split_record(document)?;
            words.clear();
            words.extend(read_numbers(rest));
            features.of_document(&words, &mut found);
            vector(&mut found, &features.idf, &mut weights);
            head.begin_record(&mut record);
            weights.iter().for_each(|(feature, weight)| append_pair(*feature, *weight, &mut record));
            vectors.push(disk, &record)?;
        }
        Ok::<_, Fault>(())
    })?;
    node.end_stage(Stage::Weigh);
    Ok(vectors)
}

/// Weights by feature, ascending; all sums are in this order.
fn vector(found: &mut [u32], idf: &[f64], weights: &mut Vec<(u32, f64)>) {
    found.sort_unstable();
    weights.clear();
    let mut squares = 0.0;
    for run in found.chunk_by(|a, b| a == b) {
        let weight = (run.len() as f64).sqrt() * idf[run[0] as usize];
        squares += weight * weight;
        weights.push((run[0], weight));
    }
    let length = f64::sqrt(squares);
    weights.iter_mut().for_each(|(_, weight)| *weight /= length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes::features::idf;

    #[test]
    fn a_vector_has_length_one_and_its_features_ascend() {
        // Of 7 documents, 1 and 3 have the features: √1 · (ln(8/2) + 1), √4 · (ln(8/4) + 1).
        let idf = [0.0, idf(1, 7), idf(3, 7)];
        assert!((idf[1] - (4_f64.ln() + 1.0)).abs() < 1e-15);
        let mut weights = Vec::new();
        vector(&mut [2, 1, 2, 2, 2], &idf, &mut weights);
        let (a, b) = (4_f64.ln() + 1.0, 2.0 * (2_f64.ln() + 1.0));
        let length = f64::hypot(a, b);
        assert_eq!(weights.iter().map(|(feature, _)| *feature).collect::<Vec<_>>(), [1, 2]);
        assert!((weights[0].1 - a / length).abs() < 1e-15 && (weights[1].1 - b / length).abs() < 1e-15);
        vector(&mut [], &idf, &mut weights);
        assert!(weights.is_empty());
    }
}
