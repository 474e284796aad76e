//! Messages between node 0 and the other nodes while their programs run.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_work::peer::socket::closed_fault;
use crosstalk_work::peer::{Deadline, Line};

/// A message between the nodes that run a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Message {
    /// From node 0: its program has ended after `ran` seconds; end yours.
    End { ran: f64 },
    /// To node 0: the program failed.
    Failed { reason: String },
}

/// Waits until node 0's program has ended, and returns how many seconds it ran.
pub fn await_end(line: &mut Line, until: &Deadline) -> Result<f64, Fault> {
    match line.receive(until)? {
        Some(Message::End { ran }) => Ok(ran),
        _ => Err(closed_fault(line.peer()).on(0)),
    }
}
