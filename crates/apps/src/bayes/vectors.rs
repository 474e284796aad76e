//! The fourth stage: documents become vectors of weights, tf-idf as Mahout has
//! it (√tf · idf), of length 1. There is one pass over the documents for each segment of the features.

use crosstalk_core::Fault;

use super::features::{FeatureReader, Features, Gram};
use super::lockstep::{Document, Layers, Lockstep};
use super::node::{Node, Stage, Table};
use super::numbers::Words;
use super::record::{Head, read_numbers};
use crate::exchange::{append_pair, read_pairs};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::Tally;
use crate::mapreduce::share::Shared;
use crate::mapreduce::spool::Spool;
use crate::spill::Disk;

/// The vectors of this slave's documents.
pub struct Vectors {
    /// Those to train with.
    pub training: Spool,
    /// Those to test with.
    pub testing: Spool,
    /// The number of features.
    pub features: u32,
    /// Some features with how often they occur in all documents.
    pub sample: Vec<(Gram, Tally)>,
}

/// Turns documents of word numbers into vectors. `documents` is the number of all slaves' documents.
pub fn weigh_documents<C: Cluster>(
    node: &mut Node<C>,
    numbered: &mut Spool,
    words: Words,
    pairs: Shared<Gram, Tally>,
    documents: u64,
) -> Result<Vectors, Fault> {
    let room = node.memory.budget().segment_bytes();
    let count = pairs.totals().records + words.features.records();
    let mut reader = FeatureReader::new(pairs.union(Some(&words.features)), count, documents)?;
    let mut found = Layers::default();
    let features = loop {
        let features = node.cluster.parallel(|disk| reader.segment(disk, words.count, room))?;
        node.hold_segment(Table::Features, features.memory_bytes(), [&mut *numbered])?;
        found.fit(node)?;
        if features.is_first() {
            node.end_stage(Stage::SharePairs);
        }
        if reader.ended() {
            break features;
        }
        let mut into = node.spool();
        node.cluster.parallel(|disk| {
            weigh(disk, numbered, &[], &features, |disk, head, weights, record| {
                write(head, weights, record);
                into.push(disk, record)
            })
        })?;
        node.memory.release(features.memory_bytes());
        found.push(into);
    };
    let (count, sample) = reader.into_sample();
    drop((pairs, words));
    let (mut training, mut testing) = (node.spool(), node.spool());
    node.cluster.parallel(|disk| {
        weigh(disk, numbered, found.as_slice(), &features, |disk, head, weights, record| {
            normalise(weights);
            write(head, weights, record);
            if head.test { testing.push(disk, record) } else { training.push(disk, record) }
        })
    })?;
    node.memory.release(features.memory_bytes());
    node.end_stage(Stage::Weigh);
    Ok(Vectors { training, testing, features: count, sample })
}

/// A pass over the documents, beside the weights that were `found` before: `push` gets these and the segment's,
/// and a buffer for the record.
fn weigh(
    disk: &mut dyn Disk,
    numbered: &Spool,
    found: &[Spool],
    features: &Features,
    mut push: impl FnMut(&mut dyn Disk, Head, &mut [(u32, f64)], &mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut reader = Lockstep::new(numbered, found);
    let (mut record, mut words) = (Vec::new(), Vec::new());
    let (mut occurring, mut weights) = (Vec::new(), Vec::new());
    while let Some(Document { head, content, found }) = reader.read(disk)? {
        words.clear();
        words.extend(read_numbers(content));
        weights.clear();
        weights.extend(read_pairs(found));
        features.of_document(&words, &mut occurring);
        append_weights(&mut occurring, features, &mut weights);
        push(disk, head, &mut weights, &mut record)?;
    }
    Ok(())
}

/// Appends the weights of a segment's features, ascending: the vector ascends, as segments do.
fn append_weights(occurring: &mut [u32], features: &Features, weights: &mut Vec<(u32, f64)>) {
    occurring.sort_unstable();
    for run in occurring.chunk_by(|a, b| a == b) {
        weights.push((run[0], (run.len() as f64).sqrt() * features.idf(run[0])));
    }
}

/// Divides weights by the length of their vector. The sum of their squares is in their order.
fn normalise(weights: &mut [(u32, f64)]) {
    let mut squares = 0.0;
    weights.iter().for_each(|(_, weight)| squares += weight * weight);
    let length = f64::sqrt(squares);
    weights.iter_mut().for_each(|(_, weight)| *weight /= length);
}

fn write(head: Head, weights: &[(u32, f64)], record: &mut Vec<u8>) {
    head.begin_record(record);
    weights.iter().for_each(|(feature, weight)| append_pair(*feature, *weight, record));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes::features::{idf, pair_gram, word_gram};
    use crate::mapreduce::runs::held;
    use crate::mapreduce::union::Union;
    use crate::spill::Unmetered;

    #[test]
    fn a_vector_has_length_one_and_its_features_ascend_whatever_the_segments() {
        // Of 7 documents, 1 and 3 have the features: √1 · (ln(8/2) + 1), √4 · (ln(8/4) + 1).
        assert!((idf(1, 7) - (4_f64.ln() + 1.0)).abs() < 1e-15);
        let (a, b) = (4_f64.ln() + 1.0, 2.0 * (2_f64.ln() + 1.0));
        let length = f64::hypot(a, b);
        for room in [1 << 20, 1] {
            let grams = vec![
                (word_gram(0), Tally::new(9, 7)),
                (word_gram(1), Tally::new(1, 1)),
                (pair_gram(2, 2), Tally::new(6, 3)),
            ];
            let mut reader = FeatureReader::new(Union::new(vec![held(grams)], 1), 3, 7).expect("few");
            let (mut occurring, mut weights, mut segments) = (Vec::new(), Vec::new(), 0);
            while !reader.ended() {
                let segment = reader.segment(&mut Unmetered, 3, room).expect("enough");
                segment.of_document(&[2, 2, 2, 2, 2, 1], &mut occurring);
                append_weights(&mut occurring, &segment, &mut weights);
                segments += 1;
            }
            assert_eq!(segments, if room == 1 { 3 } else { 1 });
            normalise(&mut weights);
            assert_eq!(weights.iter().map(|(feature, _)| *feature).collect::<Vec<_>>(), [1, 2]);
            assert!((weights[0].1 - a / length).abs() < 1e-15 && (weights[1].1 - b / length).abs() < 1e-15);
        }
        normalise(&mut []);
    }
}
