//! How often documents of each label got which label.

use crosstalk_core::Fault;

use super::category::NAMES;

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
            return Err(Fault::attempt("a confusion matrix is incomplete"));
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
