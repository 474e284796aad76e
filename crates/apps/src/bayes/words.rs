//! The second stage: words are separated and counted, and every slave gets those that occur often enough.

use crosstalk_core::Fault;

use super::node::{Node, Stage};
use super::record::Head;
use super::token::for_each_word;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::record::{Key, Tally};
use crate::mapreduce::share::Shared;
use crate::mapreduce::spool::Spool;
use crate::mapreduce::word::Word;

/// The words of a document of words.
pub fn words_of_record(mut words: &[u8]) -> impl Iterator<Item = Result<Word, Fault>> {
    std::iter::from_fn(move || {
        let more = !words.is_empty();
        more.then(|| {
            Word::read(&mut words).ok_or_else(|| Fault::attempt("a word of a document is incomplete"))
        })
    })
}

/// Turns documents of text into documents of words, and counts these. Returns the frequent ones, too.
pub fn count_words<C: Cluster>(
    node: &mut Node<C>,
    documents: Spool,
) -> Result<(Spool, Shared<Word, Tally>), Fault> {
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
    let mut frequent = node.list_writer(node.memory.budget().spool_memory());
    let (mut arrived, least) = (0, node.settings.min_support);
    node.shuffle(
        |disk| combiner.finish(disk),
        |disk, word, tally| {
            arrived += tally.count;
            if tally.count >= least { frequent.push(disk, &word, &tally) } else { Ok(()) }
        },
    )?;
    let frequent = node.cluster.parallel(|disk| frequent.finish(disk))?;
    Ok((tokens, node.share("words", frequent, emitted, arrived)?))
}
