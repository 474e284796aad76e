//! Tests of `features`.

use super::*;
use crate::mapreduce::runs::held;
use crate::spill::Unmetered;
use proptest::prelude::*;

/// All segments of these grams, which ascend, each of at most `room` bytes; and the sample.
fn segments(grams: &[Gram], words: u32, room: usize) -> (Vec<Features>, Vec<(Gram, Tally)>) {
    let tallied = grams.iter().map(|gram| (*gram, Tally::new(2, 1))).collect();
    let mut reader =
        FeatureReader::new(Union::new(vec![held(tallied)], 1), grams.len() as u64, 9).expect("few");
    let mut segments = Vec::new();
    while segments.is_empty() || !reader.ended() {
        let segment = reader.segment(&mut Unmetered, words, room).expect("enough grams");
        let one = (FEATURE + 2 * WORD) as u64;
        assert!(segment.memory_bytes() <= (room as u64).max(one), "{} in {room}", segment.memory_bytes());
        segments.push(segment);
    }
    let (count, sample) = reader.into_sample();
    assert_eq!(count as usize, grams.len());
    (segments, sample)
}

proptest! {
    #[test]
    fn a_documents_features_are_the_grams_in_it_whatever_the_segments(
        chosen in proptest::collection::btree_set((0..5_u32, 0..6_u32), 0..20),
        document in proptest::collection::vec(prop_oneof![0..5_u32, Just(UNKNOWN_WORD)], 0..30),
        room in prop_oneof![0_usize..120, Just(1 << 20)],
    ) {
        // The word alone where no other follows.
        let gram = |(first, second): (u32, u32)| second.checked_sub(1).map_or(word_gram(first), |next| pair_gram(first, next));
        let grams: Vec<Gram> = chosen.into_iter().map(gram).collect();
        let (segments, _) = segments(&grams, 5, room);
        prop_assert!(segments.len() == 1 || room < 1 << 20);
        let known = |word: &u32| *word != UNKNOWN_WORD;
        let words = document.iter().filter(|word| known(word)).map(|first| word_gram(*first));
        let pairs = document.windows(2).filter(|two| two.iter().all(known)).map(|two| pair_gram(two[0], two[1]));
        let mut expected: Vec<Gram> = words.chain(pairs).filter(|gram| grams.contains(gram)).collect();
        expected.sort_unstable();
        let mut all = Vec::new();
        for segment in &segments {
            let mut found = Vec::new();
            segment.of_document(&document, &mut found);
            found.sort_unstable();
            all.extend(found.into_iter().map(|feature| grams[feature as usize]));
        }
        prop_assert_eq!(all, expected, "segments ascend");
    }
}

#[test]
fn a_sample_is_spread_over_all_features_whatever_the_segments() {
    let grams: Vec<Gram> = (0..100).map(|n| pair_gram(n / 10, n % 10)).collect();
    let expected: Vec<Gram> = (0..8).map(|n| grams[n * 100 / 8]).collect();
    for room in [100, 1 << 20] {
        let (segments, sample) = segments(&grams, 10, room);
        assert_eq!(segments.len() > 1, room == 100);
        assert!(sample.iter().map(|(gram, _)| *gram).eq(expected.iter().copied()));
    }
    assert_eq!(segments(&grams[..3], 10, 100).1.len(), 3);
}

#[test]
fn a_list_with_fewer_grams_than_counted_is_a_fault() {
    let merge = Union::new(vec![held(vec![(word_gram(0), Tally::new(2, 1))])], 1);
    let mut reader = FeatureReader::new(merge, 2, 9).expect("few");
    assert!(reader.segment(&mut Unmetered, 1, 1 << 20).is_err());
}
