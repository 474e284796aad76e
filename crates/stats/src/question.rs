//! Questions about paired blocks, for [`crate::family::conclude`].
//!
//! Data are by block; `None`: an attempt of the pair failed or is unfaithful. "The
//! first n blocks" are those with an index below n.

use crate::blocks::first_values;
use crate::family::{Answer, Question};
use crate::verdict::{Margin, Side, agrees_in_size};
use crate::{Interval, noise, paired};

/// Is a quantity above, below or within a margin? The quantity has one number per
/// block, symmetric about the truth: a log ratio of two cells, or a slope.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The number of each block.
    pub by_block: &'a [Option<f64>],
    /// The margin stated beforehand, ≥ 0, on the scale of the numbers.
    pub margin: f64,
    /// Log ratios of pairs of equal cells, by block, if their A/A floor is a margin,
    /// too; otherwise empty. They are of the same study or an earlier one.
    pub noise: &'a [Vec<Option<f64>>],
    /// The published value and its margin, if the size is asked, too.
    pub published: Option<Published>,
}

/// A published size, on the scale of the numbers (log for ratios).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The published value.
    pub value: f64,
    /// The greatest difference from it that agrees.
    pub margin: f64,
}

impl<'a> Comparison<'a> {
    /// A comparison against a stated `margin` alone.
    pub fn new(by_block: &'a [Option<f64>], margin: f64) -> Self {
        Comparison { by_block, margin, noise: &[], published: None }
    }

    /// Uses the A/A floor as margin if it is larger.
    #[must_use]
    pub fn above_noise(self, noise: &'a [Vec<Option<f64>>]) -> Self {
        Comparison { noise, ..self }
    }

    /// Asks whether the size agrees with a published `value` ± `margin`, too.
    #[must_use]
    pub fn against(self, value: f64, margin: f64) -> Self {
        Comparison { published: Some(Published { value, margin }), ..self }
    }

    /// Counts differences up to `within` as none, unless a direction is found.
    #[must_use]
    pub fn equivalent_within(self, within: f64) -> PracticalComparison<'a> {
        PracticalComparison { comparison: self, within }
    }

    fn answer_within(&self, within: f64, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        let Some(beyond) = self.margin_at(blocks) else {
            return earlier.copied().unwrap_or_default();
        };
        let now = paired::estimate_with_tails(&first_values(self.by_block, blocks), tail);
        let mut answer = combine_looks(now, Margin { beyond, within: within.max(beyond) }, earlier);
        answer.frees &= self.noise.is_empty() && self.published.is_none();
        if let Some(published) = self.published {
            answer.size = answer.interval.and_then(|i| agrees_in_size(&i, published.value, published.margin));
            answer.settled &= answer.size.is_some();
        }
        answer
    }

    /// The margin after `blocks` blocks; `None`: the A/A floor is not known yet.
    pub fn margin_at(&self, blocks: usize) -> Option<f64> {
        noise::margin(self.margin, self.noise, blocks)
    }
}

impl Question for Comparison<'_> {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        self.answer_within(0.0, blocks, tail, earlier)
    }
}

/// A [`Comparison`] with a separate margin of practical equivalence: a direction is
/// found beyond the comparison's margin, equivalence within the larger of that and
/// `within`. An A/A floor is about as wide as the intervals themselves: equal cells
/// can hardly be found equivalent within it.
#[derive(Debug, Clone, Copy)]
pub struct PracticalComparison<'a> {
    /// The comparison with the margin of its directions.
    pub comparison: Comparison<'a>,
    /// The greatest difference that does not matter, on the scale of the numbers.
    pub within: f64,
}

impl Question for PracticalComparison<'_> {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        self.comparison.answer_within(self.within, blocks, tail, earlier)
    }
}

