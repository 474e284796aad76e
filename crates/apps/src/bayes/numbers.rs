//! The third stage: words become numbers, one pass over the documents for each segment of the dictionary. The
//! last pass counts pairs of neighbouring words, too.
//!
//! A pair occurs at most as often as each of its words, so that only pairs of
//! words in the dictionary need to be counted (the Apriori principle: Agrawal,
//! Srikant, VLDB 1994).

use crosstalk_core::Fault;

use super::dictionary::Dictionary;
use super::features::{Gram, pair_gram, word_gram};
use super::lockstep::{Document, Lockstep};
use super::node::{Node, Stage, Table};
use super::record::{UNKNOWN_WORD, read_numbers};
use super::words::words_of_record;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::list::OccurrenceList;
use crate::mapreduce::record::Tally;
use crate::mapreduce::share::Shared;
use crate::mapreduce::sorted::SortedList;
use crate::mapreduce::spool::Spool;
use crate::mapreduce::word::Word;
use crate::spill::Disk;

/// What is known of the words.
pub struct Words {
    /// How many there are in the dictionary.
    pub count: u32,
    /// Those that are features.
    pub features: SortedList<Gram, Tally>,
}

/// The pairs of words in this slave's documents.
pub struct Pairs {
    list: OccurrenceList<Gram, Tally>,
    /// How many there are.
    emitted: u64,
}

impl Pairs {
    /// No pairs, in a list of a node's memory.
    fn new<C: Cluster>(node: &Node<C>) -> Self {
        Pairs { list: node.list(), emitted: 0 }
    }
}

/// Turns documents of words into documents of their numbers, and lists pairs.
pub fn number_documents<C: Cluster>(
    node: &mut Node<C>,
    mut tokens: Spool,
    words: Shared<Word, Tally>,
    documents: u64,
) -> Result<(Spool, Words, Pairs), Fault> {
    let found = words.totals().records;
    let count = u32::try_from(found).ok().filter(|count| *count < UNKNOWN_WORD).ok_or_else(|| {
        Fault::attempt(format!("expected fewer than 2^32 words, found {found}"))
            .remedy("raise `min_support`, or take a smaller corpus")
    })?;
    let settings = node.settings;
    let room = node.memory.budget().segment_bytes();
    let mut features = node.list_writer(node.memory.budget().beside_memory());
    let mut stream = words.union(None);
    let (mut next, mut numbered) = (0, None::<Spool>);
    let dictionary = loop {
        let first = next == 0;
        let dictionary;
        (dictionary, next) = node.cluster.parallel(|disk| {
            Dictionary::read(disk, &mut stream, next..count, room, |disk, word, tally| {
                if settings.is_feature(&tally, documents) {
                    features.push(disk, &word_gram(word), &tally)?;
                }
                Ok(())
            })
        })?;
        let spools = std::iter::once(&mut tokens).chain(&mut numbered);
        node.hold_segment(Table::Dictionary, dictionary.memory_bytes(), spools)?;
        if first {
            node.end_stage(Stage::ShareWords);
        }
        if next == count {
            break dictionary;
        }
        let mut into = node.spool();
        node.cluster.parallel(|disk| {
            let push = |disk: &mut dyn Disk, record: &[u8], _: &[u32]| into.push(disk, record);
            number(disk, &tokens, numbered.as_slice(), &dictionary, push)
        })?;
        node.memory.release(dictionary.memory_bytes());
        numbered = Some(into);
    };
    drop(stream);
    drop(words);
    let (mut into, mut pairs) = (node.spool(), Pairs::new(node));
    let features = node.cluster.parallel(|disk| {
        let mut document = 0;
        number(disk, &tokens, numbered.as_slice(), &dictionary, |disk, record, words| {
            document += 1;
            if settings.ngrams == 2 {
                pairs.emitted += list_pairs(words, document, &mut pairs.list);
                pairs.list.spill_if_full(disk)?;
            }
            into.push(disk, record)
        })?;
        features.finish(disk)
    })?;
    node.memory.release(dictionary.memory_bytes());
    node.end_stage(Stage::CountPairs);
    Ok((into, Words { count, features }, pairs))
}

/// A pass over the documents, beside the numbers that were found before: `push` gets each one's record with its
/// words' numbers, and these.
fn number(
    disk: &mut dyn Disk,
    tokens: &Spool,
    numbered: &[Spool],
    dictionary: &Dictionary,
    mut push: impl FnMut(&mut dyn Disk, &[u8], &[u32]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut reader = Lockstep::new(tokens, numbered);
    let (mut record, mut numbers) = (Vec::new(), Vec::new());
    while let Some(Document { head, content, found }) = reader.read(disk)? {
        let mut found = read_numbers(found);
        numbers.clear();
        for word in words_of_record(content) {
            let word = word?;
            let known = found.next().filter(|number| *number != UNKNOWN_WORD);
            numbers.push(known.unwrap_or_else(|| dictionary.number_of(&word)));
        }
        head.begin_record(&mut record);
        numbers.iter().for_each(|number| record.extend_from_slice(&number.to_le_bytes()));
        push(disk, &record, &numbers)?;
    }
    Ok(())
}

/// Lists the pairs of a document's words; returns their number.
fn list_pairs(words: &[u32], document: u64, list: &mut OccurrenceList<Gram, Tally>) -> u64 {
    let (mut before, mut count) = (UNKNOWN_WORD, 0);
    for &word in words {
        if before != UNKNOWN_WORD && word != UNKNOWN_WORD {
            list.add(pair_gram(before, word), document);
            count += 1;
        }
        before = word;
    }
    count
}

/// Sends the pairs to their owners, and returns to every slave those that are features.
pub fn share_pairs<C: Cluster>(
    node: &mut Node<C>,
    pairs: Pairs,
    documents: u64,
) -> Result<Shared<Gram, Tally>, Fault> {
    let Pairs { list, emitted } = pairs;
    let mut frequent = node.list_writer(node.memory.budget().spool_memory());
    let (mut arrived, settings) = (0, node.settings);
    node.shuffle(
        |disk| list.finish(disk),
        |disk, gram, tally| {
            arrived += tally.count;
            let kept = tally.count >= settings.min_support && settings.is_feature(&tally, documents);
            if kept { frequent.push(disk, &gram, &tally) } else { Ok(()) }
        },
    )?;
    let frequent = node.cluster.parallel(|disk| frequent.finish(disk))?;
    node.share("pairs of words", frequent, emitted, arrived)
}
