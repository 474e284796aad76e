//! Sums of ranks that do not depend on the order of adding: in whole units of
//! 2^-35, an error of at most 1.5e-11 a vertex.

use std::ops::AddAssign;

const UNITS: f64 = (1_u64 << 35) as f64;

/// An exact sum of ranks, which does not depend on the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mass(u128);

impl Mass {
    /// The sum of one rank, which is not negative and below 2^28, the most vertices.
    pub fn of_rank(rank: f64) -> Self {
        // Below 2^63: converted to a signed number, which processors do in one instruction.
        Mass(u128::from(((rank * UNITS + 0.5) as i64).cast_unsigned()))
    }

    /// The sum as a number.
    pub fn to_number(self) -> f64 {
        self.0 as f64 / UNITS
    }

    /// The sum in whole units, for a message.
    pub fn to_units(self) -> u128 {
        self.0
    }

    /// Reads the units of [`Mass::to_units`].
    pub fn from_units(units: u128) -> Self {
        Mass(units)
    }
}

impl AddAssign for Mass {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum<'a>(ranks: impl IntoIterator<Item = &'a f64>) -> Mass {
        let mut sum = Mass::default();
        ranks.into_iter().for_each(|rank| sum += Mass::of_rank(*rank));
        sum
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter(ranks in proptest::collection::vec(0.0..1e8_f64, 1..50)) {
            let forward = sum(&ranks);
            prop_assert_eq!(forward, sum(ranks.iter().rev()));
            prop_assert_eq!(forward, Mass::from_units(forward.to_units()));
            let plain: f64 = ranks.iter().sum();
            prop_assert!((forward.to_number() - plain).abs() < 1e-6 * plain + 1e-8);
        }
    }
}
