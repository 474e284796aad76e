//! The keys to sort.

use crate::random::Random;

const SEED: u64 = 314_159_265;
/// Random numbers that are added up for a key, so that keys near the middle are the most.
const TERMS: u64 = 4;

/// The `count` keys that rank `rank` begins with. They are below `2^largest`.
pub(super) fn make_keys(rank: usize, count: usize, largest: u32) -> Vec<u32> {
    let mut random = Random::new(SEED);
    random.skip(TERMS * (rank * count) as u64);
    let scale = f64::from(1u32 << largest) / TERMS as f64;
    let key = |_| {
        let sum = random.next() + random.next() + random.next() + random.next();
        (scale * sum) as u32
    };
    (0..count).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_make_parts_of_one_sequence() {
        let all = make_keys(0, 1 << 12, 11);
        let parts: Vec<u32> = (0..8).flat_map(|rank| make_keys(rank, 1 << 9, 11)).collect();
        assert_eq!(all, parts);
    }

    #[test]
    fn keys_are_below_the_largest_and_most_are_near_the_middle() {
        let keys = make_keys(0, 1 << 16, 11);
        assert!(keys.iter().all(|key| *key < 1 << 11));
        let mean = keys.iter().map(|key| f64::from(*key)).sum::<f64>() / keys.len() as f64;
        assert!((mean - 1024.0).abs() < 8.0, "{mean}");
        // The variance of a sum of four is a third of that of one: so are two in three within 0.29 of a half.
        let near = keys.iter().filter(|key| (728..1320).contains(*key)).count();
        assert!((0.65..0.72).contains(&(near as f64 / keys.len() as f64)), "{near}");
    }
}
