//! Numbers that matrices and series are made of, of AIM7's kind: 0, 1, the smallest above 0, then each one half of
//! the one before. Products of the last ones are too small for a number, which a processor takes longer to find.

/// Numbers in the table.
pub(super) const NUMBERS: usize = 500;

/// The smallest number above zero.
pub(super) const SMALLEST: f64 = f64::from_bits(1);

/// The number of this index, which goes round.
pub(super) fn number(index: usize) -> f64 {
    match index % NUMBERS {
        0 => 0.0,
        1 => 1.0,
        2 => SMALLEST,
        index => f64::from_bits((0x3ff + 2 - index as u64) << 52),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_halve() {
        assert_eq!([3, 4, 5, 503].map(number), [0.5, 0.25, 0.125, 0.5]);
        assert!(number(499) > 0.0);
    }
}
