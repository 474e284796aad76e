//! The normal and the binomial distribution, and the special functions they need.
//!
//! Series and continued fractions as in Abramowitz and Stegun, "Handbook of
//! Mathematical Functions" (1964): 26.2.11 and 26.2.14 for the normal, 26.5.8
//! for the incomplete beta function; Lanczos (1964) for the gamma function.

use std::f64::consts::PI;

/// P(Z ≤ z) of a standard normal Z, to nearly full relative precision in
/// both tails.
pub fn normal_cdf(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    if z.abs() < 3.0 {
        let (mut term, mut sum, mut odd) = (z, z, 1.0);
        while term.abs() > 1e-17 * sum.abs() {
            odd += 2.0;
            term *= z * z / odd;
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let fraction = (1..=60).rev().fold(0.0, |below, k| f64::from(k) / (z.abs() + below));
    let tail = density / (z.abs() + fraction);
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The z for which P(Z ≤ z) = `p`, for `p` strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    bisect(-39.0, 0.0, |z| normal_cdf(z) < p)
}

/// P(B ≤ `k`) for B the successes in `n` trials of probability `p` each.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    incomplete_beta(1.0 - p, (n - k) as f64, k as f64 + 1.0)
}

/// The point of `[low, high]` at which `below` changes from true to false.
pub fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

/// ln Γ(x) for x > 0.
fn ln_gamma(x: f64) -> f64 {
    const LANCZOS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum =
        LANCZOS.iter().zip(1..).fold(0.999_999_999_999_809_9, |sum, (c, i)| sum + c / (x + f64::from(i)));
    let t = x + 7.5;
    (2.0 * PI).sqrt().ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// I_x(a, b), the regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    front * beta_fraction(x, a, b) / a
}

/// The continued fraction of I_x(a, b), by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 / nonzero(1.0 + step * d);
            c = nonzero(1.0 + step / c);
            change = d * c;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-10, "found {found}, expected {expected}");
    }

    #[test]
    fn normal_tails_are_those_of_the_tables() {
        assert_near(normal_cdf(-1.0), 0.158_655_253_931_457_05);
        assert_near(normal_cdf(-6.0), 9.865_876_450_376_98e-10);
        assert_near(normal_quantile(0.975), 1.959_963_984_540_054);
        assert_near(normal_quantile(1e-6), -4.753_424_308_822_899);
    }

    #[test]
    fn binomial_probabilities_are_the_sums_of_their_terms() {
        let (n, p) = (30_u64, 0.3_f64);
        let mut term = (1.0 - p).powi(30);
        let mut sum = 0.0;
        for k in 0..n {
            sum += term;
            assert_near(binomial_cdf(k, n, p), sum);
            term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        }
    }

    #[test]
    fn binomials_of_many_trials_approach_the_normal() {
        let found = binomial_cdf(990_000 - 100, 1_000_000, 0.99);
        let z = (-100.0 + 0.5) / (1_000_000.0_f64 * 0.99 * 0.01).sqrt();
        assert!((found - normal_cdf(z)).abs() < 1e-3);
    }
}
