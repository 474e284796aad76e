//! What the owner of a virtual cluster, the process that holds it, and the
//! first process of each node say to each other. One program on all sides, so
//! there are no versions.

use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::Launcher;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// From the owner to the holder. A holder does nothing before the first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHolder {
    /// Make the cluster.
    Raise { nodes: usize, program: String, args: Vec<String> },
    /// Start an agent on a node, with a folder for its temporary files; its stream comes along.
    Attach { node: usize, place: usize, folder: PathBuf },
    /// Hold every link to this rate in bit/s, or let it go.
    Shape { rate: Option<f64> },
}

/// From the holder to the first process of a node, and the meter's part of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToNode {
    /// Start an agent with that folder; its stream comes along.
    Attach { place: usize, folder: PathBuf },
    /// Hold what this node sends to this rate in bit/s, or let it go.
    Shape { rate: Option<f64> },
    /// Take in one stream: answered by `Listening`, then by `Counted`.
    Drain,
    /// Send to there for so long: answered by `Done`.
    Stream { address: Ipv4Addr, port: u16, milliseconds: u64 },
}

/// The answer to either.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It is done; what a reader of results must know about it.
    Done { notes: Vec<String> },
    /// Ready to take in a stream.
    Listening { port: u16 },
    /// So much arrived between the first byte and the last.
    Counted { bytes: u64, seconds: f64 },
    /// It could not be done.
    Refused { fault: Fault },
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        Answer::Refused { fault }
    }
}

impl From<Result<Vec<String>, Fault>> for Answer {
    fn from(result: Result<Vec<String>, Fault>) -> Self {
        result.map_or_else(Answer::from, |notes| Answer::Done { notes })
    }
}

impl Answer {
    /// The notes of what was done.
    pub(super) fn done(self) -> Result<Vec<String>, Fault> {
        match self {
            Answer::Done { notes } => Ok(notes),
            other => Err(other.unexpected()),
        }
    }

    /// The fault that an answer other than the expected one stands for.
    pub(super) fn unexpected(self) -> Fault {
        match self {
            Answer::Refused { fault } => Fault { kind: FaultKind::Environment, ..fault },
            other => Fault::environment(format!("unexpected answer {other:?}")),
        }
    }
}

/// How the holder is told to start agents.
pub(super) fn raise(nodes: usize, launcher: &Launcher) -> Result<ToHolder, Fault> {
    let text = |text: &std::ffi::OsStr| {
        text.to_str().map(str::to_string).ok_or_else(|| {
            Fault::environment(format!("expected a program path in UTF-8, found {}", text.display()))
        })
    };
    let args = launcher.args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?;
    Ok(ToHolder::Raise { nodes, program: text(launcher.program.as_os_str())?, args })
}
