//! The benchmarks' random numbers: x' = a·x mod 2^46, as a number from 0 to 1 (RNR-94-007, section 2.3). Any of the
//! sequence is found directly, so that each rank begins where its part does.

/// The multiplier of all benchmarks: 5^13.
pub(crate) const MULTIPLIER: u64 = 1_220_703_125;
/// The modulus less one.
const MASK: u64 = (1 << 46) - 1;
/// One over the modulus.
const UNIT: f64 = 1.0 / (1u64 << 46) as f64;
/// Parts of a sequence that are drawn at once: each number waits for the last one of its part alone.
const STREAMS: usize = 4;

/// A sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The sequence that follows `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Random { state: seed & MASK }
    }

    /// The next number, from 0 to 1.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER) & MASK;
        // Signed: processors convert it in one instruction, and it has 46 bits.
        self.state as i64 as f64 * UNIT
    }

    /// Fills a slice with the next numbers.
    pub(crate) fn fill(&mut self, numbers: &mut [f64]) {
        let length = numbers.len() / STREAMS;
        let [mut a, mut b, mut c, mut d] = [0, 1, 2, 3].map(|stream| {
            let mut part = *self;
            part.skip((stream * length) as u64);
            part
        });
        let (first, rest) = numbers.split_at_mut(length);
        let (second, rest) = rest.split_at_mut(length);
        let (third, rest) = rest.split_at_mut(length);
        let (fourth, rest) = rest.split_at_mut(length);
        for (((first, second), third), fourth) in first.iter_mut().zip(second).zip(third).zip(fourth) {
            (*first, *second, *third, *fourth) = (a.next(), b.next(), c.next(), d.next());
        }
        *self = d;
        rest.iter_mut().for_each(|number| *number = self.next());
    }

    /// Passes over the next `count` numbers.
    pub(crate) fn skip(&mut self, count: u64) {
        self.state = self.state.wrapping_mul(power(count)) & MASK;
    }
}

/// The multiplier to the power of `exponent`, modulo 2^46.
fn power(mut exponent: u64) -> u64 {
    let (mut base, mut result) = (MULTIPLIER, 1u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base) & MASK;
        }
        base = base.wrapping_mul(base) & MASK;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_is_drawing() {
        for count in [0, 1, 2, 7, 1000, 123_457] {
            let (mut drawn, mut skipped) = (Random::new(271_828_183), Random::new(271_828_183));
            for _ in 0..count {
                drawn.next();
            }
            skipped.skip(count);
            assert_eq!(drawn, skipped, "{count}");
        }
    }

    #[test]
    fn filling_is_drawing() {
        for count in [0, 3, 4, 17, 1000] {
            let (mut drawn, mut filled) = (Random::new(271_828_183), Random::new(271_828_183));
            let expected: Vec<f64> = (0..count).map(|_| drawn.next()).collect();
            let mut numbers = vec![0.0; count];
            filled.fill(&mut numbers);
            assert_eq!((numbers, filled), (expected, drawn), "{count}");
        }
    }

    #[test]
    fn numbers_are_between_zero_and_one_and_even() {
        let mut random = Random::new(314_159_265);
        let numbers: Vec<f64> = (0..100_000).map(|_| random.next()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
