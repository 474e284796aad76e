//! What every run is judged and bounded by, stated before the first of them.

use crosstalk_stats::verdict::Margin;

/// The error over a whole study.
pub const ALPHA: f64 = 0.05;

/// A direction is claimed beyond half a percent: what randomised, paired runs on
/// a shared machine may be off by however many they are.
pub const BEYOND: f64 = 0.005;

/// Differences within one percent do not matter: paired runs of one cell spread by as much.
pub const WITHIN: f64 = 0.01;

/// Blocks in a row in which a cell fails before the runner gives it up.
pub const GIVE_UP_AFTER: usize = 3;

/// More combinations than this, before any is excluded, no run would ever finish.
pub const MOST_CELLS: usize = 10_000;

/// More blocks than this no run would ever finish: at one attempt a second they take more than a day.
pub const MOST_BLOCKS: usize = 100_000;

/// More interim analyses than this leave none of them anything to spend.
pub const MOST_LOOKS: usize = 1_000;

/// [`BEYOND`] and [`WITHIN`], for log ratios.
pub fn margins() -> Margin {
    Margin { beyond: BEYOND.ln_1p(), within: WITHIN.ln_1p() }
}

/// The same where the study says itself within which differences do not matter.
pub fn margins_within(within: f64) -> Margin {
    Margin { within: within.ln_1p(), ..margins() }
}
