//! A run's journal, read: what `analyse` and the stopping rule work on.

use crosstalk_core::cell::CellId;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{AttemptId, Metric, Reading, Status};
use std::collections::BTreeMap;

/// One try at a cell with everything it observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Its number.
    pub id: AttemptId,
    /// Of which cell.
    pub cell: CellId,
    /// The block it belongs to.
    pub block: usize,
    /// 1 for the first try of the cell in its block.
    pub turn: u32,
    /// How it ended; `Started` where the journal ends before it does.
    pub status: Status,
    /// Why it failed.
    pub reason: Option<String>,
    /// What the fidelity monitor saw.
    pub fidelity: Option<Fidelity>,
    /// When it began, unix time.
    pub at: f64,
    /// What it observed.
    pub readings: Vec<Reading>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The command line that began it.
    pub command: String,
    /// Crosstalk's version.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// Whether it was quick.
    pub quick: bool,
    /// Unix time of the first line and of the last.
    pub began: f64,
    /// Unix time of the last line.
    pub ended: f64,
    /// How it ended, in words; empty while it goes on.
    pub end: String,
    /// Whether it ran to its end, so that nothing is left to measure.
    pub finished: bool,
    /// Declared metrics.
    pub metrics: Vec<Metric>,
    /// Attempts in order.
    pub attempts: Vec<Attempt>,
    /// The machine when the run began, by node.
    pub provenance: BTreeMap<String, Provenance>,
    /// The machine when it ended, by node; empty where it was not asked again.
    pub provenance_after: BTreeMap<String, Provenance>,
    /// What the testbed does not have that a real cluster would.
    pub absences: Vec<String>,
    /// What other programs took of the machine when the run began, where that was much: "other programs used 60 % of
    /// its 2 processors".
    pub busy: Option<String>,
    /// What was odd in the journal: lines that could not be read, samples of no attempt.
    pub warnings: Vec<String>,
}
