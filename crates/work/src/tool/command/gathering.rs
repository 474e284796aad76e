//! How the nodes start together and learn that it is over: node 0 listens, the
//! others connect and wait for its word.

use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crosstalk_core::Fault;

use crate::peer::socket::{accept, connect, gone};
use crate::peer::{Line, Until};

/// How long a caller may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// What the nodes say to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Word {
    /// To node 0: here is node `node`, ready.
    Here { node: usize },
    /// From node 0: all are here, start.
    Go,
    /// From node 0: its program has ended, end yours. It ran for so many seconds.
    End { ran: f64 },
    /// To node 0: the program failed, and why.
    Failed { reason: String },
}

/// Node 0's side: one line to every other node, by number from 1.
pub fn gather(listener: &TcpListener, nodes: usize, until: &Until) -> Result<Vec<Line>, Fault> {
    let mut lines: Vec<Option<Line>> = (1..nodes).map(|_| None).collect();
    while let Some(missing) = lines.iter().position(Option::is_none) {
        let (stream, _) = accept(listener, until)
            .map_err(|f| f.at(format!("node {}, which has not come to the start", missing + 1)))?;
        let mut line = Line::new(stream)?;
        // Whoever does not introduce itself is not one of the nodes.
        if let Ok(Some(Word::Here { node })) = line.hear(&until.within(INTRODUCTION))
            && let Some(slot) = node.checked_sub(1).and_then(|index| lines.get_mut(index))
        {
            *slot = Some(line);
        }
    }
    let mut lines: Vec<Line> = lines.into_iter().flatten().collect();
    lines.iter_mut().try_for_each(|line| line.say(&Word::Go))?;
    Ok(lines)
}

/// Another node's side: the line to node 0, once all are to start.
pub fn join(chief: SocketAddr, node: usize, until: &Until) -> Result<Line, Fault> {
    let mut line = Line::new(connect(chief, until)?)?;
    line.say(&Word::Here { node })?;
    match line.hear(until)? {
        Some(Word::Go) => Ok(line),
        _ => Err(gone(chief).at("node 0")),
    }
}
