//! What the runner tells whoever watches it.

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;
use serde::Serialize;

/// One event; also what `--json` prints, one a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "fields are documented on the variants")]
pub enum Event {
    /// The run begins: cells in a block, blocks at most, attempts until the first look, estimated seconds until the first look and until the budget ends.
    Began { cells: usize, blocks: usize, until_look: usize, seconds_to_look: f64, seconds_to_end: f64 },
    /// Something takes a while before the first attempt.
    Preparing { what: String },
    /// An attempt begins.
    Attempt { experiment: String, levels: Levels, block: usize, turn: u32 },
    /// It ended: attempts done, attempts until the next look, seconds left until then and until the budget ends.
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
    /// The stopping rule was asked.
    Look { look: usize, blocks: usize, stop: bool, why: String },
    /// Something the user may want to know; nothing is wrong.
    Note { text: String },
    /// Something that is wrong, or may be.
    Warning { text: String },
}

/// Takes events.
pub trait Progress {
    /// One event.
    fn event(&mut self, event: Event);
}

/// Keeps them, for tests; a `Vec` that nobody reads is a fine way to be silent.
impl Progress for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}
