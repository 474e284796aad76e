//! Tests of `shuffle`.

use super::*;
use crate::exchange::Exchange;
use crate::mapreduce::cluster::mock::on_threads;
use crate::mapreduce::combine::Combiner;
use crate::mapreduce::list::OccurrenceList;
use crate::mapreduce::record::{Number, Tally};
use crate::mapreduce::word::Word;
use crate::spill::Traffic;
use std::collections::BTreeMap;

/// Word → its count and its documents.
type Counts = BTreeMap<Word, (u64, u64)>;

/// Words of part `p`'s documents: long ones with few repetitions.
fn words(part: u64) -> impl Iterator<Item = (u64, Word)> {
    (0..3000_u64).map(move |n| {
        let word = format!("{:040}", (n * n + part * 7919) % 1777);
        (n / 10 + 1, Word::new(word.as_bytes()))
    })
}

fn expected(parts: u64) -> Counts {
    let mut seen: BTreeMap<Word, BTreeMap<(u64, u64), u64>> = BTreeMap::new();
    for part in 0..parts {
        for (document, word) in words(part) {
            *seen.entry(word).or_default().entry((part, document)).or_default() += 1;
        }
    }
    let total = |documents: BTreeMap<_, u64>| (documents.values().sum(), documents.len() as u64);
    seen.into_iter().map(|(word, documents)| (word, total(documents))).collect()
}

fn counted(parts: usize, limit: u64) -> Vec<(Counts, Traffic, usize)> {
    on_threads(parts, |cluster| {
        let scratch = Scratch::temporary();
        let budget = Budget::new(limit, parts);
        let mut combiner = Combiner::<Tally>::new(budget, &scratch);
        let mut last = 0;
        for (document, word) in words(cluster.part() as u64) {
            if document != last {
                combiner.spill_if_full(&mut cluster.disk).expect("settles");
            }
            last = document;
            combiner.value_of(word).count_in(document);
        }
        let mut found = BTreeMap::new();
        let mut before: Option<Word> = None;
        shuffle(
            |disk| combiner.finish(disk),
            budget,
            &scratch,
            cluster,
            |_, word, tally| {
                assert!(before.as_ref().is_none_or(|before| *before < word), "keys ascend");
                assert!(!found.contains_key(&word), "each key once");
                before = Some(word.clone());
                found.insert(word, (tally.count, tally.documents));
                Ok(())
            },
        )
        .expect("shuffles");
        let results = std::mem::take(&mut cluster.disk).bytes_and_seeks();
        let moved = scratch.traffic();
        assert_eq!(results, (moved.written + moved.read, moved.seeks as usize), "all is accounted for");
        (found, moved, cluster.rounds)
    })
}

#[test]
fn the_counts_are_the_same_for_any_number_of_parts_and_any_limit() {
    for parts in [1, 2, 5] {
        for limit in [1 << 30, 256 << 10, 16 << 10] {
            let results = counted(parts, limit);
            let mut together = BTreeMap::new();
            for (found, _, _) in &results {
                for (word, tally) in found {
                    assert!(together.insert(word.clone(), *tally).is_none(), "one owner a word");
                }
            }
            assert_eq!(together, expected(parts as u64), "{parts} parts, {limit} bytes");
            let spilled = results.iter().map(|(_, moved, _)| moved.written).sum::<u64>();
            assert_eq!(spilled > 0, limit < 1 << 30, "{parts} parts, {limit} bytes");
        }
    }
}

#[test]
fn many_runs_are_merged_in_several_passes() {
    // A table of 1 KiB spills after every document: 300 runs.
    let (found, moved, rounds) = counted(1, 4 << 10).remove(0);
    assert_eq!(found, expected(1));
    assert!(moved.writes > 300, "{moved:?}");
    let once: usize = words(0).map(|(_, word)| word.with_bytes(<[u8]>::len) + 3).sum();
    assert!(moved.written > once as u64, "{moved:?} of {once} bytes");
    assert!(moved.read >= moved.written, "{moved:?}");
    assert!(rounds > 1, "rounds of at most a kibibyte");
}

#[test]
fn a_list_counts_as_the_table_does() {
    let number = |word: &Word| {
        Number(
            word.with_bytes(|word| std::str::from_utf8(word).map_or(0, |text| text.parse().unwrap_or(0)))
                << 20,
        )
    };
    for (parts, limit) in [(1, 1 << 30), (1, 4 << 10), (3, 1 << 30), (3, 64 << 10)] {
        let results = on_threads(parts, |cluster| {
            let (budget, scratch) = (Budget::new(limit, parts), Scratch::temporary());
            let mut list = OccurrenceList::<Number, Tally>::new(budget, &scratch);
            let mut last = 0;
            for (document, word) in words(cluster.part() as u64) {
                if document != last {
                    list.spill_if_full(&mut cluster.disk).expect("settles");
                }
                last = document;
                list.add(number(&word), document);
            }
            let mut found = Vec::new();
            let keep = |_: &mut dyn Disk, key: Number, tally: Tally| {
                found.push((key, (tally.count, tally.documents)));
                Ok(())
            };
            shuffle(|disk| list.finish(disk), budget, &scratch, cluster, keep).expect("shuffles");
            (found, scratch.traffic().written)
        });
        assert!(results.iter().all(|(found, _)| found.is_sorted_by_key(|(key, _)| *key)));
        assert_eq!(results.iter().any(|(_, bytes)| *bytes > 0), limit < 1 << 30);
        let mut together: Vec<_> = results.into_iter().flat_map(|(found, _)| found).collect();
        together.sort_unstable();
        let expected: Vec<_> =
            expected(parts as u64).into_iter().map(|(word, tally)| (number(&word), tally)).collect();
        assert_eq!(together, expected, "{parts} parts, {limit} bytes");
    }
}

#[test]
fn nothing_is_shuffled_in_one_round() {
    let rounds = on_threads(3, |cluster| {
        let (budget, scratch) = (Budget::new(1 << 20, 3), Scratch::temporary());
        let list = OccurrenceList::<Number, u64>::new(budget, &scratch);
        let nothing = |_: &mut dyn Disk, _, _| Err(Fault::attempt("there is no key"));
        assert_eq!(shuffle(|disk| list.finish(disk), budget, &scratch, cluster, nothing), Ok(0));
        cluster.rounds
    });
    assert_eq!(rounds, [1, 1, 1]);
}
