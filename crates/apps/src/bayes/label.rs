//! The first stage: pages become labelled documents, split into those to train
//! with and those to test with. (CloudSuite: Mahout's `seqwiki` and `split`.)

use crosstalk_core::Fault;

use super::category::{self, NAMES};
use super::node::{Node, Stage};
use super::page::parse_article;
use super::record::Head;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::Spool;

/// The number of documents of each label, to train and to test with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Pages, labelled or not.
    pub pages: u64,
    /// Label → to train with, to test with.
    pub labelled: [[u64; 2]; NAMES.len()],
}

/// Number of 64-bit words of [`Counts`].
pub const COUNT_WORDS: usize = 1 + 2 * NAMES.len();

impl Counts {
    /// Adds the counts of another slave.
    pub fn add(&mut self, other: &Counts) {
        self.pages += other.pages;
        for (mine, theirs) in self.labelled.as_flattened_mut().iter_mut().zip(other.labelled.as_flattened()) {
            *mine += theirs;
        }
    }

    /// The number of labelled documents.
    pub fn documents(&self) -> u64 {
        self.labelled.as_flattened().iter().sum()
    }

    /// The number of documents to train with.
    pub fn training(&self) -> u64 {
        self.labelled.iter().map(|[train, _]| train).sum()
    }

    /// The number of documents to test with.
    pub fn testing(&self) -> u64 {
        self.documents() - self.training()
    }

    /// The labels that have training documents.
    pub fn labels(&self) -> impl Iterator<Item = u8> + '_ {
        (0..).zip(&self.labelled).filter(|(_, [train, _])| *train > 0).map(|(label, _)| label)
    }

    /// Checks that there are at least two labels, and test documents.
    pub fn check_enough(&self) -> Result<(), Fault> {
        let advice = "take a larger corpus, or another `split_seed`";
        let mut labels = self.labels();
        match (labels.next(), labels.next()) {
            (Some(_), Some(_)) if self.testing() > 0 => Ok(()),
            (Some(_), Some(_)) => {
                Err(Fault::attempt("expected documents to test with, found none").remedy(advice))
            }
            (Some(only), None) => Err(Fault::attempt(format!(
                "expected documents of two categories or more to train with, found only `{}`",
                NAMES[usize::from(only)]
            ))
            .remedy(advice)),
            _ => Err(Fault::attempt(format!(
                "expected articles of CloudSuite's categories to train with, found none in {} pages",
                self.pages
            ))
            .remedy(advice)),
        }
    }

    /// The counts as words, for a message.
    pub fn to_words(self) -> [u64; COUNT_WORDS] {
        let mut words = [self.pages; COUNT_WORDS];
        words[1..].copy_from_slice(self.labelled.as_flattened());
        words
    }

    /// Reads the words of [`Counts::to_words`].
    pub fn from_words(words: &[u64; COUNT_WORDS]) -> Self {
        let mut counts = Counts { pages: words[0], ..Counts::default() };
        counts.labelled.as_flattened_mut().copy_from_slice(&words[1..]);
        counts
    }
}

/// Turns pages (a number, then XML) into documents (a head, then plain text).
pub fn label_pages<C: Cluster>(node: &mut Node<C>, pages: &Spool) -> Result<(Spool, Counts), Fault> {
    let mut documents = node.spool();
    let settings = node.settings;
    let counts = node.cluster.parallel(|disk| {
        let mut counts = Counts::default();
        let mut reader = pages.reader();
        let mut record = Vec::new();
        while let Some(page) = reader.read(disk)? {
            counts.pages += 1;
            let (number, xml) = numbered(page)?;
            let Some(article) = parse_article(xml).map_err(Fault::attempt)? else { continue };
            let Some(label) = category::category_of(&article.text) else { continue };
            let test = settings.split.is_test(&article.title);
            counts.labelled[usize::from(label)][usize::from(test)] += 1;
            Head { number, label, test }.begin_record(&mut record);
            if settings.remove_labels {
                record.extend_from_slice(category::without_category_links(&article.text).as_bytes());
            } else {
                record.extend_from_slice(article.text.as_bytes());
            }
            documents.push(disk, &record)?;
        }
        Ok::<_, Fault>(counts)
    })?;
    node.end_stage(Stage::Label);
    Ok((documents, counts))
}

/// A page's number and its XML.
fn numbered(page: &[u8]) -> Result<(u32, &str), Fault> {
    let (number, xml) = page.split_first_chunk().ok_or_else(|| Fault::attempt("a page was cut short"))?;
    let xml = std::str::from_utf8(xml).map_err(|e| Fault::attempt(format!("a page is not UTF-8: {e}")))?;
    Ok((u32::from_le_bytes(*number), xml))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(labelled: &[(u8, [u64; 2])]) -> Counts {
        let mut counts = Counts { pages: 9, ..Counts::default() };
        labelled.iter().for_each(|(label, of)| counts.labelled[usize::from(*label)] = *of);
        counts
    }

    #[test]
    fn a_corpus_without_two_categories_is_refused() {
        assert_eq!(counts(&[(0, [3, 1]), (24, [1, 0])]).check_enough(), Ok(()));
        let refusal = |labelled: &[_]| counts(labelled).check_enough().expect_err("refused").message;
        assert!(refusal(&[(0, [3, 1]), (24, [0, 1])]).ends_with("found only `art`"));
        assert!(refusal(&[(0, [3, 0]), (24, [2, 0])]).contains("to test with, found none"));
        assert!(refusal(&[]).ends_with("found none in 9 pages"));
    }

    #[test]
    fn counts_survive_and_add_up() {
        let one = counts(&[(0, [3, 1]), (24, [1, 2])]);
        assert_eq!(Counts::from_words(&one.to_words()), one);
        let mut two = one;
        two.add(&one);
        assert_eq!((two.pages, two.documents(), two.training(), two.testing()), (18, 14, 8, 6));
        assert!(two.labels().eq([0, 24]));
    }
}
