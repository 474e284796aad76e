//! A run's journal, read: what `analyse` and the stopping rule work on.

use crosstalk_core::cell::CellId;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{AttemptId, Metric, Reading, Status};
use std::collections::BTreeMap;
use std::fmt;

use crate::host_speed::HostSpeed;
use crate::ranges::Ranges;

/// One try at a cell with everything it observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Its number in the run.
    pub id: AttemptId,
    /// Its cell.
    pub cell: CellId,
    /// The block that it belongs to.
    pub block: usize,
    /// 1 for the first try at the cell in its block.
    pub try_number: u32,
    /// How it ended; `Started` where the journal ends before it does.
    pub status: Status,
    /// Why it failed; `None` where it did not, or where that was not recorded.
    pub failure: Option<Failure>,
    /// What the fidelity monitor saw; `None` where it did not watch.
    pub fidelity: Option<Fidelity>,
    /// When it began, in seconds of Unix time.
    pub at: f64,
    /// What it observed.
    pub readings: Vec<Reading>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where, and what is wrong.
    pub cause: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// The text between cause and remedy in the journal, as [`crosstalk_core::Fault::sentence`] writes it.
const REMEDY: &str = " (try: ";

impl From<&str> for Failure {
    /// Reads the journal's sentence, `cause (try: remedy)`.
    fn from(sentence: &str) -> Self {
        let parts = sentence.strip_suffix(')').and_then(|text| text.split_once(REMEDY));
        match parts {
            Some((cause, remedy)) => Failure { cause: cause.into(), remedy: Some(remedy.into()) },
            None => Failure { cause: sentence.into(), remedy: None },
        }
    }
}

/// The journal's sentence.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(f, "{}{REMEDY}{remedy})", self.cause),
            None => f.write_str(&self.cause),
        }
    }
}

/// A whole run as its journal has it: its attempts, and how it began and ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// The command line that began it.
    pub command: String,
    /// Crosstalk's version.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// Whether it was a quick run.
    pub quick: bool,
    /// When its journal begins, in seconds of Unix time.
    pub began: f64,
    /// When its journal ends, in seconds of Unix time.
    pub ended: f64,
    /// How it ended, in words; empty while it goes on.
    pub end: String,
    /// Whether it ran to its end: nothing is left to measure.
    pub finished: bool,
    /// Declared metrics.
    pub metrics: Vec<Metric>,
    /// Attempts in the order of the journal.
    pub attempts: Vec<Attempt>,
    /// Facts about each node's machine when the run began.
    pub provenance: BTreeMap<String, Provenance>,
    /// The same when it ended; empty where they were not read again.
    pub provenance_after: BTreeMap<String, Provenance>,
    /// What the testbed does not have that a real cluster would.
    pub absences: Vec<String>,
    /// What other programs used of the machine when the run began: "other programs used 60 % of its 2 processors".
    /// `None` where that was little.
    pub busy: Option<String>,
    /// How fast the machine is that emulated; `None` where nothing was emulated, and in earlier runs.
    pub host_speed: Option<HostSpeed>,
    /// What its cells show over the ranges of the clusters' parameters; `None` where they were not replayed.
    pub ranges: Option<Ranges>,
    /// What is odd in the journal: lines that could not be read, samples of no attempt.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::Fault;

    #[test]
    fn a_failure_is_read_from_the_sentence_of_its_fault() {
        let fault = Fault::attempt("exit code 7 (of 9)").on(2);
        let read = |fault: &Fault| Failure::from(fault.sentence().as_str());
        assert_eq!(read(&fault), Failure { cause: "node 2: exit code 7 (of 9)".into(), remedy: None });
        let fault = fault.remedy("run it by hand (as root)");
        let failure = read(&fault);
        assert_eq!(failure.cause, "node 2: exit code 7 (of 9)");
        assert_eq!(failure.remedy.as_deref(), Some("run it by hand (as root)"));
        assert_eq!(failure.to_string(), fault.sentence());
    }
}
