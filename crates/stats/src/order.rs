//! Are cells in a given order? A claim about the smallest of its steps.
//!
//! The order is confirmed if every step is above the margin, each at the full level
//! (an intersection–union test needs no correction: Berger 1982). It is refuted if
//! some step is below −margin, at the level divided by the number of steps
//! (Bonferroni). Both follow from one interval, that of the smallest step. If the
//! smallest step is within the margin, the order is neither confirmed nor reversed.

use crate::Interval;
use crate::blocks::first_values;
use crate::family::{Answer, Question};
use crate::question::combine_looks;
use crate::{noise, paired};

/// An order of cells, as its steps: log ratios by block, each expected above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Step → block → log ratio of the later cell over the earlier.
    pub steps: Vec<Vec<Option<f64>>>,
    /// The margin that every step must exceed, ≥ 0, on the log scale.
    pub margin: f64,
    /// Log ratios of pairs of equal cells, by block, if their A/A floor is a margin, too.
    pub noise: Vec<Vec<Option<f64>>>,
}

impl Question for Order {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        let Some(margin) = noise::margin(self.margin, &self.noise, blocks) else {
            return earlier.copied().unwrap_or_default();
        };
        let steps: Vec<Vec<f64>> = self.steps.iter().map(|step| first_values(step, blocks)).collect();
        let answer = combine_looks(smallest_step(&steps, tail), margin.into(), earlier);
        Answer { frees: answer.frees && self.noise.is_empty(), ..answer }
    }
}

/// The interval of the smallest of several paired quantities, with `tail` on each
/// side. Its upper end is infinite if the blocks cannot reach `tail` divided by the
/// number of quantities. `None`: there are no quantities, or the blocks of one
/// cannot reach `tail`.
pub fn smallest_step(steps: &[Vec<f64>], tail: f64) -> Option<Interval> {
    let each: Option<Vec<Interval>> =
        steps.iter().map(|step| paired::estimate_with_tails(step, tail)).collect();
    let each = each?;
    let shared = tail / steps.len().max(1) as f64;
    let high = |step: &Vec<f64>| paired::estimate_with_tails(step, shared).map_or(f64::INFINITY, |i| i.high);
    Some(Interval {
        point: each.iter().map(|i| i.point).reduce(f64::min)?,
        low: each.iter().map(|i| i.low).reduce(f64::min)?,
        high: steps.iter().map(high).reduce(f64::min)?,
        count: each.iter().map(|i| i.count).min()?,
    })
}

/// `a` − `b` by block; `None`: the block lacks one of them.
pub(crate) fn difference(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<Option<f64>> {
    a.iter().zip(b).map(|(a, b)| Some((*a)? - (*b)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::verdict::Side;

    fn cells(means: &[f64], rng: &mut Rng) -> Vec<Vec<Option<f64>>> {
        means.iter().map(|mean| (0..16).map(|_| Some(mean + 0.02 * rng.normal())).collect()).collect()
    }

    /// The order that `cells` (log metrics by block) ascend.
    fn ascending(cells: &[Vec<Option<f64>>], margin: f64) -> Order {
        let steps = cells.windows(2).map(|pair| difference(&pair[1], &pair[0])).collect();
        Order { steps, margin, noise: Vec::new() }
    }

    fn side(means: &[f64], tail: f64) -> Option<Side> {
        let order = ascending(&cells(means, &mut Rng::seeded(51)), 0.01);
        order.answer(16, tail, None).side
    }

    #[test]
    fn an_order_is_confirmed_refuted_or_undecided() {
        assert_eq!(side(&[0.0, 0.1, 0.3], 0.01), Some(Side::Above));
        assert_eq!(side(&[0.0, 0.3, 0.1], 0.01), Some(Side::Below));
        assert_eq!(side(&[0.0, 0.1, 0.115], 0.01), None);
        assert_eq!(side(&[0.0, 0.1, 0.3], 1e-6), None, "a level that 16 blocks cannot reach");
    }

    #[test]
    fn a_step_must_exceed_the_floor_of_equal_cells() {
        let plain = ascending(&cells(&[0.0, 0.1, 0.3], &mut Rng::seeded(51)), 0.01);
        let answer = |noise| Order { noise: vec![noise], ..plain.clone() }.answer(16, 0.01, None);
        let side = |noise| answer(noise).side;
        assert!(plain.answer(16, 0.01, None).frees && !answer(vec![Some(0.02); 16]).frees);
        assert_eq!(side(vec![Some(0.02); 16]), Some(Side::Above));
        assert_eq!(side(vec![Some(0.2); 16]), Some(Side::Within));
        assert_eq!(side(vec![None; 16]), None, "an unknown floor gives no verdict");
    }

    #[test]
    fn one_cell_is_no_order() {
        assert_eq!(side(&[0.0], 0.01), None);
    }

    #[test]
    fn equal_cells_are_rarely_found_ordered_or_reversed() {
        let mut rng = Rng::seeded(52);
        let wrong = (0..500)
            .filter(|_| {
                let order = ascending(&cells(&[0.0; 4], &mut rng), 0.0);
                order.answer(16, 0.025, None).side.is_some()
            })
            .count();
        assert!(wrong <= 25, "{wrong} of 500");
    }
}
