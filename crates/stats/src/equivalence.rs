//! Two one-sided tests (Schuirmann 1987): that a difference lies within
//! ± margin is shown by rejecting both that it lies above and that it lies below.

use crate::paired::{p_above, p_below};

/// p-value of the null hypothesis that the centre of the paired `log_ratios`
/// lies outside ± `margin` (log scale). Both tests run at the full level: an
/// intersection–union test needs no correction (Berger 1982). At level `tail`
/// it agrees with the interval of [`crate::paired::with_tails`] lying inside.
pub fn p_value(log_ratios: &[f64], margin: f64) -> f64 {
    p_below(log_ratios, margin).max(p_above(log_ratios, -margin))
}

/// Whether the `log_ratios` are equivalent within ± `margin` at level `alpha`.
pub fn holds(log_ratios: &[f64], margin: f64, alpha: f64) -> bool {
    p_value(log_ratios, margin) <= alpha
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::with_tails;
    use crate::verdict::Side;
    use proptest::prelude::*;

    #[test]
    fn equal_values_inside_the_margin_are_as_sure_as_can_be() {
        assert_eq!(p_value(&[0.001; 10], 0.02), 0.5_f64.powi(10));
        assert_eq!(p_value(&[0.03; 10], 0.02), 1.0);
        assert_eq!(p_value(&[0.02; 10], 0.02), 1.0);
    }

    #[test]
    fn too_few_blocks_show_nothing() {
        assert!(!holds(&[0.0; 4], 0.02, 0.05));
        assert!(holds(&[0.0; 5], 0.02, 0.05));
    }

    proptest! {
        #[test]
        fn it_is_the_interval_inside_the_margin(
            values in prop::collection::vec(-0.03_f64..0.03, 8..30),
            margin in 0.001_f64..0.03,
        ) {
            let interval = with_tails(&values, 0.01).expect("reachable");
            let inside = Side::of(&interval, margin) == Some(Side::Within);
            prop_assert_eq!(holds(&values, margin, 0.01), inside);
        }
    }
}
