//! Tests of `corpus`.

use super::*;
use crate::bayes::category::category_of;
use crate::bayes::page::parse_article;
use std::collections::{BTreeMap, BTreeSet};

fn corpus() -> Corpus {
    Corpus {
        documents: 2000,
        words: 200,
        vocabulary: 1000,
        categories: 5,
        topical: 0.3,
        mislabelled: 0.1,
        seed: 7,
    }
}

fn page(corpus: &Corpus, number: u64) -> String {
    let mut page = String::new();
    corpus.write_page(number, &mut page);
    page
}

#[test]
fn pages_are_articles_of_so_many_words_with_a_category() {
    let corpus = corpus();
    let mut labels = BTreeMap::<u8, u64>::new();
    for number in 0..corpus.documents {
        let page = page(&corpus, number);
        let article = parse_article(&page).expect("a page").expect("an article");
        assert_eq!(article.title, format!("Article {number}"));
        let (body, _) = article.text.split_once("\n[[").expect("a link");
        assert_eq!(body.split_whitespace().count(), 200);
        *labels.entry(category_of(&article.text).expect("a category")).or_default() += 1;
    }
    assert_eq!(labels.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(labels.values().all(|count| count.abs_diff(400) < 100), "{labels:?}");
    assert_eq!(page(&corpus, 3), page(&corpus, 3));
    assert_ne!(page(&corpus, 3), page(&Corpus { seed: 8, ..corpus.clone() }, 3));
}

#[test]
fn common_words_are_zipfian() {
    let mut random = Random::new(1, 1);
    let mut counts = vec![0_u32; 1000];
    (0..200_000).for_each(|_| counts[zipf(1000, &mut random) as usize] += 1);
    for rank in [1_usize, 2, 10, 100] {
        let expected = 200_000.0 * (1.0 + 1.0 / rank as f64).ln() / 1001_f64.ln();
        let found = f64::from(counts[rank - 1]);
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}: {found}, not {expected}");
    }
}

#[test]
fn no_two_numbers_are_spelled_alike() {
    let spelled = |number| {
        let mut word = String::new();
        spell(number, &mut word);
        word
    };
    let all: BTreeSet<_> = (0..30_000).map(spelled).collect();
    assert_eq!(all.len(), 30_000);
    assert!(all.iter().all(|word| !NAMES.contains(&word.as_str())));
}
