//! Messages between node 0 and the other nodes while their programs run.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_work::peer::socket::gone;
use crosstalk_work::peer::{Line, Until};

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Message {
    /// From node 0: its program has ended after `ran` seconds; end yours.
    End { ran: f64 },
    /// To node 0: the program failed.
    Failed { reason: String },
}

/// Waits until node 0's program has ended, and returns how many seconds it ran.
pub fn await_end(line: &mut Line, until: &Until) -> Result<f64, Fault> {
    match line.hear(until)? {
        Some(Message::End { ran }) => Ok(ran),
        _ => Err(gone(line.peer()).on(0)),
    }
}
