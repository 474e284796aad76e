//! Tests of `pipeline`: the answer is the same for every memory limit and any number of slaves.

use super::*;
use crate::bayes::config::{Config, Settings};
use crate::bayes::corpus::Corpus;
use crate::bayes::source::generate_pages;
use crate::exchange::Exchange;
use crate::mapreduce::budget::{Memory, least_memory};
use crate::mapreduce::cluster::mock::on_threads;
use crate::spill::Scratch;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;
use proptest::prelude::*;

const CORPUS: Corpus = Corpus {
    documents: 600,
    words: 100,
    vocabulary: 4000,
    categories: 5,
    topical: 0.3,
    mislabelled: 0.1,
    seed: 3,
};

/// Enough for all.
const FREE: u64 = 1 << 30;

/// The answer of a run.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    checksum: u64,
    features: u32,
    /// The sample, with its tallies as the model has them, and as they are found without it.
    sample: Vec<(Gram, [u64; 2])>,
    found: Vec<[u64; 2]>,
    /// Page, label, label given.
    decisions: Vec<(u32, u8, u8)>,
}

/// What a run cost the slave that had most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Cost {
    held: u64,
    spilled: u64,
    segments: [u64; 3],
}

fn settings(ngrams: i64, norm: bool) -> Settings {
    let params = Params::default().with("ngrams", ngrams).with("norm", norm).with("remove_labels", true);
    Config::from_params(&params).expect("reads").settings
}

fn run(settings: &Settings, parts: usize, limit: u64) -> (Answer, Cost) {
    let results = on_threads(parts, |cluster| {
        let (scratch, part) = (Scratch::temporary(), cluster.part());
        let memory = Memory::new(Bytes(limit), parts).expect("enough");
        let mut pages = Spool::new(&scratch, memory.budget().spool_memory());
        generate_pages(&CORPUS, part, parts, &mut pages, &mut cluster.disk).expect("generated");
        let mut node = Node::new(settings, memory, scratch.clone(), cluster);
        let agree = |counts: &Counts, cluster: &mut crate::mapreduce::cluster::mock::Thread| {
            let mine: Vec<u8> = counts.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut sum = Counts::default();
            for theirs in cluster.exchange(vec![mine; parts])? {
                let words: Vec<u64> =
                    theirs.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                sum.add(&Counts::from_words(words.as_slice().try_into().expect("all words")));
            }
            Ok(sum)
        };
        let result = super::run(&mut node, pages, agree).expect("runs");
        let disk = &mut node.cluster.disk;
        let found = crate::bayes::features::recount_sample(&result.numbered, &result.sample, disk);
        let tallies = |tally: &Tally| [tally.count, tally.documents];
        let decisions = result.decisions.iter();
        let answer = Answer {
            checksum: result.model.checksum(disk).expect("reads"),
            features: result.features,
            sample: result.sample.iter().map(|(gram, tally)| (*gram, tallies(tally))).collect(),
            found: found.expect("reads").iter().map(tallies).collect(),
            decisions: decisions
                .map(|decision| (decision.number, decision.label, decision.decided))
                .collect(),
        };
        let spilled = scratch.traffic().written;
        (answer, Cost { held: node.memory.peak, spilled, segments: node.segments })
    });
    let (mut all, mut cost) = results[0].clone();
    for (answer, other) in &results[1..] {
        assert_eq!((answer.checksum, answer.features), (all.checksum, all.features));
        assert_eq!(answer.sample, all.sample);
        for (sum, found) in all.found.iter_mut().zip(&answer.found) {
            *sum = [sum[0] + found[0], sum[1] + found[1]];
        }
        all.decisions.extend(&answer.decisions);
        assert_eq!(other.segments, cost.segments, "all slaves have the same segments");
        cost = Cost { held: cost.held.max(other.held), spilled: cost.spilled.max(other.spilled), ..cost };
    }
    all.decisions.sort_unstable();
    assert!(all.sample.iter().map(|(_, counted)| counted).eq(&all.found), "the sample is as counted");
    (all, cost)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_answer_is_the_same_bit_by_bit_for_every_limit_and_any_number_of_slaves(
        parts in 1_usize..5, more in prop_oneof![Just(0_u64), 0..1_000_000_u64], ngrams in 1_i64..3, norm: bool,
    ) {
        let settings = settings(ngrams, norm);
        let (expected, free) = run(&settings, 1, FREE);
        let limit = least_memory(parts) + more;
        let (answer, cost) = run(&settings, parts, limit);
        prop_assert_eq!(answer, expected);
        prop_assert!(4 * cost.held <= limit, "{:?} of {}", cost, limit);
        prop_assert_eq!((free.segments, free.spilled), ([1, 1, 1], 0));
    }
}

#[test]
fn with_the_least_memory_every_table_has_several_segments() {
    let settings = settings(2, false);
    let (expected, free) = run(&settings, 2, FREE);
    let (answer, least) = run(&settings, 2, least_memory(2));
    assert_eq!(answer, expected);
    assert_eq!((free.segments, free.spilled), ([1, 1, 1], 0), "what fits is one segment and needs no disk");
    assert!(least.segments.iter().all(|count| *count > 1), "{least:?}");
    assert!(
        least.spilled > 0 && 4 * least.held <= least_memory(2) && free.held > least.held,
        "{least:?}, {free:?}"
    );
}
