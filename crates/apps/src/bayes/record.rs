//! A record of a document between stages: its head, then its text, its words, their numbers, or its features.

use crosstalk_core::Fault;

/// The head of a document's record: number, label and whether it is for testing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The page's number in the corpus, from 0.
    pub number: u32,
    /// Its category.
    pub label: u8,
    /// Whether it is held back for testing.
    pub test: bool,
}

const LENGTH: usize = 6;

impl Head {
    /// Clears `record`, and writes the head to it.
    pub fn begin_record(self, record: &mut Vec<u8>) {
        record.clear();
        record.extend_from_slice(&self.number.to_le_bytes());
        record.extend_from_slice(&[self.label, u8::from(self.test)]);
    }

    /// Splits a record into its head and the rest.
    pub fn split_record(record: &[u8]) -> Result<(Self, &[u8]), Fault> {
        let torn = || Fault::attempt("a document was cut short");
        let (head, rest) = record.split_first_chunk::<LENGTH>().ok_or_else(torn)?;
        let [a, b, c, d, label, test] = *head;
        Ok((Head { number: u32::from_le_bytes([a, b, c, d]), label, test: test == 1 }, rest))
    }
}

/// A word that is not in the dictionary.
pub const UNKNOWN_WORD: u32 = u32::MAX;

/// The little-endian 32-bit numbers in a buffer.
pub fn read_numbers(buffer: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    buffer.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{append_pair, read_pairs};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_document_survives(number: u32, label: u8, test: bool, feature: u32, weight in 0.0..1.0_f64) {
            let head = Head { number, label, test };
            let mut record = vec![1, 2, 3];
            head.begin_record(&mut record);
            append_pair(feature, weight, &mut record);
            let (found, rest) = Head::split_record(&record).expect("splits");
            prop_assert_eq!(found, head);
            prop_assert_eq!(read_pairs(rest).collect::<Vec<_>>(), [(feature, weight)]);
            prop_assert!(Head::split_record(&record[..5]).is_err());
        }
    }
}
