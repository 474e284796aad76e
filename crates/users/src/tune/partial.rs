//! What was run before tuning ended early.

use serde::Serialize;

use super::request::{Progress, TuneRequest};
use super::result::RunRecord;
use super::verdict::Pair;

/// The version of the file.
const SCHEMA: &str = "crosstalk.tune-partial/1";

/// What was run before tuning ended early. There is no verdict: the pairs are not all there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartialResult {
    /// `crosstalk.tune-partial/1`.
    schema: String,
    /// Why it ended.
    ended: String,
    /// What each user does, by number from 0.
    activities: Vec<String>,
    /// The memory that limits divide, in bytes.
    memory: u64,
    /// Bytes a second that all users together read at most.
    read_rate: Option<u64>,
    /// Whether the machine's page cache was dropped before each run.
    drop_caches: bool,
    /// The seed of everything random.
    seed: u64,
    /// The runs of the search so far.
    runs: Vec<RunRecord>,
    /// The fresh pairs so far.
    pairs: Vec<Pair>,
}

impl PartialResult {
    /// Nothing was run yet.
    pub fn new(request: &TuneRequest) -> Self {
        PartialResult {
            schema: SCHEMA.into(),
            ended: String::new(),
            activities: request.population.activities(),
            memory: request.memory.0,
            read_rate: request.population.machine().read_rate.map(|rate| rate.0),
            drop_caches: request.drop_caches,
            seed: request.seed,
            runs: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Takes what has ended.
    pub fn add(&mut self, progress: &Progress) {
        match progress {
            Progress::Plan { .. } => {}
            Progress::Run { run, .. } => self.runs.push((*run).clone()),
            Progress::Pair { pair, .. } => self.pairs.push(*pair),
        }
    }

    /// The same with the reason why it ended; `None` if no run has ended well.
    pub fn ended(self, why: String) -> Option<Self> {
        let is_some = self.runs.iter().any(|run| run.makespan.is_some());
        is_some.then_some(PartialResult { ended: why, ..self })
    }
}
