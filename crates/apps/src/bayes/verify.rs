//! Checks of the answer: no page and no decision is missing, all slaves have the same model, and a sample of
//! features has the tallies that the documents give without any table.
//!
//! The stages check after each shuffle that no word, pair or weight was lost or created.

use crosstalk_core::Fault;

use super::features::Gram;
use crate::mapreduce::record::Tally;

/// Checks that all pages were processed.
pub fn check_page_count(expected: u64, found: u64) -> Result<(), Fault> {
    equal(expected, found, "the corpus has", "pages, the slaves saw")
}

/// Checks that all test documents were labelled.
pub fn check_decision_count(expected: u64, found: u64) -> Result<(), Fault> {
    equal(expected, found, "there are", "documents to test with, decided were")
}

fn equal(expected: u64, found: u64, begin: &str, middle: &str) -> Result<(), Fault> {
    if expected == found {
        return Ok(());
    }
    Err(wrong(format!("{begin} {expected} {middle} {found}")))
}

/// What the slaves report of the model and of the sample, to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReports {
    checksums: Vec<u64>,
    /// Gram, and its tally as counted, equal from every slave, and as found, to be added up.
    sample: Vec<[u64; 5]>,
}

impl ModelReports {
    /// One slave's report as words, for a message.
    pub fn as_words(checksum: u64, sample: &[(Gram, Tally)], found: &[Tally]) -> Vec<u64> {
        let each = sample.iter().zip(found).flat_map(|((gram, counted), found)| {
            [gram.0, counted.count, counted.documents, found.count, found.documents]
        });
        std::iter::once(checksum).chain(each).collect()
    }

    /// The reports of all slaves.
    pub fn new(reports: &[Vec<u64>]) -> Result<Self, Fault> {
        let mut joined = ModelReports { checksums: Vec::new(), sample: Vec::new() };
        for report in reports {
            let Some((checksum, words)) = report.split_first() else {
                return Err(wrong("a slave says nothing of its model".into()));
            };
            joined.checksums.push(*checksum);
            let sample = words.as_chunks::<5>().0;
            if joined.checksums.len() == 1 {
                joined.sample = sample.to_vec();
                continue;
            }
            let alike = |(a, b): (&[u64; 5], &[u64; 5])| a[..3] == b[..3];
            if sample.len() != joined.sample.len() || !joined.sample.iter().zip(sample).all(alike) {
                return Err(wrong("the slaves disagree about the sample".into()));
            }
            for (sum, words) in joined.sample.iter_mut().zip(sample) {
                sum[3] += words[3];
                sum[4] += words[4];
            }
        }
        Ok(joined)
    }

    /// Checks that all have the same model, and that its features have the found tallies.
    pub fn verify(&self) -> Result<(), Fault> {
        if self.checksums.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(wrong("the slaves have different models".into()));
        }
        for [gram, count, documents, found, found_documents] in &self.sample {
            if (count, documents) != (found, found_documents) {
                return Err(wrong(format!(
                    "feature {gram:#x} was counted {count} times in {documents} documents, \
                     and occurs {found} times in {found_documents}"
                )));
            }
        }
        Ok(())
    }

    /// The checksum of the model that all slaves have.
    pub fn checksum(&self) -> u64 {
        self.checksums.first().copied().unwrap_or_default()
    }
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(checksums: [u64; 2], second: [u64; 5]) -> Result<(), Fault> {
        let reports = [vec![checksums[0], 7, 5, 3, 2, 1], [&[checksums[1]][..], &second].concat()];
        ModelReports::new(&reports)?.verify()
    }

    #[test]
    fn a_feature_must_occur_as_often_as_counted() {
        assert_eq!(check([1, 1], [7, 5, 3, 3, 2]), Ok(()));
        let refusal = |second| check([1, 1], second).expect_err("refused").message;
        assert!(
            refusal([7, 5, 3, 2, 2]).ends_with("counted 5 times in 3 documents, and occurs 4 times in 3")
        );
        assert!(refusal([7, 5, 3, 3, 1]).ends_with("and occurs 5 times in 2"));
        assert!(refusal([7, 6, 3, 3, 2]).contains("disagree"));
        assert!(check([1, 2], [7, 5, 3, 3, 2]).expect_err("refused").message.contains("different models"));
    }

    #[test]
    fn what_is_missing_is_found() {
        assert_eq!(check_page_count(3, 3), Ok(()));
        assert!(
            check_page_count(3, 2).expect_err("refused").message.ends_with("has 3 pages, the slaves saw 2")
        );
        assert!(check_decision_count(3, 2).is_err());
    }
}
