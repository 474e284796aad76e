//! The master's and slaves' messages about a graph, as words.

use super::mass::Mass;
use super::ranks::Balance;
use super::source::Extent;

/// Stands for ids that are no labels.
const NO_LABELS: u64 = u64::MAX;

impl Extent {
    /// The extent as words, for a message.
    pub fn to_words(self) -> [u64; 3] {
        [self.chunks, self.edges, self.labels.map_or(NO_LABELS, u64::from)]
    }

    /// Reads the words of [`Extent::to_words`].
    pub fn from_words([chunks, edges, labels]: [u64; 3]) -> Self {
        Extent { chunks, edges, labels: u32::try_from(labels).ok() }
    }
}

impl Balance {
    /// The balance as words, for a message.
    pub fn to_words(self) -> [u64; 4] {
        let [a, b] = halves(self.all);
        let [c, d] = halves(self.flowing);
        [a, b, c, d]
    }

    /// Reads the words of [`Balance::to_words`].
    pub fn from_words([a, b, c, d]: [u64; 4]) -> Self {
        Balance { all: joined(a, b), flowing: joined(c, d) }
    }
}

fn halves(mass: Mass) -> [u64; 2] {
    let units = mass.to_units();
    [units as u64, (units >> 64) as u64]
}

fn joined(low: u64, high: u64) -> Mass {
    Mass::from_units(u128::from(high) << 64 | u128::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_survive(all in 0.0..1e8_f64, flowing in 0.0..1e8_f64, chunks: u64, edges: u64, labels: Option<u32>) {
            let mut all = Mass::of_rank(all);
            (0..40).for_each(|_| all += all);
            let balance = Balance { all, flowing: Mass::of_rank(flowing) };
            prop_assert_eq!(Balance::from_words(balance.to_words()), balance);
            let extent = Extent { chunks, edges, labels };
            prop_assert_eq!(Extent::from_words(extent.to_words()), extent);
        }
    }
}
