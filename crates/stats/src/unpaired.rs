//! Runs made at different times, which share no blocks: the Hodges–Lehmann shift
//! and the interval that inverts the rank-sum test (Hodges & Lehmann 1963; Moses;
//! Hollander, Wolfe & Chicken, 4.1–4.3).
//!
//! What changed on the machine between two runs is part of the difference that
//! this finds; pairing alone could remove it. The interval assumes that the two
//! samples differ by a shift, and that values within each are independent.

use crate::Interval;
use crate::rank_sum::RankSum;

/// The shift from `base` to `other` (both on the log scale) with its interval
/// at two-sided error `alpha`. `None` where no interval exists: samples too
/// small for the level, or a value that is not finite. `count` is the smaller
/// sample's.
pub fn estimate(base: &[f64], other: &[f64], alpha: f64) -> Option<Interval> {
    let differences = differences(base, other)?;
    let cut = RankSum::new(base.len(), other.len()).critical((alpha / 2.0).min(0.5))?;
    let last = differences.len() - 1;
    Some(Interval {
        point: 0.5 * (differences[last / 2] + differences[differences.len() / 2]),
        low: differences[cut],
        high: differences[last - cut],
        count: base.len().min(other.len()),
    })
}

/// [`estimate`] as a ratio other/base.
pub fn ratio(base: &[f64], other: &[f64], alpha: f64) -> Option<Interval> {
    estimate(base, other, alpha).map(Interval::exp)
}

/// One-sided p-value of the null hypothesis that `other` lies above `base` by at
/// most `bound`. Ties count against a finding. 1 where the data cannot tell.
pub fn p_above(base: &[f64], other: &[f64], bound: f64) -> f64 {
    differences(base, other).map_or(1.0, |differences| {
        let against = differences.partition_point(|d| *d <= bound);
        RankSum::new(base.len(), other.len()).cdf(against)
    })
}

/// All differences other − base, ascending. `None` when empty or not finite.
fn differences(base: &[f64], other: &[f64]) -> Option<Vec<f64>> {
    let mut all: Vec<f64> = base.iter().flat_map(|b| other.iter().map(move |o| o - b)).collect();
    all.sort_unstable_by(f64::total_cmp);
    (!all.is_empty() && all.iter().all(|d| d.is_finite())).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Permeability of placental membranes at term and earlier: table 4.1 of
    /// Hollander, Wolfe & Chicken.
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLIER: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_textbook_example_comes_out_as_printed() {
        let p = p_above(&EARLIER, &TERM, 0.0);
        assert!((p - 0.127_2).abs() < 5e-5, "{p}");
        let found = estimate(&EARLIER, &TERM, 0.05).expect("15 values suffice");
        assert!((found.point - 0.305).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn too_few_values_give_no_interval() {
        assert_eq!(estimate(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.05), None);
        assert_eq!(estimate(&[], &[1.0], 0.05), None);
        assert_eq!(p_above(&[], &[1.0], 0.0), 1.0);
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        let mut rng = Rng::seeded(31);
        let covered = (0..400)
            .filter(|_| {
                let base: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
                let other: Vec<f64> = (0..15).map(|_| 0.7 + rng.normal()).collect();
                estimate(&base, &other, 0.05).expect("27 values suffice").covers(0.7)
            })
            .count();
        assert!(covered >= 370, "{covered} of 400");
    }
}
