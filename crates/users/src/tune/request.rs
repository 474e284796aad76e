//! What to tune, how long it may take, and what is reported meanwhile.

use std::path::PathBuf;

use crosstalk_core::units::{Bytes, Seconds};

use super::result::{GroupingRecord, RunRecord};
use super::verdict::Pair;
use crate::population::Population;

/// What to tune, and how long.
#[derive(Debug)]
pub struct TuneRequest {
    /// The users.
    pub population: Population,
    /// The memory that limits divide, in bytes.
    pub memory: Bytes,
    /// The most runs of the search.
    pub runs: usize,
    /// The number of fresh pairs.
    pub pairs: usize,
    /// The longest time of all runs together.
    pub deadline: Seconds,
    /// Instead of searching, run every grouping in so many blocks, and no pairs.
    pub blocks: Option<usize>,
    /// Whether the machine's page cache is dropped before each run.
    pub drop_caches: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// A folder for the users' files.
    pub scratch: PathBuf,
}

/// Groupings that are to be compared as they are.
#[derive(Debug)]
pub struct ComparisonRequest {
    /// The groupings.
    pub groupings: Vec<GroupingRecord>,
    /// The number of blocks, in each of which every grouping runs once.
    pub blocks: usize,
}

/// What happens while it tunes.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Plain has run once, so that it is known how long all takes.
    Plan {
        /// How many runs there are at most, those of pairs included.
        runs: usize,
        /// Seconds that they take together, if each takes as long as plain.
        seconds: f64,
        /// The longest time of all runs together.
        deadline: Seconds,
    },
    /// A run of the search has ended.
    Run {
        /// Its number, from 1.
        number: usize,
        /// How many there are at most.
        most: usize,
        /// What was run, in words.
        what: &'a str,
        /// The run.
        run: &'a RunRecord,
        /// Plain's makespan over the best one's so far, by single runs.
        best: Option<f64>,
    },
    /// A fresh pair has ended.
    Pair {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        most: usize,
        /// Its times.
        pair: Pair,
    },
}
