//! Where a series has settled, and the percentiles of what is left, by the rules of
//! `crosstalk_stats::{warmup, quantile}`.

use crosstalk_core::histogram::Histogram;
use crosstalk_stats::quantile::{estimate, samples_needed};
use crosstalk_stats::warmup::{Warmup, detect};

/// The two-sided error of the interval that a reported percentile must have.
const ALPHA: f64 = 0.05;

/// From where on a series of values is steady, and how many values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// The first value that counts.
    pub at: usize,
    /// Whether a steady state was found.
    pub found: bool,
}

/// Where a series, in order of time, has settled. If it has not, its second half counts; if it is too
/// short to know, all of it.
pub fn find_settling(values: &[u64]) -> Settling {
    let series: Vec<f64> = values.iter().map(|v| *v as f64).collect();
    match detect(&series) {
        Warmup::SteadyFrom(at) => Settling { at, found: true },
        Warmup::NotReached => Settling { at: values.len() / 2, found: false },
        Warmup::Unknown => Settling { at: 0, found: false },
    }
}

/// Quantile `q`, if there are enough values for it.
pub fn percentile(histogram: &Histogram, q: f64) -> Option<f64> {
    (histogram.count() >= samples_needed(q, ALPHA)?).then(|| histogram.quantile(q))?
}

/// The median, if there are enough values for it.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    estimate(&sorted, 0.5, ALPHA).map(|interval| interval.point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_beginning_is_left_out() {
        let values: Vec<u64> = (0..1000).map(|i| if i < 100 { 900 } else { 100 + i % 3 }).collect();
        let settling = find_settling(&values);
        assert!(settling.found && (100..200).contains(&settling.at), "{settling:?}");
    }

    #[test]
    fn all_of_a_short_series_counts() {
        assert_eq!(find_settling(&[1, 2, 3]), Settling { at: 0, found: false });
    }

    #[test]
    fn too_few_values_have_no_percentile() {
        let mut histogram = Histogram::default();
        (0..300).for_each(|v| histogram.record(v));
        assert!(percentile(&histogram, 0.5).is_some());
        assert_eq!(percentile(&histogram, 0.99), None);
        assert_eq!(median(&[1.0, 2.0, 3.0]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0]), Some(4.0));
    }
}
