//! Is a quantity above or below a number?
//!
//! Differences of cells in random order are symmetric; single values need not be,
//! and the signed-rank test would err. The median's sign-test interval holds for
//! every distribution, and needs some more blocks.

use crate::Interval;
use crate::blocks::first_values;
use crate::family::{Answer, Question};
use crate::quantile;
use crate::question::combine_looks;
use crate::verdict::Margin;

/// Is the median over blocks above or below a number?
#[derive(Debug, Clone, Copy)]
pub struct Threshold<'a> {
    /// The value of each block.
    pub by_block: &'a [Option<f64>],
    /// The number.
    pub number: f64,
}

impl Question for Threshold<'_> {
    /// The interval is that of the median minus the number.
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        let distances: Vec<f64> =
            first_values(self.by_block, blocks).iter().map(|v| v - self.number).collect();
        combine_looks(median(&distances, 2.0 * tail), Margin::default(), earlier)
    }
}

/// The median of `values` with its interval at two-sided error `alpha`. `None`: too
/// few values, or one that is not finite.
pub fn median(values: &[f64], alpha: f64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let interval = quantile::estimate(&sorted, 0.5, alpha)?;
    values.iter().all(|v| v.is_finite()).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::verdict::Side;

    #[test]
    fn a_value_is_above_below_or_undecided() {
        let values: Vec<Option<f64>> = (1..=12).map(|i| Some(f64::from(i))).collect();
        let side = |number| Threshold { by_block: &values, number }.answer(12, 0.025, None).side;
        assert_eq!(side(0.5), Some(Side::Above));
        assert_eq!(side(20.0), Some(Side::Below));
        assert_eq!(side(6.0), None);
    }

    #[test]
    fn the_level_holds_for_skewed_values() {
        let mut rng = Rng::seeded(71);
        let median_of_exponential = std::f64::consts::LN_2;
        let wrong = (0..1_000)
            .filter(|_| {
                let values: Vec<Option<f64>> = (0..48).map(|_| Some(-(1.0 - rng.uniform()).ln())).collect();
                let ask = Threshold { by_block: &values, number: median_of_exponential };
                ask.answer(48, 0.025, None).side.is_some()
            })
            .count();
        assert!(wrong <= 65, "{wrong} of 1,000 (5 % are 50)");
    }
}
