//! A segment of the dictionary: the words whose numbers are in memory. A word's number is its place among all
//! frequent words, in the order of bytes, the same on every slave.

use crosstalk_core::Fault;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::ops::Range;

use super::record::UNKNOWN_WORD;
use crate::mapreduce::record::Tally;
use crate::mapreduce::union::Union;
use crate::mapreduce::word::Word;
use crate::spill::Disk;

/// The numbers of neighbouring words.
#[derive(Debug, Default)]
pub struct Dictionary {
    numbers: HashMap<Word, u32, FxBuildHasher>,
    /// Bytes of long words.
    long: usize,
}

/// The most bytes of a long word outside of the table.
const LONGEST: usize = 512;

impl Dictionary {
    /// Takes the words with these numbers from `words` as long as they fit into `room` bytes; returns them with
    /// the next number. `keep` gets each word's number and tally.
    ///
    /// # Errors
    /// An attempt fault where `words` ends early, or `keep` fails.
    pub fn read(
        disk: &mut dyn Disk,
        words: &mut Union<Word, Tally>,
        numbers: Range<u32>,
        room: usize,
        mut keep: impl FnMut(&mut dyn Disk, u32, Tally) -> Result<(), Fault>,
    ) -> Result<(Self, u32), Fault> {
        let most = numbers.len().min(entries(room / 4 * 3));
        let mut table = HashMap::with_capacity_and_hasher(most, FxBuildHasher);
        let for_long = room.saturating_sub(table.allocation_size() + LONGEST);
        let (mut next, mut long) = (numbers.start, 0);
        while next < numbers.end && table.len() < most && long <= for_long {
            let (word, tally) = words.next(disk).ok_or_else(|| Fault::attempt("a word is missing"))??;
            long += word.heap_bytes();
            table.insert(word, next);
            keep(disk, next, tally)?;
            next += 1;
        }
        Ok((Dictionary { numbers: table, long }, next))
    }

    /// The number of a word, [`UNKNOWN_WORD`] where it is not in this segment.
    pub fn number_of(&self, word: &Word) -> u32 {
        self.numbers.get(word).copied().unwrap_or(UNKNOWN_WORD)
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        (self.long + self.numbers.allocation_size()) as u64
    }
}

/// The most words of a table of at most `bytes`: it has a power of two of places, each of an entry and a byte,
/// of which seven eighths may be taken.
fn entries(bytes: usize) -> usize {
    const GROUP: usize = 16;
    let places = bytes.saturating_sub(GROUP) / (size_of::<(Word, u32)>() + 1);
    places.checked_ilog2().map_or(1, |power| ((1_usize << power) / 8 * 7).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::runs::held;
    use crate::spill::Unmetered;
    use proptest::prelude::*;

    /// All segments of a dictionary of these words, each with its first number, in `room` bytes.
    fn segments(words: &[Vec<u8>], room: usize) -> Vec<(u32, Dictionary)> {
        let records = words.iter().map(|word| (Word::new(word), Tally::new(2, 1))).collect();
        let mut merge = Union::new(vec![held(records)], 1);
        let (mut next, mut kept, mut segments) = (0, Vec::new(), Vec::new());
        while next < words.len() as u32 {
            let first = next;
            let all = next..words.len() as u32;
            let keep = |_: &mut dyn Disk, number, _| {
                kept.push(number);
                Ok(())
            };
            let (segment, end) =
                Dictionary::read(&mut Unmetered, &mut merge, all, room, keep).expect("enough words");
            assert!(end > first, "every segment has a word");
            assert!(segment.memory_bytes() <= room as u64, "{} in {room}", segment.memory_bytes());
            next = end;
            segments.push((first, segment));
        }
        assert!(kept.iter().copied().eq(0..words.len() as u32), "each word is kept once");
        segments
    }

    proptest! {
        #[test]
        fn a_words_number_is_its_place_whatever_the_segments(
            words in proptest::collection::btree_set(proptest::collection::vec(1_u8.., 1..40), 0..200),
            room in 1200_usize..20_000,
        ) {
            let words: Vec<Vec<u8>> = words.into_iter().collect();
            let segments = segments(&words, room);
            for (place, word) in (0..).zip(&words) {
                let word = Word::new(word);
                let found = segments.iter().map(|(_, segment)| segment.number_of(&word));
                let found: Vec<u32> = found.filter(|number| *number != UNKNOWN_WORD).collect();
                prop_assert_eq!(found, [place]);
            }
            let unknown = segments.iter().all(|(_, segment)| segment.number_of(&Word::new(b"\0")) == UNKNOWN_WORD);
            prop_assert!(unknown);
        }
    }

    #[test]
    fn what_fits_is_one_segment_with_a_table_of_its_size() {
        let words: Vec<Vec<u8>> = (0..1000).map(|n| format!("{n:04}").into_bytes()).collect();
        let segments = segments(&words, 1 << 20);
        assert_eq!(segments.len(), 1);
        assert_eq!(segments[0].1.memory_bytes(), 2048 * 33 + 16);
    }

    #[test]
    fn a_list_with_fewer_words_than_counted_is_a_fault() {
        let mut merge = Union::new(vec![held(vec![(Word::new(b"one"), Tally::new(2, 1))])], 1);
        let read = Dictionary::read(&mut Unmetered, &mut merge, 0..2, 1 << 20, |_, _, _| Ok(()));
        assert_eq!(read.expect_err("one is missing").message, "a word is missing");
    }
}
