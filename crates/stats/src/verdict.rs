//! What follows from an interval.

use crate::Interval;

/// Where a quantity stands against a margin on either side of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above +margin; of a statement: it stands.
    Above,
    /// Below −margin; of a statement: it is refuted.
    Below,
    /// Between −margin and +margin.
    Within,
}

/// How far from zero a quantity must be, on its own (log) scale; both ≥ 0. Most
/// questions have one margin for both, which a plain number becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Margin {
    /// A direction is claimed beyond this: the A/A floor, or more.
    pub beyond: f64,
    /// Equivalence is claimed within this: what does not matter to the user.
    pub within: f64,
}

impl From<f64> for Margin {
    fn from(margin: f64) -> Self {
        Margin { beyond: margin, within: margin }
    }
}

impl Side {
    /// The side on which the whole of `interval` lies; `None` where it reaches
    /// over an end of the margin. The ends of the margin belong to no side. A
    /// difference that is both clear and too small to matter counts as clear.
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

/// Which way of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Run times, latencies.
    Lower,
    /// Throughputs.
    Higher,
}

/// The verdict on other against base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies on the good side, beyond the margin.
    Better,
    /// The interval lies on the bad side, beyond the margin.
    Worse,
    /// The interval lies within the margin.
    Equivalent,
    /// The data do not decide.
    Inconclusive,
}

impl Verdict {
    /// The verdict on a log ratio other/base that stands on `side`.
    pub fn of(side: Option<Side>, better: Better) -> Self {
        match (side, better) {
            (None, _) => Verdict::Inconclusive,
            (Some(Side::Within), _) => Verdict::Equivalent,
            (Some(Side::Above), Better::Higher) | (Some(Side::Below), Better::Lower) => Verdict::Better,
            (Some(Side::Above), Better::Lower) | (Some(Side::Below), Better::Higher) => Verdict::Worse,
        }
    }
}

/// The verdict from the interval of a log ratio other/base and a margin on the
/// log scale (the A/A floor, or more: [`crate::noise::floor`]).
pub fn of(interval: &Interval, margin: impl Into<Margin>, better: Better) -> Verdict {
    Verdict::of(Side::of(interval, margin), better)
}

/// Whether an interval agrees in size with `published` ± `margin` (log scale):
/// `Some(true)` where it lies inside, `Some(false)` where it lies outside,
/// `None` where it reaches over an end.
pub fn size(interval: &Interval, published: f64, margin: f64) -> Option<bool> {
    let off = Interval {
        point: interval.point - published,
        low: interval.low - published,
        high: interval.high - published,
        ..*interval
    };
    Side::of(&off, margin).map(|side| side == Side::Within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { point: 0.5 * (low + high), low, high, count: 12 }
    }

    #[test]
    fn each_place_of_the_interval_has_its_verdict() {
        let cases = [
            (-0.20, -0.03, Verdict::Better),
            (0.03, 0.20, Verdict::Worse),
            (-0.01, 0.015, Verdict::Equivalent),
            (0.01, 0.05, Verdict::Inconclusive),
            (-0.05, 0.05, Verdict::Inconclusive),
            (0.02, 0.05, Verdict::Inconclusive),
        ];
        for (low, high, verdict) in cases {
            assert_eq!(of(&interval(low, high), 0.02, Better::Lower), verdict, "{low} … {high}");
        }
        assert_eq!(of(&interval(0.03, 0.2), 0.02, Better::Higher), Verdict::Better);
    }

    #[test]
    fn without_a_margin_nothing_is_equivalent() {
        assert_eq!(of(&interval(0.0, 0.0), 0.0, Better::Lower), Verdict::Inconclusive);
        assert_eq!(of(&interval(0.001, 0.1), 0.0, Better::Higher), Verdict::Better);
    }

    #[test]
    fn a_small_clear_difference_is_a_difference() {
        let margin = Margin { beyond: 0.005, within: 0.05 };
        assert_eq!(of(&interval(0.01, 0.03), margin, Better::Higher), Verdict::Better);
        assert_eq!(of(&interval(-0.01, 0.03), margin, Better::Higher), Verdict::Equivalent);
        assert_eq!(of(&interval(-0.01, 0.06), margin, Better::Higher), Verdict::Inconclusive);
    }

    #[test]
    fn size_is_agreement_with_the_published_value() {
        assert_eq!(size(&interval(0.20, 0.24), 0.23, 0.05), Some(true));
        assert_eq!(size(&interval(0.30, 0.34), 0.23, 0.05), Some(false));
        assert_eq!(size(&interval(0.20, 0.34), 0.23, 0.05), None);
    }
}
