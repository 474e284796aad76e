//! The last stage: the test documents get labels, which are compared with the true ones.

use crosstalk_core::Fault;

use super::category::NAMES;
use super::model::Model;
use super::node::{Node, Stage};
use super::record::Head;
use crate::exchange::read_pairs;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::Spool;

const LABELS: usize = NAMES.len();

/// The number of documents by true label and by given label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion([[u64; LABELS]; LABELS]);

impl Default for Confusion {
    fn default() -> Self {
        Confusion([[0; LABELS]; LABELS])
    }
}

impl Confusion {
    /// Counts a document that has `label` and was given the label `decided`.
    pub fn count_document(&mut self, label: u8, decided: u8) {
        self.0[usize::from(label)][usize::from(decided)] += 1;
    }

    /// Adds the counts of [`Confusion::as_words`].
    pub fn add_words(&mut self, words: &[u64]) -> Result<(), Fault> {
        if words.len() != LABELS * LABELS {
            return Err(Fault::attempt("a confusion matrix was cut short"));
        }
        self.0.as_flattened_mut().iter_mut().zip(words).for_each(|(mine, theirs)| *mine += theirs);
        Ok(())
    }

    /// The counts as words, row by row, for a message.
    pub fn as_words(&self) -> &[u64] {
        self.0.as_flattened()
    }

    /// The number of all documents.
    pub fn documents(&self) -> u64 {
        self.as_words().iter().sum()
    }

    /// Share of the documents that got their own label.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = (0..LABELS).map(|label| self.0[label][label]).sum();
        right as f64 / self.documents() as f64
    }

    /// Label, label given, documents, where there are any.
    pub fn counted_pairs(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + '_ {
        self.0.iter().zip(NAMES).flat_map(|(row, label)| {
            row.iter()
                .zip(NAMES)
                .filter(|(count, _)| **count > 0)
                .map(move |(count, given)| (label, given, *count))
        })
    }
}

/// A test document and its given label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The page's number in the corpus.
    pub number: u32,
    /// Its category.
    pub label: u8,
    /// The category that it got.
    pub decided: u8,
}

/// Labels the test vectors with the model, and returns the decisions.
pub fn label_test_vectors<C: Cluster>(
    node: &mut Node<C>,
    vectors: &Spool,
    model: &Model,
) -> Result<Vec<Decision>, Fault> {
    let decisions = node.cluster.parallel(|disk| {
        let mut decisions = Vec::new();
        let mut reader = vectors.reader();
        while let Some(vector) = reader.read(disk)? {
            let (Head { number, label, test }, rest) = Head::split_record(vector)?;
            if test {
                decisions.push(Decision { number, label, decided: model.label_of(read_pairs(rest)) });
            }
        }
        Ok::<_, Fault>(decisions)
    })?;
    node.end_stage(Stage::Test);
    Ok(decisions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_is_the_share_on_the_diagonal() {
        let mut confusion = Confusion::default();
        [(0, 0), (0, 0), (0, 3), (24, 24)]
            .into_iter()
            .for_each(|(label, decided)| confusion.count_document(label, decided));
        assert_eq!(confusion.accuracy(), 0.75);
        let cells: Vec<_> = confusion.counted_pairs().collect();
        assert_eq!(cells, [("art", "art", 2), ("art", "culture", 1), ("transport", "transport", 1)]);
        let mut twice = confusion.clone();
        twice.add_words(confusion.as_words()).expect("adds");
        assert_eq!(twice.documents(), 8);
        assert!(twice.add_words(&[1]).is_err());
    }
}
