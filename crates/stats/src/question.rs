//! What a study can ask of paired blocks, ready for [`crate::family::conclude`].
//!
//! Data come by block, `None` where an attempt of the pair failed or is not
//! faithful; "the first n blocks" then are those with an index below n.

use crate::family::{Answer, Question};
use crate::verdict::{Side, size};
use crate::{Interval, noise, paired};

/// Where does one quantity stand? A log ratio of two cells, a slope, a
/// correlation's per-block values: whatever is one number a block and symmetric
/// about the truth.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The number of each block.
    pub by_block: &'a [Option<f64>],
    /// The margin stated beforehand, ≥ 0, on the scale of the numbers.
    pub margin: f64,
    /// Log ratios of two equal cells by block, where the A/A floor counts as
    /// margin too; empty where it does not.
    pub noise: &'a [Option<f64>],
    /// The published value and its margin, where the size is asked as well.
    pub published: Option<Published>,
}

/// A published size, on the scale of the numbers (log for ratios).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The published value.
    pub value: f64,
    /// How far from it still agrees.
    pub margin: f64,
}

impl<'a> Comparison<'a> {
    /// A comparison against a stated `margin` alone.
    pub fn new(by_block: &'a [Option<f64>], margin: f64) -> Self {
        Comparison { by_block, margin, noise: &[], published: None }
    }

    /// Counts the A/A floor as margin where it is larger.
    #[must_use]
    pub fn above_noise(self, noise: &'a [Option<f64>]) -> Self {
        Comparison { noise, ..self }
    }

    /// Asks whether the size agrees with a published `value` ± `margin`, too.
    #[must_use]
    pub fn against(self, value: f64, margin: f64) -> Self {
        Comparison { published: Some(Published { value, margin }), ..self }
    }

    /// The margin that holds after `blocks` blocks; `None` while the floor is unknown.
    pub fn margin_at(&self, blocks: usize) -> Option<f64> {
        if self.noise.is_empty() {
            return Some(self.margin);
        }
        noise::floor(&first(self.noise, blocks), noise::FLOOR_ERROR).map(|floor| floor.max(self.margin))
    }
}

impl Question for Comparison<'_> {
    fn answer(&self, blocks: usize, tail: f64, earlier: Option<&Answer>) -> Answer {
        let Some(now) = paired::with_tails(&first(self.by_block, blocks), tail) else {
            return earlier.copied().unwrap_or_default();
        };
        let (interval, earlier) = join(now, earlier);
        let stands = earlier.and_then(|e| e.side.map(|side| (side, e.margin)));
        let margin = self.margin_at(blocks);
        let fresh = || margin.and_then(|margin| Some((Side::of(&interval, margin)?, margin)));
        let found = stands.or_else(fresh);
        let side = found.map(|(side, _)| side);
        let size = self.published.and_then(|p| size(&interval, p.value, p.margin));
        Answer {
            interval: Some(interval),
            side,
            margin: found.map_or_else(|| margin.unwrap_or(self.margin), |(_, margin)| margin),
            size,
            settled: side.is_some() && (size.is_some() || self.published.is_none()),
            frees: matches!(side, Some(Side::Above | Side::Below))
                && self.noise.is_empty()
                && self.published.is_none(),
        }
    }
}

/// What all looks up to now allow (repeated confidence intervals, Jennison &
/// Turnbull 1989). Where looks contradict each other, which α allows for, the
/// latest stands alone and what was found before is given up.
fn join(now: Interval, earlier: Option<&Answer>) -> (Interval, Option<&Answer>) {
    match earlier.and_then(|e| e.interval) {
        None => (now, None),
        Some(before) => now.within(&before).map_or((now, None), |both| (both, earlier)),
    }
}

/// The numbers of the first `blocks` blocks that have one.
pub(crate) fn first(by_block: &[Option<f64>], blocks: usize) -> Vec<f64> {
    by_block.iter().take(blocks).flatten().copied().collect()
}
