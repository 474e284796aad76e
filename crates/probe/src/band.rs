//! Bands of a distribution of messages. Mean stages of a band add up to its mean time, where medians
//! of stages do not.

use std::ops::Range;

use crosstalk_stats::quantile::samples_needed;

/// A band of messages by their latency: all, those around the median, or those around the 99th
/// percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// Every message.
    All,
    /// Those from the 45th to the 55th percentile.
    P50,
    /// Those from the 98.5th to the 99.5th.
    P99,
}

/// The error of the interval that a percentile must have.
const ERROR: f64 = 0.05;

impl Band {
    /// All bands.
    pub const ALL: [Band; 3] = [Band::All, Band::P50, Band::P99];

    /// The band as the readings' label `band` has it.
    pub fn name(self) -> &'static str {
        match self {
            Band::All => "all",
            Band::P50 => "p50",
            Band::P99 => "p99",
        }
    }

    /// The band's messages among `count` sorted ones; none if they are too few for its percentile.
    pub fn range_among(self, count: usize) -> Range<usize> {
        let (quantile, from, to) = match self {
            Band::All => return 0..count,
            Band::P50 => (0.5, 0.45, 0.55),
            Band::P99 => (0.99, 0.985, 0.995),
        };
        if samples_needed(quantile, ERROR).is_none_or(|needed| (count as u64) < needed) {
            return 0..0;
        }
        let at = |share: f64| (count as f64 * share) as usize;
        // At least one message.
        at(from)..at(to).max(at(from) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_around_their_percentiles() {
        assert_eq!(Band::P50.range_among(1000), 450..550);
        assert_eq!(Band::P99.range_among(1000), 985..995);
        assert_eq!(Band::All.range_among(3), 0..3);
    }

    #[test]
    fn too_few_messages_have_no_percentile_band() {
        assert_eq!((Band::P50.range_among(5), Band::P99.range_among(367)), (0..0, 0..0));
        assert_eq!((Band::P50.range_among(6), Band::P99.range_among(368)), (2..3, 362..366));
        assert!(Band::All.range_among(0).is_empty());
    }
}
