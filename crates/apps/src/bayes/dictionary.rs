//! The second stage: words are counted, and those that occur often enough get
//! numbers, the same on every slave: their places in the order of bytes.

use crosstalk_core::Fault;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::node::{Node, Stage, check_same_total};
use super::record::{Head, UNKNOWN_WORD};
use super::token::for_each_word;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::{Key, Tally, Value, append_number, take_number};
use crate::mapreduce::spool::Spool;
use crate::mapreduce::word::Word;

/// The number of each word. Every slave has them all, as in Hadoop's distributed cache.
#[derive(Debug, Default)]
pub struct Dictionary {
    numbers: HashMap<Word, u32, FxBuildHasher>,
    /// Number → how often.
    pub tallies: Vec<Tally>,
    /// Words in all documents, the rare ones too.
    pub occurrences: u64,
    /// Bytes of memory that it takes.
    pub bytes: u64,
}

impl Dictionary {
    fn new(mut entries: Vec<(Word, Tally)>, occurrences: u64) -> Result<Self, Fault> {
        // A stable sort profits from the ordered runs of the slaves.
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        if entries.len() >= UNKNOWN_WORD as usize {
            return Err(Fault::attempt(format!("expected fewer than 2^32 words, found {}", entries.len())));
        }
        let tallies: Vec<Tally> = entries.iter().map(|(_, tally)| *tally).collect();
        let words: usize = entries.iter().map(|(word, _)| word.heap_bytes()).sum();
        let numbers: HashMap<_, _, _> = entries.into_iter().map(|(word, _)| word).zip(0..).collect();
        let bytes = (words + numbers.allocation_size() + size_of_val(tallies.as_slice())) as u64;
        Ok(Dictionary { numbers, tallies, occurrences, bytes })
    }

    /// The number of a word.
    pub fn number_of(&self, word: &Word) -> u32 {
        self.numbers.get(word).copied().unwrap_or(UNKNOWN_WORD)
    }
}

/// The words of a document of words.
pub fn words_of_record(mut words: &[u8]) -> impl Iterator<Item = Result<Word, Fault>> {
    std::iter::from_fn(move || {
        let more = !words.is_empty();
        more.then(|| Word::read(&mut words).ok_or_else(|| Fault::attempt("a word was cut short")))
    })
}

/// Turns documents of text into documents of words, and counts these. The
/// dictionary is held from then on.
pub fn build_dictionary<C: Cluster>(
    node: &mut Node<C>,
    documents: Spool,
) -> Result<(Spool, Dictionary), Fault> {
    let mut tokens = node.spool();
    let mut combiner = node.combiner::<Tally>();
    let emitted = node.cluster.parallel(|disk| {
        let (mut reader, mut record) = (documents.reader(), Vec::new());
        let (mut emitted, mut document) = (0, 0);
        while let Some(text) = reader.read(disk)? {
            let (head, text) = Head::split_record(text)?;
            let text = std::str::from_utf8(text).map_err(|e| Fault::attempt(format!("not UTF-8: {e}")))?;
            head.begin_record(&mut record);
            document += 1;
            let begin = record.len();
            for_each_word(text, |word| {
                record.push(word.len() as u8);
                record.extend_from_slice(word);
            });
            // All at once: only table accesses wait, many at a time.
            for word in words_of_record(&record[begin..]) {
                combiner.value_of(word?).count_in(document);
                emitted += 1;
            }
            combiner.spill_if_full(disk)?;
            tokens.push(disk, &record)?;
        }
        Ok::<_, Fault>(emitted)
    })?;
    drop(documents);
    node.end_stage(Stage::CountWords);
    let mut frequent = Vec::new();
    let (mut arrived, least) = (0, node.settings.min_support);
    node.shuffle(
        |disk| combiner.finish(disk),
        |word, tally| {
            arrived += tally.count;
            if tally.count >= least {
                word.write(&mut frequent);
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
    let dictionary = node.cluster.parallel(|_| read(&shares))?;
    drop(shares);
    node.hold_memory("the dictionary", dictionary.bytes, &mut [&mut tokens])?;
    node.end_stage(Stage::ShareWords);
    Ok((tokens, dictionary))
}

fn read(shares: &[Vec<u8>]) -> Result<Dictionary, Fault> {
    let torn = || Fault::attempt("a dictionary was cut short");
    let (mut entries, mut emitted, mut arrived) = (Vec::new(), 0, 0);
    for share in shares {
        let from = &mut share.as_slice();
        emitted += take_number(from).ok_or_else(torn)?;
        arrived += take_number(from).ok_or_else(torn)?;
        while !from.is_empty() {
            let word = Word::read(from).ok_or_else(torn)?;
            entries.push((word, Tally::read(from).ok_or_else(torn)?));
        }
    }
    check_same_total("words", emitted, arrived)?;
    Dictionary::new(entries, emitted)
}
