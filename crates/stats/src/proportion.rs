//! A proportion with its exact interval (Clopper & Pearson 1934).

use crate::Interval;
use crate::special::{binomial_cdf, bisect};

/// The proportion of `hits` in `trials`, with an interval with `tail` on each side.
/// `None`: no trials, or more hits than trials.
pub fn estimate(hits: u64, trials: u64, tail: f64) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let upper = |hits: u64| match hits == trials {
        true => 1.0,
        false => bisect(0.0, 1.0, |p| binomial_cdf(hits, trials, p) > tail),
    };
    Some(Interval {
        point: hits as f64 / trials as f64,
        low: 1.0 - upper(trials - hits),
        high: upper(hits),
        count: trials as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_of_n_has_the_bound_of_the_rule_of_three() {
        let found = estimate(0, 100, 0.05).expect("trials");
        assert_eq!((found.point, found.low), (0.0, 0.0));
        assert!((found.high - (1.0 - 0.05_f64.powf(0.01))).abs() < 1e-12);
    }

    #[test]
    fn the_bounds_are_those_of_the_printed_tables() {
        let found = estimate(5, 20, 0.025).expect("trials");
        assert!((found.low - 0.086_57).abs() < 1e-4 && (found.high - 0.491_05).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn shares_of_nothing_do_not_exist() {
        assert_eq!(estimate(0, 0, 0.05), None);
        assert_eq!(estimate(3, 2, 0.05), None);
    }
}
