//! The events by which the runner reports its progress.

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;
use serde::Serialize;

/// One event of a run. `--json` prints one a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Event {
    /// The run begins: cells in a block, blocks at most, attempts until the first interim analysis, and estimated
    /// seconds until the first interim analysis and until the last block.
    Began { cells: usize, blocks: usize, until_look: usize, seconds_to_look: f64, seconds_to_end: f64 },
    /// The runner prepares something before the first attempt.
    Preparing { what: String },
    /// An attempt begins.
    Attempt {
        experiment: String,
        levels: Levels,
        block: usize,
        #[serde(rename = "turn")]
        try_number: u32,
    },
    /// An attempt ended, after `seconds`: attempts done, attempts until the next interim analysis, and estimated
    /// seconds until then and until the last block.
    Ended {
        experiment: String,
        levels: Levels,
        status: Status,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        seconds: f64,
        done: usize,
        until_look: usize,
        seconds_to_look: f64,
        seconds_to_end: f64,
    },
    /// The stopping rule's decision at a planned interim analysis, number `look` from 0.
    Look { look: usize, blocks: usize, stop: bool, why: String },
    /// Information; nothing is wrong.
    Note { text: String },
    /// Something is wrong, or may be.
    Warning { text: String },
}

/// Receives the events of a run.
pub trait Progress {
    /// Receives one event.
    fn event(&mut self, event: Event);
}

/// Keeps events for tests, or for a run whose progress is not shown.
impl Progress for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}
