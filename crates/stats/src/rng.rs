//! A seeded generator of pseudo-random numbers: the same seed gives the same numbers
//! on every machine and in every version.
//!
//! xoshiro256++ (Blackman & Vigna, "Scrambled Linear Pseudorandom Number
//! Generators", 2021). splitmix64 initialises its state (Steele, Lea & Flood 2014).

use std::f64::consts::TAU;

/// A pseudo-random number generator: the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator for `seed`. Neighbouring seeds give unrelated numbers.
    pub fn seeded(seed: u64) -> Self {
        let mut counter = seed;
        let mut split = || {
            counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = counter;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Rng { state: [split(), split(), split(), split()] }
    }

    /// A random number of 64 bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A random number, uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform among 0 … `n` − 1, without bias (Lemire 2019).
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a choice among nothing");
        let n = n as u64;
        let refuse = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if wide as u64 >= refuse {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Puts `items` into random order (Fisher & Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_state_is_splitmix64s_published_sequence() {
        // Test vector for seed 1234567 of the reference implementation.
        let rng = Rng::seeded(1_234_567);
        assert_eq!(
            rng.state[..3],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut rng = Rng::seeded(1);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.uniform()).sum::<f64>() / f64::from(n);
        let square: f64 = (0..n).map(|_| rng.normal().powi(2)).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((square - 1.0).abs() < 0.02, "{square}");
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut rng = Rng::seeded(5);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }
}
