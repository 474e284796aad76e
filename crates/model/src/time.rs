//! Virtual time in whole picoseconds.
//!
//! Whole numbers add without rounding errors and compare exactly. A picosecond is
//! short enough for a byte on a 400 Gbit/s link (20 ps). 64 bits are enough for
//! 213 days; sums beyond that saturate and never wrap.

use crosstalk_core::units::Seconds;
use std::ops::{Add, AddAssign, Sub};

const PER_SECOND: f64 = 1e12;

/// A point on a rank's clock, or the time between two points, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VirtualTime(pub u64);

impl VirtualTime {
    /// The beginning of every clock.
    pub const ZERO: Self = VirtualTime(0);

    /// Rounds to the nearest picosecond. Negative and undefined durations become zero.
    pub fn from_seconds(seconds: f64) -> Self {
        VirtualTime((seconds * PER_SECOND).round() as u64)
    }

    /// `count` times `each` seconds, rounded once: a cost per byte need not be a
    /// whole number of picoseconds.
    pub fn product(count: u64, each: Seconds) -> Self {
        Self::from_seconds(count as f64 * each.0)
    }

    /// In seconds, for people and reports.
    pub fn seconds(self) -> Seconds {
        Seconds(self.0 as f64 / PER_SECOND)
    }
}

impl From<Seconds> for VirtualTime {
    fn from(seconds: Seconds) -> Self {
        Self::from_seconds(seconds.0)
    }
}

impl Add for VirtualTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        VirtualTime(self.0.saturating_add(other.0))
    }
}

impl AddAssign for VirtualTime {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// The time since an earlier point; zero if it is not earlier.
impl Sub for VirtualTime {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        VirtualTime(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_microsecond_is_a_million_picoseconds() {
        assert_eq!(VirtualTime::from_seconds(1e-6), VirtualTime(1_000_000));
        assert_eq!(VirtualTime::product(65_535, Seconds(8e-9)), VirtualTime(524_280_000));
    }

    #[test]
    fn times_saturate() {
        assert_eq!(VirtualTime(u64::MAX) + VirtualTime(1), VirtualTime(u64::MAX));
        assert_eq!(VirtualTime(1) - VirtualTime(2), VirtualTime::ZERO);
        assert_eq!(VirtualTime::from_seconds(f64::NAN), VirtualTime::ZERO);
        assert_eq!(VirtualTime::from_seconds(-1.0), VirtualTime::ZERO);
        assert_eq!(VirtualTime::from_seconds(1e30), VirtualTime(u64::MAX));
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_their_order(parts in proptest::collection::vec(0u64..1 << 50, 0..50)) {
            let forth = parts.iter().fold(VirtualTime::ZERO, |t, p| t + VirtualTime(*p));
            let back = parts.iter().rev().fold(VirtualTime::ZERO, |t, p| t + VirtualTime(*p));
            prop_assert_eq!(forth, back);
        }

        #[test]
        fn seconds_and_back_keep_nanoseconds(ns in 0u64..1_000_000_000_000) {
            let time = VirtualTime(ns * 1000);
            prop_assert_eq!(VirtualTime::from(time.seconds()), time);
        }
    }
}
