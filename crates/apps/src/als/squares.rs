//! Sums of squared errors that do not depend on the order of adding: in whole
//! units of 2^-40.

use crosstalk_core::Fault;
use std::ops::AddAssign;

const UNITS: f64 = (1_u64 << 40) as f64;

/// A sum of squared errors that does not depend on the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Squares {
    sum: u128,
    /// Their number.
    pub count: u64,
}

impl Squares {
    /// Adds the square of an error.
    pub fn add(&mut self, error: f64) -> Result<(), Fault> {
        let square = error * error;
        if !square.is_finite() {
            return Err(Fault::attempt("a prediction is not a number: the model has diverged")
                .remedy("use a larger lambda"));
        }
        self.sum = self.sum.saturating_add((square * UNITS + 0.5) as u128);
        self.count += 1;
        Ok(())
    }

    /// The root of the mean over `ratings`, some of which may not be predictable: CloudSuite divides by all
    /// of them.
    pub fn root_mean(&self, ratings: usize) -> f64 {
        (self.sum as f64 / UNITS / ratings as f64).sqrt()
    }

    /// The sum as words, for a message.
    pub fn to_words(self) -> [u64; 3] {
        [self.sum as u64, (self.sum >> 64) as u64, self.count]
    }

    /// Reads the words of [`Squares::to_words`].
    pub fn from_words([low, high, count]: [u64; 3]) -> Self {
        Squares { sum: u128::from(high) << 64 | u128::from(low), count }
    }
}

impl AddAssign for Squares {
    fn add_assign(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum<'a>(errors: impl IntoIterator<Item = &'a f64>) -> Squares {
        let mut squares = Squares::default();
        errors.into_iter().for_each(|error| squares.add(*error).expect("finite"));
        squares
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter(errors in proptest::collection::vec(-1e6..1e6_f64, 1..50)) {
            let forward = sum(&errors);
            prop_assert_eq!(forward, sum(errors.iter().rev()));
            prop_assert_eq!(forward, Squares::from_words(forward.to_words()));
            let plain = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
            prop_assert!((forward.root_mean(errors.len()) - plain).abs() <= 1e-9 * plain + 1e-5);
        }
    }

    #[test]
    fn what_cannot_be_predicted_counts_as_no_error() {
        assert_eq!(sum(&[2.0, 2.0]).root_mean(8), 1.0);
    }

    #[test]
    fn an_error_without_a_size_is_a_fault() {
        assert!(Squares::default().add(f64::NAN).is_err());
        assert!(Squares::default().add(1e200).is_err());
    }
}
