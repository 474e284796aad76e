//! Sorts pairs by a 64-bit key, byte by byte from the lowest (Knuth, TAOCP 3, 5.2.5); the order of equal keys
//! stays.

/// A key with its value.
pub type Pair = (u64, u64);

/// Sorts by the key. `spare` has space for as many pairs.
pub fn sort(pairs: &mut Vec<Pair>, spare: &mut Vec<Pair>) {
    let mut counts = [[0_usize; 256]; 8];
    for (key, _) in pairs.iter() {
        for (byte, count) in key.to_le_bytes().into_iter().zip(&mut counts) {
            count[usize::from(byte)] += 1;
        }
    }
    spare.clear();
    spare.resize(pairs.len(), (0, 0));
    for (place, counts) in counts.iter().enumerate() {
        // All bytes are equal: nothing to do.
        if counts.contains(&pairs.len()) {
            continue;
        }
        let mut next = [0; 256];
        for byte in 1..256 {
            next[byte] = next[byte - 1] + counts[byte - 1];
        }
        for pair in pairs.iter() {
            let next = &mut next[(pair.0 >> (8 * place)) as usize & 0xff];
            spare[*next] = *pair;
            *next += 1;
        }
        std::mem::swap(pairs, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_as_any_stable_sort_does(
            keys in proptest::collection::vec(prop_oneof![any::<u64>(), 0..5_u64, Just(7 << 40)], 0..300),
        ) {
            let mut pairs: Vec<Pair> = keys.into_iter().zip(0..).collect();
            let mut expected = pairs.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort(&mut pairs, &mut Vec::new());
            prop_assert_eq!(pairs, expected);
        }
    }
}
