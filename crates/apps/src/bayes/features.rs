//! The third stage: pairs of neighbouring words are counted, and those that
//! occur often enough become features beside the words.
//!
//! A pair occurs at most as often as each of its words, so that only pairs of
//! words in the dictionary need to be counted (the Apriori principle: Agrawal,
//! Srikant, VLDB 1994). With their numbers in the upper and the lower half, a
//! pair is a 64-bit number without collisions.

use crosstalk_core::Fault;

use super::config::Settings;
use super::dictionary::{Dictionary, words_of_record};
use super::node::{Node, Stage, check_same_total};
use super::record::{Head, UNKNOWN_WORD, read_numbers};
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::{Key, Number, Tally, Value, append_number, take_number};
use crate::mapreduce::spool::Spool;
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

/// Features with their numbers: places in the order of grams, where those that
/// begin with one word are neighbours.
#[derive(Debug, Default)]
pub struct Features {
    /// Word → the first feature that begins with it; one more at the end.
    begins: Vec<u32>,
    /// Feature → the word that follows the first one, and 1; 0 for a word alone.
    follows: Vec<u32>,
    /// Feature → inverse document frequency.
    pub idf: Vec<f64>,
    /// Some features with how often they occur.
    pub sample: Vec<(Gram, Tally)>,
}

/// Number of features that are checked at the end.
const SAMPLE: usize = 8;

/// Lucene's `ClassicSimilarity` since 6.0, which Mahout 14.1 uses, and
/// scikit-learn's `smooth_idf`.
pub fn idf(having: u64, documents: u64) -> f64 {
    ((documents + 1) as f64 / (having + 1) as f64).ln() + 1.0
}

impl Features {
    fn new(mut grams: Vec<(Gram, Tally)>, words: usize, documents: u64) -> Result<Self, Fault> {
        // A stable sort profits from the ordered runs of the slaves.
        grams.sort_by_key(|(gram, _)| *gram);
        if grams.len() >= UNKNOWN_WORD as usize {
            return Err(Fault::attempt(format!("expected fewer than 2^32 features, found {}", grams.len())));
        }
        let mut begins = vec![0; words + 1];
        grams.iter().for_each(|(gram, _)| begins[(gram.0 >> 32) as usize + 1] += 1);
        for word in 0..words {
            begins[word + 1] += begins[word];
        }
        Ok(Features {
            begins,
            follows: grams.iter().map(|(gram, _)| gram.0 as u32).collect(),
            idf: grams.iter().map(|(_, tally)| idf(tally.documents, documents)).collect(),
            sample: (0..SAMPLE.min(grams.len()))
                .map(|n| grams[n * grams.len() / SAMPLE.min(grams.len())])
                .collect(),
        })
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> u64 {
        let lists = size_of_val(self.begins.as_slice()) + size_of_val(self.follows.as_slice());
        (lists + size_of_val(self.idf.as_slice())) as u64
    }

    /// The number of features.
    pub fn count(&self) -> usize {
        self.idf.len()
    }

    /// The features of a document, one for each time that they occur.
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
                found.push(first + place as u32);
            }
            first = self.begins[word as usize];
            before = &self.follows[first as usize..self.begins[word as usize + 1] as usize];
            if before.first() == Some(&0) {
                found.push(first);
            }
        }
    }
}

