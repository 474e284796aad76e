//! Random numbers by index: number `i` of a stream is the same on every node.

/// The `index`-th number of the stream named by `seed` (SplitMix64's finaliser
/// over a Weyl sequence: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
pub fn random_at(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// A bijection of 64 bits in which every input bit affects every output bit.
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
