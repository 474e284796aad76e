//! The second stage: words are counted, and those that occur often enough get
//! numbers, the same on every slave: their places in the order of bytes.

use crosstalk_core::Fault;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::node::{Node, Stage, same};
use super::record::{Head, UNKNOWN};
use super::token::words;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::{Key, Tally, Value, number, put};
use crate::mapreduce::spool::Spool;
use crate::mapreduce::word::Word;

/// Words with their numbers. Every slave has them all, as in Hadoop's distributed cache.
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
        if entries.len() >= UNKNOWN as usize {
            return Err(Fault::attempt(format!("expected fewer than 2^32 words, found {}", entries.len())));
        }
        let tallies: Vec<Tally> = entries.iter().map(|(_, tally)| *tally).collect();
        let words: usize = entries.iter().map(|(word, _)| word.elsewhere()).sum();
        let numbers: HashMap<_, _, _> = entries.into_iter().map(|(word, _)| word).zip(0..).collect();
        let bytes = (words + numbers.allocation_size() + size_of_val(tallies.as_slice())) as u64;
        Ok(Dictionary { numbers, tallies, occurrences, bytes })
    }

    /// A word's number.
    pub fn number(&self, word: &Word) -> u32 {
        self.numbers.get(word).copied().unwrap_or(UNKNOWN)
    }
}

/// The words of a document of words.
pub fn each(mut words: &[u8]) -> impl Iterator<Item = Result<Word, Fault>> {
    std::iter::from_fn(move || {
        let more = !words.is_empty();
        more.then(|| Word::read(&mut words).ok_or_else(|| Fault::attempt("a word was cut short")))
    })
}

/// Turns documents of text into documents of words, and counts these. The
/// dictionary is held from then on.
pub fn count<C: Cluster>(node: &mut Node<C>, documents: Spool) -> Result<(Spool, Dictionary), Fault> {
    let mut tokens = node.spool();
    let mut combiner = node.combiner::<Tally>();
    let emitted = node.cluster.parallel(|disk| {
        let (mut reader, mut record) = (documents.reader(), Vec::new());
        let (mut emitted, mut document) = (0, 0);
        while let Some(text) = reader.read(disk)? {
            let (head, text) = Head::split(text)?;
            let text = std::str::from_utf8(text).map_err(|e| Fault::attempt(format!("not UTF-8: {e}")))?;
            head.begin(&mut record);
            document += 1;
            let begin = record.len();
            words(text, |word| {
                record.push(word.len() as u8);
                record.extend_from_slice(word);
            });
            // All at once: only table accesses wait, many at a time.
            for word in each(&record[begin..]) {
                combiner.at(word?).see(document);
                emitted += 1;
            }
            combiner.settle(disk)?;
            tokens.push(disk, &record)?;
        }
        Ok::<_, Fault>(emitted)
    })?;
    drop(documents);
    node.ends(Stage::CountWords);
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
    put(emitted, &mut mine);
    put(arrived, &mut mine);
    mine.append(&mut frequent);
    let shares = node.share(mine)?;
    let dictionary = node.cluster.parallel(|_| read(&shares))?;
    drop(shares);
    node.hold("the dictionary", dictionary.bytes, &mut [&mut tokens])?;
    node.ends(Stage::ShareWords);
    Ok((tokens, dictionary))
}

fn read(shares: &[Vec<u8>]) -> Result<Dictionary, Fault> {
    let torn = || Fault::attempt("a dictionary was cut short");
    let (mut entries, mut emitted, mut arrived) = (Vec::new(), 0, 0);
    for share in shares {
        let from = &mut share.as_slice();
        emitted += number(from).ok_or_else(torn)?;
        arrived += number(from).ok_or_else(torn)?;
        while !from.is_empty() {
            let word = Word::read(from).ok_or_else(torn)?;
            entries.push((word, Tally::read(from).ok_or_else(torn)?));
        }
    }
    same("words", emitted, arrived)?;
    Dictionary::new(entries, emitted)
}