/// Turns documents of words into documents of their numbers, and counts pairs.
/// The features are held from then on.
pub fn count_features<C: Cluster>(
    node: &mut Node<C>,
    tokens: Spool,
    dictionary: &Dictionary,
    documents: u64,
) -> Result<(Spool, Features), Fault> {
    let mut numbered = node.spool();
    let mut pairs = node.list::<Gram, Tally>();
    let settings = node.settings;
    let emitted = node.cluster.parallel(|disk| {
        let (mut reader, mut record, mut words) = (tokens.reader(), Vec::new(), Vec::new());
        let (mut emitted, mut document) = (0, 0);
        while let Some(tokens) = reader.read(disk)? {
            let (head, tokens) = Head::split_record(tokens)?;
            head.begin_record(&mut record);
            document += 1;
            words.clear();
            for word in words_of_record(tokens) {
                words.push(dictionary.number_of(&word?));
            }
            let mut before = UNKNOWN_WORD;
            for &word in &words {
                record.extend_from_slice(&word.to_le_bytes());
                if settings.ngrams == 2 && before != UNKNOWN_WORD && word != UNKNOWN_WORD {
                    pairs.add(pair_gram(before, word), document);
                    emitted += 1;
                }
                before = word;
            }
            pairs.spill_if_full(disk)?;
            numbered.push(disk, &record)?;
        }
        Ok::<_, Fault>(emitted)
    })?;
    drop(tokens);
    node.end_stage(Stage::CountPairs);
    let mut frequent = Vec::new();
    let mut arrived = 0;
    node.shuffle(
        |disk| pairs.finish(disk),
        |gram, tally| {
            arrived += tally.count;
            if tally.count >= settings.min_support && settings.is_feature(&tally, documents) {
                gram.write(&mut frequent);
                tally.write(&mut frequent);
            }
            Ok(())
        },
    )?;
    let mut mine = Vec::new();
    append_number(emitted, &mut mine);
    append_number(arrived, &mut mine);
    mine.append(&mut frequent);
    let shares = node.exchange_with_all(mine)?;
    let features = node.cluster.parallel(|_| read(&shares, settings, dictionary, documents))?;
    drop(shares);
    node.hold_memory("the dictionary and the features", features.memory_bytes(), &mut [&mut numbered])?;
    node.end_stage(Stage::SharePairs);
    Ok((numbered, features))
}

fn read(
    shares: &[Vec<u8>],
    settings: &Settings,
    dictionary: &Dictionary,
    documents: u64,
) -> Result<Features, Fault> {
    let torn = || Fault::attempt("a list of features was cut short");
    let words = (0..).map(word_gram).zip(dictionary.tallies.iter().copied());
    let mut grams: Vec<_> = words.filter(|(_, tally)| settings.is_feature(tally, documents)).collect();
    let (mut emitted, mut arrived) = (0, 0);
    for share in shares {
        let from = &mut share.as_slice();
        emitted += take_number(from).ok_or_else(torn)?;
        arrived += take_number(from).ok_or_else(torn)?;
        while !from.is_empty() {
            let gram = Gram::read(from).ok_or_else(torn)?;
            grams.push((gram, Tally::read(from).ok_or_else(torn)?));
        }
    }
    check_same_total("pairs of words", emitted, arrived)?;
    Features::new(grams, dictionary.tallies.len(), documents)
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
            let first = (gram.0 >> 32) as u32;
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_documents_features_are_the_grams_in_it(
            chosen in proptest::collection::btree_set((0..5_u32, 0..6_u32), 0..20),
            document in proptest::collection::vec(prop_oneof![0..5_u32, Just(UNKNOWN_WORD)], 0..30),
        ) {
            // The word alone where no other follows.
            let gram = |(first, second): (u32, u32)| second.checked_sub(1).map_or(word_gram(first), |next| pair_gram(first, next));
            let grams: Vec<Gram> = chosen.into_iter().map(gram).collect();
            let tallied = grams.iter().rev().map(|gram| (*gram, Tally::new(2, 1))).collect();
            let features = Features::new(tallied, 5, 9).expect("few");
            let known = |word: &u32| *word != UNKNOWN_WORD;
            let words = document.iter().filter(|word| known(word)).map(|first| word_gram(*first));
            let pairs = document.windows(2).filter(|two| two.iter().all(known)).map(|two| pair_gram(two[0], two[1]));
            let mut expected: Vec<Gram> = words.chain(pairs).filter(|gram| grams.contains(gram)).collect();
            let mut found = Vec::new();
            features.of_document(&document, &mut found);
            let mut found: Vec<Gram> = found.into_iter().map(|feature| grams[feature as usize]).collect();
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
