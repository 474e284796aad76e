//! The null distribution of Wilcoxon's signed-rank statistic.
//!
//! T is the sum of the ranks, 1 … n, of the values above the centre. If the values
//! are symmetric about the centre, each rank is in the sum with probability ½
//! (Wilcoxon 1945). Up to [`EXACT_UP_TO`] values the distribution is exact, by dynamic
//! programming. For more it is the normal approximation with continuity correction.

use crate::special::{normal_cdf, normal_quantile};
use std::sync::OnceLock;

/// The greatest number of values for which the distribution is exact.
pub const EXACT_UP_TO: usize = 100;

static TABLES: [OnceLock<Vec<f64>>; EXACT_UP_TO + 1] = [const { OnceLock::new() }; EXACT_UP_TO + 1];

/// The largest signed-rank statistic T that `n` values can have.
pub fn largest_statistic(n: usize) -> usize {
    n * (n + 1) / 2
}

/// P(T ≤ `t`) for `n` values.
pub fn cdf(n: usize, t: usize) -> f64 {
    if n <= EXACT_UP_TO {
        return table(n)[t.min(largest_statistic(n))];
    }
    let (mean, deviation) = moments(n);
    normal_cdf((t as f64 + 0.5 - mean) / deviation)
}

/// The largest c with P(T ≤ c) ≤ `tail`; `None`: P(T = 0) is larger.
pub fn critical_value(n: usize, tail: f64) -> Option<usize> {
    if n <= EXACT_UP_TO {
        return table(n).partition_point(|p| *p <= tail).checked_sub(1);
    }
    let (mean, deviation) = moments(n);
    let start = (mean + deviation * normal_quantile(tail.clamp(1e-300, 0.5)) + 1.0).max(0.0) as usize;
    (0..=start).rev().find(|t| cdf(n, *t) <= tail)
}

/// The mean and the standard deviation of T.
fn moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// P(T ≤ t) for each t, computed once per `n`.
fn table(n: usize) -> &'static [f64] {
    TABLES[n].get_or_init(|| {
        let mut p = vec![0.0; largest_statistic(n) + 1];
        p[0] = 1.0;
        for rank in 1..=n {
            for t in (0..=largest_statistic(rank)).rev() {
                let with = if t >= rank { p[t - rank] } else { 0.0 };
                p[t] = 0.5 * (p[t] + with);
            }
        }
        let mut sum = 0.0;
        p.iter()
            .map(|probability| {
                sum += probability;
                sum
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_have_eight_equally_likely_signs() {
        let counts = [1, 2, 3, 5, 6, 7, 8];
        for (t, count) in counts.iter().enumerate() {
            assert_eq!(cdf(3, t), f64::from(*count) / 8.0);
        }
    }

    #[test]
    fn critical_values_are_those_of_the_printed_tables() {
        // Two-sided 5 %: Wilcoxon & Wilcox (1964).
        for (n, c) in [(6, 0), (8, 3), (10, 8), (12, 13), (20, 52), (25, 89), (50, 434)] {
            assert_eq!(critical_value(n, 0.025), Some(c), "n = {n}");
        }
    }

    #[test]
    fn too_few_values_reach_no_level() {
        assert_eq!(critical_value(5, 0.025), None);
        assert_eq!(critical_value(0, 0.025), None);
    }

    #[test]
    fn the_approximation_agrees_with_the_largest_exact_table() {
        let (mean, deviation) = moments(EXACT_UP_TO);
        for tail in [0.001, 0.01, 0.025] {
            let c = critical_value(EXACT_UP_TO, tail).expect("reachable");
            let approximate = normal_cdf((c as f64 + 0.5 - mean) / deviation);
            let excess = approximate / cdf(EXACT_UP_TO, c);
            assert!((0.99..1.15).contains(&excess), "{tail}: {excess}, should be conservative");
        }
        let (below, above) = (
            critical_value(EXACT_UP_TO, 0.01).expect("exact"),
            critical_value(EXACT_UP_TO + 1, 0.01).expect("normal"),
        );
        assert!(above > below && above - below < 60);
    }
}
