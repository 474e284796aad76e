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

/// A corpus of articles that is generated from a seed.
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
    pub fn write_page(&self, number: u64, page: &mut String) {
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
mod tests;
