//! Keys and values, and their encoding: numbers in LEB128 (seven bits a byte, low ones first), strings after
//! their length.

use std::hash::Hash;

/// The key of a record. Runs and reductions are in its order.
pub trait Key: Ord + Hash + Sized {
    /// The part that reduces it, of `parts`: the same on every node.
    fn owner(&self, parts: usize) -> usize;
    /// Appends it.
    fn write(&self, out: &mut Vec<u8>);
    /// Takes one from the front.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// The value of a record: sums of whole numbers, so that the order of adding does not matter.
pub trait Value: Default {
    /// Adds another one.
    fn add(&mut self, other: &Self);
    /// Appends it.
    fn write(&self, out: &mut Vec<u8>);
    /// Takes one from the front.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// A number that is a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Key for Number {
    fn owner(&self, parts: usize) -> usize {
        owner_of(self.0, parts)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Number(u64::from_le_bytes(*bytes)))
    }
}

/// The part that owns a number: Fibonacci hashing (Knuth, TAOCP 3, 6.4).
pub fn owner_of(number: u64, parts: usize) -> usize {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) as u64 >> 32) % parts as u64)
        as usize
}

impl Value for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn write(&self, out: &mut Vec<u8>) {
        append_number(*self, out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        take_number(from)
    }
}

/// How often a word or a pair occurs, and in how many documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// In all.
    pub count: u64,
    /// In how many documents.
    pub documents: u64,
    /// The last document in which it was seen, from 1; is not sent.
    last: u64,
}

impl Tally {
    /// A tally of so many occurrences in so many documents.
    pub fn new(count: u64, documents: u64) -> Self {
        Tally { count, documents, last: 0 }
    }

    /// Counts one more occurrence, in the document with this number (from 1, ascending).
    pub fn count_in(&mut self, document: u64) {
        self.count += 1;
        self.documents += u64::from(self.last != document);
        self.last = document;
    }
}

impl Value for Tally {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.documents += other.documents;
    }

    fn write(&self, out: &mut Vec<u8>) {
        append_number(self.count, out);
        append_number(self.documents, out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Tally { count: take_number(from)?, documents: take_number(from)?, last: 0 })
    }
}

/// Appends a number in as few bytes as it needs.
pub fn append_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the front.
pub fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (index, byte) in from.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *from = &from[index + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::word::Word;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in proptest::collection::vec(any::<u64>(), 0..20),
            word in proptest::collection::vec(any::<u8>(), 0..256),
        ) {
            let word = Word::new(&word);
            let mut out = Vec::new();
            numbers.iter().for_each(|number| append_number(*number, &mut out));
            word.write(&mut out);
            let mut from = out.as_slice();
            for expected in &numbers {
                prop_assert_eq!(take_number(&mut from), Some(*expected));
            }
            prop_assert_eq!(Word::read(&mut from), Some(word));
            prop_assert!(from.is_empty());
        }

        #[test]
        fn what_was_cut_is_not_read(value: u64, word in "[a-z]{1,9}") {
            let mut out = Vec::new();
            append_number(value, &mut out);
            prop_assert_eq!(take_number(&mut &out[..out.len() - 1]), None);
            out.clear();
            Word::new(word.as_bytes()).write(&mut out);
            prop_assert_eq!(Word::read(&mut &out[..out.len() - 1]), None);
        }
    }

    #[test]
    fn keys_spread_evenly_over_their_owners() {
        for parts in [1, 2, 3, 6, 7] {
            let mut numbers = vec![0_usize; parts];
            let mut words = vec![0_usize; parts];
            for number in 0..7000_u64 {
                numbers[Number((number << 32) | (number % 7)).owner(parts)] += 1;
                words[Word::new(number.to_string().as_bytes()).owner(parts)] += 1;
            }
            for counts in [numbers, words] {
                let expected = 7000 / parts;
                assert!(counts.iter().all(|count| count.abs_diff(expected) < expected / 8), "{counts:?}");
            }
        }
    }

    #[test]
    fn a_document_counts_once() {
        let mut tally = Tally::default();
        [1, 1, 3, 3, 3, 4].into_iter().for_each(|document| tally.count_in(document));
        assert_eq!((tally.count, tally.documents), (6, 3));
    }
}
