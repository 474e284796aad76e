//! The null distribution of the Mann–Whitney statistic U: of all m·n pairs, how
//! many have the second sample's value above the first's (Mann & Whitney 1947).
//!
//! Exact up to [`EXACT`] values in all, by the coefficients of the Gaussian
//! binomial; beyond by the normal approximation with continuity correction.

use crate::special::{normal_cdf, normal_quantile};

/// Up to how many values of both samples together the distribution is exact:
/// its counts then fit 128 bits.
pub const EXACT: usize = 100;

/// P(U ≤ u) for sample sizes `m` and `n`, by u.
pub struct RankSum {
    pairs: usize,
    form: Form,
}

enum Form {
    Table(Vec<f64>),
    Normal { mean: f64, deviation: f64 },
}

impl RankSum {
    pub fn new(m: usize, n: usize) -> Self {
        let pairs = m * n;
        let form = if m + n <= EXACT {
            Form::Table(cumulated(&counts(m, n)))
        } else {
            let mean = pairs as f64 / 2.0;
            Form::Normal { mean, deviation: (pairs as f64 * (m + n + 1) as f64 / 12.0).sqrt() }
        };
        RankSum { pairs, form }
    }

    /// P(U ≤ `u`).
    pub fn cdf(&self, u: usize) -> f64 {
        match &self.form {
            Form::Table(p) => p[u.min(self.pairs)],
            Form::Normal { mean, deviation } => normal_cdf((u as f64 + 0.5 - mean) / deviation),
        }
    }

    /// The largest c with P(U ≤ c) ≤ `tail`; `None` where even U = 0 is likelier.
    pub fn critical(&self, tail: f64) -> Option<usize> {
        match &self.form {
            Form::Table(p) => p.partition_point(|p| *p <= tail).checked_sub(1),
            Form::Normal { mean, deviation } => {
                let z = normal_quantile(tail.clamp(1e-300, 0.5));
                let start = (mean + deviation * z + 1.0).max(0.0) as usize;
                (0..=start).rev().find(|u| self.cdf(*u) <= tail)
            }
        }
    }
}

/// How many of the orders of m + n values give each U: the coefficients of
/// Π (1 − x^(n+i)) / (1 − x^i), i = 1 … m. Wrapping arithmetic is exact here,
/// since every final coefficient fits.
fn counts(m: usize, n: usize) -> Vec<u128> {
    let mut c = vec![0_u128; m * n + 1];
    c[0] = 1;
    for i in 1..=m {
        for u in (n + i..c.len()).rev() {
            c[u] = c[u].wrapping_sub(c[u - n - i]);
        }
        for u in i..c.len() {
            c[u] = c[u].wrapping_add(c[u - i]);
        }
    }
    c
}

fn cumulated(counts: &[u128]) -> Vec<f64> {
    let total = counts.iter().sum::<u128>() as f64;
    let mut sum = 0_u128;
    counts
        .iter()
        .map(|count| {
            sum += count;
            sum as f64 / total
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_two_values_have_six_orders() {
        assert_eq!(counts(2, 2), [1, 1, 2, 1, 1]);
        assert_eq!(counts(3, 2), [1, 1, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn the_largest_exact_case_adds_up() {
        let all: u128 = counts(50, 50).iter().sum();
        assert_eq!(all, 100_891_344_545_564_193_334_812_497_256);
    }

    #[test]
    fn critical_values_are_those_of_the_printed_tables() {
        // Two-sided 5 %: Mann & Whitney's table as in Siegel (1956).
        for (m, n, c) in [(4, 4, 0), (5, 5, 2), (8, 10, 17), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(RankSum::new(m, n).critical(0.025), Some(c), "{m}, {n}");
        }
        assert_eq!(RankSum::new(3, 3).critical(0.025), None);
    }

    #[test]
    fn the_approximation_meets_the_exact_values_where_they_end() {
        let exact = RankSum::new(50, 50).critical(0.025).expect("reachable") as f64;
        let normal = RankSum::new(50, 51).critical(0.025).expect("reachable") as f64;
        assert!((normal / 2_550.0 - exact / 2_500.0).abs() < 0.005, "{exact} {normal}");
    }
}
