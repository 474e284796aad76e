//! Random numbers that a seed and a number of a document give: SplitMix64
//! (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators*,
//! OOPSLA 2014).

/// The stream of random numbers of one document.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The stream of random numbers of one document.
    pub fn new(seed: u64, document: u64) -> Self {
        Random(mix_bits(seed ^ mix_bits(document.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// A number from 0 up to but not including 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix_bits(self.0)
    }
}

/// Mixes the bits of a number: SplitMix64's finaliser.
pub fn mix_bits(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
