//! A generated corpus: articles of Zipfian words about one of so many topics,
//! each with a category, as pages of a MediaWiki export.
//!
//! A word is about the article's topic with probability `topical`, else common to all topics. Either way its
//! rank r among its kind has the probability log(1 + 1/r) / log(1 + kinds), close to Zipf's law. The category
//! is the topic except for a share `mislabelled`, which gets another one at random: a perfect classifier is
//! right about 1 − `mislabelled` of the articles, and no more where articles do not contain their category.

use std::fmt::Write;

use super::category::NAMES;
use super::random::Random;

/// A corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    /// Articles.
    pub documents: u64,
    /// Words in each.
    pub words: u64,
    /// Different common words.
    pub vocabulary: u64,
    /// Topics: the first of the categories.
    pub categories: u64,
    /// Share of the words that are about the topic.
    pub topical: f64,
    /// Share of the articles whose category is not the topic.
    pub mislabelled: f64,
    /// Another seed, another corpus.
    pub seed: u64,
}

/// Topical words of each topic for so many common ones.
const TOPICAL_SHARE: u64 = 10;

/// Words in a line.
const LINE: u64 = 14;

impl Corpus {
    /// Writes article `number` as a page.
    pub fn write(&self, number: u64, page: &mut String) {
        let random = &mut Random::new(self.seed, number);
        let topic = random.below(self.categories);
        let category = if random.unit() < self.mislabelled && self.categories > 1 {
            (topic + 1 + random.below(self.categories - 1)) % self.categories
        } else {
            topic
        };
        page.push_str("  <page>\n    <title>Article ");
        number_into(number, page);
        page.push_str("</title>\n    <revision>\n      <text xml:space=\"preserve\">");
        for place in 0..self.words {
            spell(self.word(topic, random), page);
            page.push_str(if place % LINE == LINE - 1 { ".\n" } else { " " });
        }
        page.push_str("\n[[Category:");
        page.push_str(NAMES[category as usize]);
        page.push_str("]]</text>\n    </revision>\n  </page>\n");
    }

    fn word(&self, topic: u64, random: &mut Random) -> u64 {
        if random.unit() < self.topical {
            let rank = zipf((self.vocabulary / TOPICAL_SHARE).max(1), random);
            self.vocabulary + rank * self.categories + topic
        } else {
            zipf(self.vocabulary, random)
        }
    }
}

/// A rank from 0 below `kinds`.
fn zipf(kinds: u64, random: &mut Random) -> u64 {
    let rank = ((kinds + 1) as f64).powf(random.unit()) as u64;
    rank.clamp(1, kinds) - 1
}

fn number_into(number: u64, page: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(page, "{number}");
}

/// Syllables of a consonant and a vowel: no two numbers have the same spelling, and no word contains a
/// category's name.
fn spell(mut number: u64, page: &mut String) {
    const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    const VOWELS: &[u8; 5] = b"aeiou";
    loop {
        let syllable = (number % 100) as usize;
        page.push(char::from(CONSONANTS[syllable / 5]));
        page.push(char::from(VOWELS[syllable % 5]));
        number /= 100;
        if number == 0 {
            return;
        }
        // Bijective: one syllable, then the two-syllable words, and so on.
        number -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes::category::label;
    use crate::bayes::page::article;
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
        corpus.write(number, &mut page);
        page
    }

    #[test]
    fn pages_are_articles_of_so_many_words_with_a_category() {
        let corpus = corpus();
        let mut labels = BTreeMap::<u8, u64>::new();
        for number in 0..corpus.documents {
            let page = page(&corpus, number);
            let article = article(&page).expect("a page").expect("an article");
            assert_eq!(article.title, format!("Article {number}"));
            let (body, _) = article.text.split_once("\n[[").expect("a link");
            assert_eq!(body.split_whitespace().count(), 200);
            *labels.entry(label(&article.text).expect("a category")).or_default() += 1;
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
}
