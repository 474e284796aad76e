//! The error, the margins and the limits of every run, stated beforehand.

use crosstalk_stats::verdict::Margin;

/// The probability of any false verdict in a whole study.
pub const ALPHA: f64 = 0.05;

/// A direction counts beyond this ratio − 1: randomised, paired runs on a shared machine may be off by as much, however many
/// they are.
pub const BEYOND: f64 = 0.005;

/// Differences within this ratio − 1 do not matter [default]: paired runs of one cell spread by as much.
pub const WITHIN: f64 = 0.01;

/// The runner gives a cell up after it failed in this many blocks in a row.
pub const GIVE_UP_AFTER: usize = 3;

/// The most combinations of levels of an experiment, before any is excluded: a run of more would not end.
pub const MOST_CELLS: usize = 10_000;

/// The most blocks: at one attempt a second more would take more than a day.
pub const MOST_BLOCKS: usize = 100_000;

/// The most interim analyses: more would leave no error for each.
pub const MOST_LOOKS: usize = 1_000;

/// [`BEYOND`] and [`WITHIN`], for log ratios.
pub fn margins() -> Margin {
    Margin { beyond: BEYOND.ln_1p(), within: WITHIN.ln_1p() }
}

/// As [`margins`], with the study's own margin within which differences do not matter, as a ratio − 1.
pub fn margins_within(within: f64) -> Margin {
    Margin { within: within.ln_1p(), ..margins() }
}
