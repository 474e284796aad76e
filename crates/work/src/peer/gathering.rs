//! How nodes start together: node 0 listens, the others connect, say who they
//! are, and wait until all are there.

use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crosstalk_core::Fault;

use super::socket::{accept, connect, gone};
use super::{Line, Until};

/// How long a caller may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// What the nodes say until all are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
enum Word {
    /// To node 0: here is node `node`, ready.
    Here { node: usize },
    /// From node 0: all are here, start.
    Go,
}

/// Node 0's side: one line to every other node, by number from 1.
pub fn gather(listener: &TcpListener, nodes: usize, until: &Until) -> Result<Vec<Line>, Fault> {
    let mut lines: Vec<Option<Line>> = (1..nodes).map(|_| None).collect();
    while let Some(missing) = lines.iter().position(Option::is_none) {
        let (stream, _) =
            accept(listener, until).map_err(|f| f.at("it has not come to the start").on(missing + 1))?;
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
        _ => Err(gone(chief).on(0)),
    }
}