/// The answer of this look's interval, `now`, combined with all `earlier` looks: the
/// intersection of their intervals (repeated confidence intervals, Jennison &
/// Turnbull 1989). A finding is kept, beyond the margin of this look if the joint
/// interval is, and else beyond that by which it was found. If intervals of two looks
/// do not overlap, which is one of the errors that α bounds, only the latest counts,
/// and the earlier finding is dropped.
pub(crate) fn combine_looks(now: Option<Interval>, margin: Margin, earlier: Option<&Answer>) -> Answer {
    let Some(now) = now else { return earlier.copied().unwrap_or_default() };
    let before = earlier.and_then(|answer| answer.interval);
    let joint = before.map_or(Some(now), |before| now.intersect(&before));
    let found = joint.and(earlier).and_then(|answer| Some((answer.side?, answer.margin)));
    let interval = joint.unwrap_or(now);
    let of_this_look = Side::of(&interval, margin);
    let side = found.map_or(of_this_look, |(side, _)| Some(side));
    let applied = if side == Some(Side::Within) { margin.within } else { margin.beyond };
    let kept = found.filter(|_| side != of_this_look).map(|(_, margin)| margin);
    Answer {
        interval: Some(interval),
        side,
        margin: kept.unwrap_or(applied),
        size: None,
        settled: side.is_some(),
        frees: matches!(side, Some(Side::Above | Side::Below)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Conclusions, conclude};
    use crate::looks::Looks;

    fn blocks(value: f64, count: usize) -> Vec<Option<f64>> {
        (0..count).map(|i| Some(value + 0.001 * (i % 3) as f64)).collect()
    }

    fn judge(questions: &[&dyn Question], blocks: usize) -> Conclusions {
        conclude(&Looks::new(&[12, 24, 48], 0.05).expect("valid"), blocks, questions)
    }

    #[test]
    fn a_clear_difference_is_found_at_the_first_look() {
        let slower = blocks(0.3, 12);
        let found = judge(&[&Comparison::new(&slower, 0.02)], 12);
        assert_eq!(found.by_question[0].settled_at, Some(1));
        assert_eq!(found.by_question[0].answer.side, Some(Side::Above));
    }

    #[test]
    fn failed_blocks_do_not_count() {
        let mut slower = blocks(0.3, 12);
        slower[3..].fill(None);
        let found = judge(&[&Comparison::new(&slower, 0.02)], 12);
        assert_eq!(found.by_question[0].answer, Answer::default());
    }

    #[test]
    fn the_floor_is_the_margin_if_it_is_larger() {
        let (slower, small, large) = (blocks(0.03, 12), blocks(0.0, 12), blocks(0.05, 12));
        let side = |noise: &[_]| {
            let pairs = [noise.to_vec()];
            let ask = Comparison::new(&slower, 0.01).above_noise(&pairs);
            judge(&[&ask], 12).by_question[0].answer.side
        };
        assert_eq!(side(small.as_slice()), Some(Side::Above));
        assert_eq!(side(large.as_slice()), Some(Side::Within));
        assert_eq!(side([None; 12].as_slice()), None, "an unknown floor gives no verdict");
    }

    #[test]
    fn a_finding_has_the_margin_of_the_latest_look_that_shows_it() {
        // The noise floor after twelve blocks is 8 %, and after 24 it is lower, or higher than the difference.
        let slower = blocks(0.2, 24);
        let noise = |later: f64| -> Vec<Option<f64>> {
            (0..24).map(|i| Some(if i < 12 { 0.08 } else { later })).collect()
        };
        let margin = |noise: Vec<Option<f64>>, blocks: usize| {
            let pairs = [noise];
            let ask = Comparison::new(&slower, 0.01).above_noise(&pairs);
            let answer = judge(&[&ask], blocks).by_question[0].answer;
            assert_eq!(answer.side, Some(Side::Above));
            answer.margin
        };
        let first = margin(noise(0.0), 12);
        assert!((first - 0.08).abs() < 1e-9, "{first}");
        let lower = margin(noise(0.0), 24);
        assert!(lower < first, "{lower}");
        assert_eq!(margin(noise(0.5), 24), first, "the finding stands");
    }

    #[test]
    fn small_differences_are_equivalent_unless_a_direction_is_found() {
        let (equal, faster, equal_cells) = (blocks(-0.001, 12), blocks(0.03, 12), blocks(0.01, 12));
        let found = |values| {
            let ask = Comparison::new(values, 0.0)
                .above_noise(std::slice::from_ref(&equal_cells))
                .equivalent_within(0.05);
            let answer = judge(&[&ask], 12).by_question[0].answer;
            (answer.side, answer.margin)
        };
        assert_eq!(found(equal.as_slice()), (Some(Side::Within), 0.05));
        let (side, margin) = found(faster.as_slice());
        assert_eq!(side, Some(Side::Above));
        assert!((0.01..0.013).contains(&margin), "{margin}");
    }

    #[test]
    fn a_size_must_be_decided_too() {
        let found = blocks(0.25, 12);
        let ask = |published| {
            let found = judge(&[&Comparison::new(&found, 0.01).against(published, 0.05)], 12);
            (found.by_question[0].answer.size, found.settled())
        };
        assert_eq!(ask(0.24), (Some(true), true));
        assert_eq!(ask(0.50), (Some(false), true));
        assert_eq!(ask(0.2005), (None, false));
    }

    #[test]
    fn later_looks_narrow_the_interval() {
        let mut values = blocks(0.3, 12);
        values.extend((0..12).map(|i| Some(if i % 2 == 0 { 0.25 } else { 0.35 })));
        let (early, late) = (
            judge(&[&Comparison::new(&values, 0.0)], 12).by_question[0].answer.interval.expect("12 blocks"),
            judge(&[&Comparison::new(&values, 0.0)], 24).by_question[0].answer.interval.expect("24 blocks"),
        );
        assert!(early.low <= late.low && late.high <= early.high, "{early:?} {late:?}");
        assert_eq!(late.count, 24);
    }

    #[test]
    fn looks_that_contradict_each_other_drop_the_finding() {
        let mut values = blocks(0.3, 12);
        values.extend(blocks(-0.3, 36));
        let early = judge(&[&Comparison::new(&values, 0.0)], 12);
        assert_eq!(early.by_question[0].answer.side, Some(Side::Above));
        let late = judge(&[&Comparison::new(&values, 0.0)], 48);
        assert_ne!(late.by_question[0].answer.side, Some(Side::Above));
    }
}
