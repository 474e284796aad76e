//! A set of numbers below a bound, with the number of members before each: a map from sparse to dense
//! numbers, at 1.5 bits each.

/// The set while it is being filled.
#[derive(Debug, Clone)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// An empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Bits { words: vec![0; bound.div_ceil(64)] }
    }

    /// Raises the bound so that `number` is below it. Pages are taken from the system as numbers
    /// in them are added.
    pub fn raise_bound_to(&mut self, number: u32) {
        let words = number as usize / 64 + 1;
        if words > self.words.len() {
            let mut larger = vec![0; words.next_power_of_two()];
            larger[..self.words.len()].copy_from_slice(&self.words);
            self.words = larger;
        }
    }

    /// Adds a number below the bound.
    pub fn insert(&mut self, number: u32) {
        self.words[number as usize / 64] |= 1 << (number % 64);
    }

    /// How many members are below `bound`, which is no larger than the set's.
    pub fn count_below(&self, bound: u32) -> u64 {
        let words = self.words.iter().take((bound as usize).div_ceil(64));
        let all: u64 = words.map(|word| u64::from(word.count_ones())).sum();
        let beyond = match bound % 64 {
            0 => 0,
            bit => self.words[bound as usize / 64] >> bit,
        };
        all - u64::from(beyond.count_ones())
    }

    /// The completed set.
    pub fn finish(self) -> RankedBits {
        let mut count = 0;
        let before = self
            .words
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        RankedBits { words: self.words, before, count }
    }
}

/// A set of numbers that finds a member's place among all members quickly.
#[derive(Debug, Clone)]
pub struct RankedBits {
    words: Vec<u64>,
    /// Members before each word.
    before: Vec<u32>,
    count: u32,
}

impl RankedBits {
    /// How many members there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// The bytes that the set takes in memory.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.words.as_slice()) + size_of_val(self.before.as_slice())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of members before `number`; `None` where it is no member.
    pub fn rank(&self, number: u32) -> Option<u32> {
        let (word, bit) = (number as usize / 64, number % 64);
        let bits = *self.words.get(word)?;
        (bits >> bit & 1 == 1).then(|| self.before[word] + (bits & ((1 << bit) - 1)).count_ones())
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)))
                .take_while(|rest| *rest != 0)
                .map(move |rest| index as u32 * 64 + rest.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranks_are_positions_in_the_sorted_set(members in proptest::collection::btree_set(0_u32..1000, 0..200)) {
            let mut bits = Bits::new(10);
            for member in &members {
                bits.raise_bound_to(*member);
                bits.insert(*member);
            }
            bits.raise_bound_to(999);
            for bound in [0, 1, 63, 64, 500, 1000] {
                prop_assert_eq!(bits.count_below(bound), members.range(..bound).count() as u64);
            }
            let ranked = bits.finish();
            prop_assert_eq!(ranked.len(), members.len());
            prop_assert_eq!(ranked.is_empty(), members.is_empty());
            prop_assert_eq!(ranked.iter().collect::<BTreeSet<_>>(), members.clone());
            for number in 0..1100 {
                let expected = members.iter().position(|m| *m == number).map(|p| p as u32);
                prop_assert_eq!(ranked.rank(number), expected);
            }
        }
    }
}
