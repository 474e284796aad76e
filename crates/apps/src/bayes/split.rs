//! The split into training and test articles: by their titles, so that neither the number of slaves nor the
//! order of pages matters.

use super::random::mix_bits;

/// How articles are split into those for training and those for testing, by their titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Percentage of test articles.
    pub percent: u64,
    /// Seed of the split.
    pub seed: u64,
}

impl Split {
    /// Whether the article with this title is for testing: FNV-1a
    /// (<http://www.isthe.com/chongo/tech/comp/fnv/>) of the title's bytes, begun with the seed, mixed by
    /// SplitMix64's finaliser, modulo 100.
    pub fn is_test(self, title: &str) -> bool {
        let begin = 0xcbf2_9ce4_8422_2325 ^ self.seed;
        let hash = title
            .bytes()
            .fold(begin, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        mix_bits(hash) % 100 < self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_given_share_is_for_testing_and_another_seed_selects_others() {
        let held = |seed| {
            let split = Split { percent: 20, seed };
            (0..10_000).filter(|n| split.is_test(&format!("Article {n}"))).collect::<Vec<_>>()
        };
        let (first, second) = (held(1), held(2));
        for held in [&first, &second] {
            assert!(held.len().abs_diff(2000) < 5 * 40, "{}", held.len());
        }
        let both = first.iter().filter(|n| second.contains(n)).count();
        assert!(both.abs_diff(400) < 5 * 20, "{both} of 10,000 in both");
    }
}
