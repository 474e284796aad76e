//! Words and pairs of neighbouring words as features, and a segment of them: those that are in memory.
//!
//! With the words' numbers in the upper and the lower half, a pair is a 64-bit number without collisions.

use crosstalk_core::Fault;

use super::record::{Head, UNKNOWN_WORD, read_numbers};
use crate::mapreduce::record::{Number, Tally};
use crate::mapreduce::spool::Spool;
use crate::mapreduce::union::Union;
use crate::spill::Disk;

/// A word or a pair of words, as a number. In ascending order a word stands before the pairs that it
/// begins.
pub type Gram = Number;

/// The gram of one word.
pub fn word_gram(word: u32) -> Gram {
    Number(u64::from(word) << 32)
}

/// The gram of two neighbouring words.
pub fn pair_gram(first: u32, second: u32) -> Gram {
    Number(word_gram(first).0 | (u64::from(second) + 1))
}

/// The word that a gram begins with.
fn first_word(gram: Gram) -> u32 {
    (gram.0 >> 32) as u32
}

/// Reads the features: the grams of all slaves and the words, merged. A feature's number is its place.
pub struct FeatureReader<'a> {
    grams: Union<'a, Gram, Tally>,
    /// The next gram, where it was read but did not fit.
    pending: Option<(Gram, Tally)>,
    next: u32,
    /// The number of all features.
    count: u32,
    /// The number of all documents.
    documents: u64,
    /// Some features with how often they occur.
    sample: Vec<(Gram, Tally)>,
}

/// Neighbouring features.
#[derive(Debug, Default)]
pub struct Features {
    /// The number of the first one.
    first: u32,
    /// The word that it begins with.
    word: u32,
    /// Word, from that one on → the first feature of the segment that begins with it, from 0; one more at the end.
    begins: Vec<u32>,
    /// Feature → the word that follows the first one, and 1; 0 for a word alone.
    follows: Vec<u32>,
    /// Feature → inverse document frequency.
    idf: Vec<f64>,
}

/// Number of features that are checked at the end.
const SAMPLE: u64 = 8;

/// Bytes of a feature, and of a word.
const FEATURE: usize = size_of::<u32>() + size_of::<f64>();
const WORD: usize = size_of::<u32>();

/// Lucene's `ClassicSimilarity` since 6.0, which Mahout 14.1 uses, and
/// scikit-learn's `smooth_idf`.
pub fn idf(having: u64, documents: u64) -> f64 {
    ((documents + 1) as f64 / (having + 1) as f64).ln() + 1.0
}

impl<'a> FeatureReader<'a> {
    /// Reads `count` features of `documents` documents.
    ///
    /// # Errors
    /// An attempt fault where there are too many.
    pub fn new(grams: Union<'a, Gram, Tally>, count: u64, documents: u64) -> Result<Self, Fault> {
        let count = u32::try_from(count).ok().filter(|count| *count < u32::MAX).ok_or_else(|| {
            Fault::attempt(format!("expected fewer than 2^32 features, found {count}"))
                .remedy("raise `min_support`, or take a smaller corpus")
        })?;
        Ok(FeatureReader { grams, pending: None, next: 0, count, documents, sample: Vec::new() })
    }

    /// Whether all features were read.
    pub fn ended(&self) -> bool {
        self.next == self.count
    }

    /// The number of all features, and some of them with their tallies.
    pub fn into_sample(self) -> (u32, Vec<(Gram, Tally)>) {
        (self.count, self.sample)
    }

    fn take(&mut self, disk: &mut dyn Disk) -> Result<(Gram, Tally), Fault> {
        if let Some(pending) = self.pending.take() {
            return Ok(pending);
        }
        self.grams.next(disk).ok_or_else(|| Fault::attempt("a feature is missing"))?
    }

    /// The next features, as many as fit into `room` bytes. `words` is the number of all words.
    ///
    /// # Errors
    /// An attempt fault where there are fewer grams than features.
    pub fn segment(&mut self, disk: &mut dyn Disk, words: u32, room: usize) -> Result<Features, Fault> {
        // Memory that is not touched costs nothing.
        let most = ((self.count - self.next) as usize).min(room / FEATURE);
        let mut segment = Features {
            first: self.next,
            word: 0,
            begins: Vec::with_capacity((words as usize + 1).min(room / WORD)),
            follows: Vec::with_capacity(most),
            idf: Vec::with_capacity(most),
        };
        while !self.ended() {
            let (gram, tally) = self.take(disk)?;
            if segment.follows.is_empty() {
                segment.word = first_word(gram);
            }
            let span = (first_word(gram) - segment.word) as usize + 2;
            let needed = (segment.follows.len() + 1) * FEATURE + span * WORD;
            if needed > room && !segment.follows.is_empty() {
                self.pending = Some((gram, tally));
                break;
            }
            segment.begins.resize(span - 1, segment.follows.len() as u32);
            segment.follows.push(gram.0 as u32);
            segment.idf.push(idf(tally.documents, self.documents));
            let samples = u64::from(self.count).min(SAMPLE);
            if u64::from(self.next) == self.sample.len() as u64 * u64::from(self.count) / samples {
                self.sample.push((gram, tally));
            }
            self.next += 1;
        }
        segment.begins.push(segment.follows.len() as u32);
        Ok(segment)
    }
}

impl Features {
    /// Whether none are before them.
    pub fn is_first(&self) -> bool {
        self.first == 0
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> u64 {
        (self.begins.len() * WORD + self.follows.len() * FEATURE) as u64
    }

    /// The inverse document frequency of a feature.
    pub fn idf(&self, feature: u32) -> f64 {
        self.idf[(feature - self.first) as usize]
    }

    /// Those of a document's features that are in this segment, one for each time that they occur.
    pub fn of_document(&self, words: &[u32], found: &mut Vec<u32>) {
        found.clear();
        // The features that begin with the previous word.
        let (mut first, mut before) = (0, &[][..]);
        for &word in words {
            if word == UNKNOWN_WORD {
                before = &[];
                continue;
            }
            if let Ok(place) = before.binary_search(&(word + 1)) {
                found.push(self.first + first + place as u32);
            }
            let place = word.wrapping_sub(self.word) as usize;
            let [begin, end] = match self.begins.get(place..) {
                Some([begin, end, ..]) => [*begin, *end],
                _ => [0, 0],
            };
            (first, before) = (begin, &self.follows[begin as usize..end as usize]);
            if before.first() == Some(&0) {
                found.push(self.first + first);
            }
        }
    }
}

/// The tally of each of the sample's features in these documents, counted without any table: the reference
/// for the counted ones.
pub fn recount_sample(
    numbered: &Spool,
    sample: &[(Gram, Tally)],
    disk: &mut dyn Disk,
) -> Result<Vec<Tally>, Fault> {
    let mut tallies = vec![Tally::default(); sample.len()];
    let mut reader = numbered.reader();
    let mut document = 0;
    while let Some(record) = reader.read(disk)? {
        let (_, words) = Head::split_record(record)?;
        let words: Vec<u32> = read_numbers(words).collect();
        document += 1;
        for ((gram, _), tally) in sample.iter().zip(&mut tallies) {
            let first = first_word(*gram);
            let times = match (gram.0 as u32).checked_sub(1) {
                None => words.iter().filter(|word| **word == first).count(),
                Some(second) => words.windows(2).filter(|pair| **pair == [first, second]).count(),
            };
            (0..times).for_each(|_| tally.count_in(document));
        }
    }
    Ok(tallies)
}

#[cfg(test)]
mod tests;
