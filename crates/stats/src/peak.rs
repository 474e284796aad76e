//! Which level has the largest value?
//!
//! The confidence set contains every level for which no other is found larger. The
//! true peak is left out only if some other level is falsely found larger.
//! Therefore each of a level's tests has the error divided by their number
//! (Bonferroni; the set of Hsu's "multiple comparisons with the best", 1984,
//! without its normal model). A claim that the peak is at one level is a claim
//! about its smallest difference to the others: a kind of [`crate::order::Order`].

use crate::blocks::first_values;
use crate::order::difference;
use crate::paired;

/// The levels that may be the peak after all their blocks, at error `alpha`, in
/// ascending order. Without evidence: all.
pub fn confidence_set(levels: &[Vec<Option<f64>>], alpha: f64) -> Vec<usize> {
    let tests = levels.len().saturating_sub(1).max(1);
    let beats = |a: usize, b: usize| {
        let lead = difference(&levels[a], &levels[b]);
        paired::p_above(&first_values(&lead, lead.len()), 0.0) <= alpha / tests as f64
    };
    (0..levels.len())
        .filter(|level| !others(levels.len(), *level).any(|other| beats(other, *level)))
        .collect()
}

/// The estimate of the peak: the level whose smallest Hodges–Lehmann difference to
/// the others is largest. `None` without data.
pub fn point(levels: &[Vec<Option<f64>>]) -> Option<usize> {
    let smallest_lead = |level: usize| {
        others(levels.len(), level)
            .map(|other| {
                let lead = difference(&levels[level], &levels[other]);
                paired::point(&first_values(&lead, lead.len())).unwrap_or(f64::NEG_INFINITY)
            })
            .fold(f64::INFINITY, f64::min)
    };
    (0..levels.len())
        .map(|level| (level, smallest_lead(level)))
        .filter(|(_, lead)| *lead > f64::NEG_INFINITY)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(level, _)| level)
}

fn others(count: usize, level: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |other| *other != level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn levels(means: &[f64], rng: &mut Rng) -> Vec<Vec<Option<f64>>> {
        let drift: Vec<f64> = (0..16).map(|_| rng.normal()).collect();
        means
            .iter()
            .map(|mean| drift.iter().map(|d| Some(mean + d + 0.02 * rng.normal())).collect())
            .collect()
    }

    #[test]
    fn a_clear_peak_is_alone_in_its_set() {
        let levels = levels(&[0.0, 0.2, 0.5, 0.1], &mut Rng::seeded(61));
        assert_eq!(confidence_set(&levels, 0.05), [2]);
        assert_eq!(point(&levels), Some(2));
    }

    #[test]
    fn levels_that_differ_too_little_stay_in_the_set() {
        let levels = levels(&[0.0, 0.5, 0.501], &mut Rng::seeded(62));
        assert_eq!(confidence_set(&levels, 0.05), [1, 2]);
        assert_eq!(point(&[]), None);
    }

    #[test]
    fn the_true_peak_is_rarely_left_out() {
        let mut rng = Rng::seeded(63);
        let lost = (0..500)
            .filter(|_| !confidence_set(&levels(&[0.0, 0.0, 0.0, 0.0], &mut rng), 0.05).contains(&0))
            .count();
        assert!(lost <= 37, "{lost} of 500 (5 % are 25)");
    }
}
