//! The verdict of an interval.

use crate::Interval;

/// The position of a quantity relative to a margin on both sides of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above +margin; of a statement: it is confirmed.
    Above,
    /// Below −margin; of a statement: it is refuted.
    Below,
    /// Between −margin and +margin.
    Within,
}

/// Margins beyond which a difference counts, and within which it counts as none: on the (log)
/// scale of a quantity, both ≥ 0. A number becomes the same margin for both.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Margin {
    /// A direction is claimed beyond this.
    pub beyond: f64,
    /// Equivalence is claimed within this: the greatest difference that does not matter.
    pub within: f64,
}

impl From<f64> for Margin {
    fn from(margin: f64) -> Self {
        Margin { beyond: margin, within: margin }
    }
}

impl Side {
    /// The side that contains the whole `interval`; `None`: it contains an end of a
    /// margin. The ends themselves belong to no side. If both a direction and
    /// equivalence could be claimed, it is the direction.
    pub fn of(interval: &Interval, margin: impl Into<Margin>) -> Option<Side> {
        let Margin { beyond, within } = margin.into();
        if interval.low > beyond {
            Some(Side::Above)
        } else if interval.high < -beyond {
            Some(Side::Below)
        } else if interval.low > -within && interval.high < within {
            Some(Side::Within)
        } else {
            None
        }
    }
}

/// Whether an interval agrees in size with `published` ± `margin` (log scale):
/// `Some(true)`: it lies inside; `Some(false)`: it lies outside; `None`: it
/// contains an end.
pub fn agrees_in_size(interval: &Interval, published: f64, margin: f64) -> Option<bool> {
    let difference = Interval {
        point: interval.point - published,
        low: interval.low - published,
        high: interval.high - published,
        ..*interval
    };
    Side::of(&difference, margin).map(|side| side == Side::Within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { point: 0.5 * (low + high), low, high, count: 12 }
    }

    fn side(low: f64, high: f64, margin: impl Into<Margin>) -> Option<Side> {
        Side::of(&interval(low, high), margin)
    }

    #[test]
    fn each_position_of_the_interval_has_its_side() {
        let cases = [
            (-0.20, -0.03, Some(Side::Below)),
            (0.03, 0.20, Some(Side::Above)),
            (-0.01, 0.015, Some(Side::Within)),
            (0.01, 0.05, None),
            (-0.05, 0.05, None),
            (0.02, 0.05, None),
        ];
        for (low, high, expected) in cases {
            assert_eq!(side(low, high, 0.02), expected, "{low} … {high}");
        }
    }

    #[test]
    fn without_a_margin_nothing_is_equivalent() {
        assert_eq!(side(0.0, 0.0, 0.0), None);
        assert_eq!(side(0.001, 0.1, 0.0), Some(Side::Above));
    }

    #[test]
    fn a_small_difference_with_a_clear_direction_is_a_difference() {
        let margin = Margin { beyond: 0.005, within: 0.05 };
        assert_eq!(side(0.01, 0.03, margin), Some(Side::Above));
        assert_eq!(side(-0.01, 0.03, margin), Some(Side::Within));
        assert_eq!(side(-0.01, 0.06, margin), None);
    }

    #[test]
    fn size_is_agreement_with_the_published_value() {
        assert_eq!(agrees_in_size(&interval(0.20, 0.24), 0.23, 0.05), Some(true));
        assert_eq!(agrees_in_size(&interval(0.30, 0.34), 0.23, 0.05), Some(false));
        assert_eq!(agrees_in_size(&interval(0.20, 0.34), 0.23, 0.05), None);
    }
}
