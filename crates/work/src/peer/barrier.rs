//! A barrier at which all nodes start together: node 0 listens; the others connect, send their numbers, and
//! wait until all have come.

use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crosstalk_core::Fault;

use super::socket::{accept, closed_fault, connect};
use super::{Deadline, Line};

/// How long a connection may take to send its node's number.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// The barrier's messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
enum Message {
    /// To node 0: node `node` is ready.
    Here { node: usize },
    /// From node 0: all are ready, start.
    Go,
}

/// Node 0's side: returns a connection to every other node, by number from 1.
///
/// # Errors
/// An attempt fault that names a node which has not come in time.
pub fn await_others(listener: &TcpListener, nodes: usize, until: &Deadline) -> Result<Vec<Line>, Fault> {
    let mut lines: Vec<Option<Line>> = (1..nodes).map(|_| None).collect();
    while let Some(missing) = lines.iter().position(Option::is_none) {
        let (stream, _) =
            accept(listener, until).map_err(|f| f.at("it has not come to the start").on(missing + 1))?;
        let mut line = Line::new(stream)?;
        // A connection that sends no node's number is not one of the nodes.
        if let Ok(Some(Message::Here { node })) = line.receive(&until.at_most(INTRODUCTION))
            && let Some(slot) = node.checked_sub(1).and_then(|index| lines.get_mut(index))
        {
            *slot = Some(line);
        }
    }
    let mut lines: Vec<Line> = lines.into_iter().flatten().collect();
    lines.iter_mut().try_for_each(|line| line.send(&Message::Go))?;
    Ok(lines)
}

/// Another node's side: returns the connection to node 0 when all may start.
///
/// # Errors
/// An attempt fault where node 0 cannot be reached, or has closed.
pub fn await_start(first: SocketAddr, node: usize, until: &Deadline) -> Result<Line, Fault> {
    let mut line = Line::new(connect(first, until)?)?;
    line.send(&Message::Here { node })?;
    match line.receive(until)? {
        Some(Message::Go) => Ok(line),
        _ => Err(closed_fault(first).on(0)),
    }
}
