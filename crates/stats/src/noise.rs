//! Noise, as pairs of equal cells show it: the A/A floor, below which nothing is
//! claimed, and the smallest effect that a study can find.

use crate::blocks::first_values;
use crate::paired::estimate_with_tails;
use crate::signed_rank;
use crate::special::normal_quantile;

/// The error of the A/A floor: "≤ x" is its 95 % upper bound.
pub const FLOOR_ERROR: f64 = 0.05;

/// The A/A floor: the 95 % upper bound (at `alpha` = 0.05) of the absolute
/// difference between two equal cells, from one log ratio per block. Two one-sided
/// tests at level `alpha` find the cells equivalent within this margin, and within
/// no smaller one. `None`: too few blocks (five are needed at 0.05).
pub fn floor(log_ratios: &[f64], alpha: f64) -> Option<f64> {
    estimate_with_tails(log_ratios, alpha).map(|interval| interval.low.abs().max(interval.high.abs()))
}

/// The margin after `blocks` blocks: the larger of the `stated` one and the largest
/// A/A floor of the pairs of equal cells in `pairs` (log ratios by block) until
/// then. `None`: the floor of a pair is not known yet.
///
/// It uses all pairs and no later block. If one pair were selected after all blocks,
/// an early look would depend on data from after it.
pub fn margin(stated: f64, pairs: &[Vec<Option<f64>>], blocks: usize) -> Option<f64> {
    let mut floors = pairs.iter().map(|pair| floor(&first_values(pair, blocks), FLOOR_ERROR));
    floors.try_fold(stated, |margin, floor| Some(margin.max(floor?)))
}

/// The spread of log ratios: the standard deviation of normal values whose
/// signed-rank interval is as wide.
///
/// The interval's half-width at tail t is about z₁₋ₜ·τ/√n, where τ = 1/(√12 ∫f²)
/// is the scale of the Hodges–Lehmann point (Lehmann 1963; Sen 1963). For normal
/// values τ = σ√(π/3). It exists for heavy tails, too. `None`: fewer than five
/// values.
pub fn spread(log_ratios: &[f64]) -> Option<f64> {
    let n = log_ratios.len();
    let interval = estimate_with_tails(log_ratios, 0.05)?;
    let cut = signed_rank::critical_value(n, 0.05)?;
    let reached = signed_rank::cdf(n, cut);
    let half = 0.5 * (interval.high - interval.low);
    Some(half * (n as f64).sqrt() / -normal_quantile(reached) / EFFICIENCY.sqrt())
}

/// π/3: the squared ratio of the widths of the signed-rank interval and the t
/// interval, for normal values.
const EFFICIENCY: f64 = std::f64::consts::FRAC_PI_3;

/// The smallest true log ratio that is found beyond `margin` with probability
/// `power`, from `blocks` blocks of the given [`spread`], at the one-sided level
/// `tail` of the last look ([`crate::family::level_per_question`]):
///
/// margin + (z₁₋ₜ + z_power) · spread · √(π/3) / √blocks
///
/// (Noether 1987, equation 2, with P(X + X′ > 0) expanded about ½.) Earlier looks
/// only add to the power. `None`: so few blocks cannot reach the level.
pub fn detectable_effect(blocks: usize, spread: f64, tail: f64, power: f64, margin: f64) -> Option<f64> {
    signed_rank::critical_value(blocks, tail)?;
    let z = normal_quantile(1.0 - tail) + normal_quantile(power);
    Some(margin + z * spread * (EFFICIENCY / blocks as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired;
    use crate::rng::Rng;

    #[test]
    fn equal_values_have_a_floor_of_their_size() {
        assert_eq!(floor(&[0.0; 12], 0.05), Some(0.0));
        assert_eq!(floor(&[0.01; 12], 0.05), Some(0.01));
        assert_eq!(floor(&[0.0; 4], 0.05), None);
    }

    #[test]
    fn the_margin_is_that_of_the_noisiest_pair_so_far() {
        let quiet = vec![Some(0.01); 24];
        let late = [vec![Some(0.02); 12], vec![Some(0.3); 12]].concat();
        let pairs = [quiet, late];
        assert_eq!(margin(0.005, &[], 12), Some(0.005));
        assert_eq!(margin(0.005, &pairs[..1], 12), Some(0.01));
        assert_eq!(margin(0.05, &pairs, 12), Some(0.05));
        assert_eq!(margin(0.005, &pairs, 12), Some(0.02), "what comes later does not count");
        assert_eq!(margin(0.005, &pairs, 4), None, "too few blocks for a floor");
    }

    #[test]
    fn the_floor_bounds_the_true_difference() {
        let mut rng = Rng::seeded(11);
        let bounded = (0..400)
            .filter(|_| {
                let values: Vec<f64> = (0..12).map(|_| 0.02 + 0.03 * rng.normal()).collect();
                floor(&values, 0.05).expect("12 blocks suffice") >= 0.02
            })
            .count();
        assert!(bounded >= 372, "{bounded} of 400 (95 % are 380)");
    }

    #[test]
    fn spread_is_the_standard_deviation_of_normal_values() {
        let mut rng = Rng::seeded(12);
        let mean = (0..200)
            .map(|_| {
                let values: Vec<f64> = (0..24).map(|_| 0.04 * rng.normal()).collect();
                spread(&values).expect("24 blocks suffice")
            })
            .sum::<f64>()
            / 200.0;
        assert!((mean / 0.04 - 1.0).abs() < 0.05, "{mean}");
    }

    /// The share of simulated comparisons that find the smallest detectable
    /// effect. Its spread is estimated from other values of the same distribution.
    fn power_found(draw: impl Fn(&mut Rng) -> f64, blocks: usize, tail: f64) -> f64 {
        let mut rng = Rng::seeded(13);
        let long: Vec<f64> = (0..800).map(|_| draw(&mut rng)).collect();
        let spread = spread(&long).expect("800 values suffice");
        let effect = detectable_effect(blocks, spread, tail, 0.8, 0.02).expect("reachable");
        let found = (0..600)
            .filter(|_| {
                let values: Vec<f64> = (0..blocks).map(|_| effect + draw(&mut rng)).collect();
                paired::p_above(&values, 0.02) <= tail
            })
            .count();
        found as f64 / 600.0
    }

    #[test]
    fn the_smallest_detectable_effect_is_found_with_its_power() {
        let normal = |rng: &mut Rng| 0.04 * rng.normal();
        let two = |rng: &mut Rng| (2.0 * (1.0 - rng.uniform()).ln().abs()).sqrt();
        let heavy = |rng: &mut Rng| 0.02 * rng.normal() / two(rng) * 2.0_f64.sqrt();
        for (name, found) in [
            ("normal, 48 blocks", power_found(normal, 48, 0.0021)),
            ("normal, 24 blocks", power_found(normal, 24, 0.01)),
            ("t with 2 degrees of freedom, 48 blocks", power_found(heavy, 48, 0.0021)),
        ] {
            assert!((0.72..=0.88).contains(&found), "{name}: {found}");
        }
    }

    #[test]
    fn too_few_blocks_detect_nothing() {
        assert_eq!(detectable_effect(8, 0.04, 0.0021, 0.8, 0.0), None);
    }
}
