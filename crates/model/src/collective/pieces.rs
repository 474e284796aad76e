//! Which pieces a message carries.

/// Some of `of` numbered pieces. A message carries them in the order of [`Pieces::numbers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// `count` pieces from `first` on. After the last of `of` comes piece 0.
    Range {
        /// The first piece.
        first: usize,
        /// How many.
        count: usize,
        /// The number of pieces in all.
        of: usize,
    },
    /// The pieces below `of` whose number has this bit.
    WithBit {
        /// A power of two.
        bit: usize,
        /// The number of pieces in all.
        of: usize,
    },
}

impl Pieces {
    /// A single piece.
    pub fn one(piece: usize) -> Self {
        Pieces::Range { first: piece, count: 1, of: piece + 1 }
    }

    /// All of `of` pieces.
    pub fn all(of: usize) -> Self {
        Pieces::Range { first: 0, count: of, of }
    }

    /// How many pieces they are.
    pub fn count(self) -> usize {
        match self {
            Pieces::Range { count, .. } => count,
            // Of 2·bit numbers in a row, the upper half has the bit.
            Pieces::WithBit { bit, of } => of / (2 * bit) * bit + (of % (2 * bit)).saturating_sub(bit),
        }
    }

    /// Their numbers.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        let (first, count, of, bit) = match self {
            Pieces::Range { first, count, of } => (first, count, of, 0),
            Pieces::WithBit { bit, of } => (0, of, of, bit),
        };
        (first..first + count).map(move |number| number % of).filter(move |number| number & bit == bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_goes_round() {
        let numbers: Vec<usize> = Pieces::Range { first: 4, count: 3, of: 6 }.numbers().collect();
        assert_eq!(numbers, [4, 5, 0]);
        assert_eq!(Pieces::one(7).numbers().collect::<Vec<_>>(), [7]);
        assert_eq!(Pieces::WithBit { bit: 2, of: 7 }.numbers().collect::<Vec<_>>(), [2, 3, 6]);
    }

    proptest! {
        #[test]
        fn the_count_is_the_number_of_numbers(bit in 0_u32..8, of in 1_usize..300, first in 0_usize..300) {
            let (first, bit) = (first % of, 1_usize << bit);
            for pieces in [Pieces::WithBit { bit, of }, Pieces::Range { first, count: of / 2, of }] {
                prop_assert_eq!(pieces.count(), pieces.numbers().count());
            }
        }
    }
}
