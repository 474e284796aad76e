//! The messages between the owner of a virtual cluster, its holder, and the first process of
//! each node. All sides are the same program, so that there are no versions.

use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::Launcher;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// From the owner to the holder. A holder changes nothing before the first one.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHolder {
    /// Create the cluster.
    Create { nodes: usize, program: String, args: Vec<String> },
    /// Start an agent on a node, with a folder for its temporary files. Its stream is attached to the message.
    StartAgent { node: usize, slot: usize, folder: PathBuf },
    /// Limit every link to this rate in bit/s; `None`: do not limit it.
    Shape { rate: Option<f64> },
}

/// From the holder to the first process of a node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToNode {
    /// Start an agent, with a folder for its temporary files. Its stream is attached to the message.
    StartAgent { slot: usize, folder: PathBuf },
    /// Limit what this node sends to this rate in bit/s; `None`: do not limit it.
    Shape { rate: Option<f64> },
    /// Receive one stream: answered by `Listening`, then by `Counted`.
    Drain,
    /// Send one stream: answered by `Done`.
    Stream { address: Ipv4Addr, port: u16, milliseconds: u64 },
}

/// The answer to an order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It is done, with notes for the results.
    Done { notes: Vec<String> },
    /// Ready to receive a stream.
    Listening { port: u16 },
    /// The bytes that arrived, and the seconds between the first and the last one.
    Counted { bytes: u64, seconds: f64 },
    /// It could not be done, for this reason.
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
    /// The notes of `Done`. Any other answer is a fault.
    pub(super) fn done(self) -> Result<Vec<String>, Fault> {
        match self {
            Answer::Done { notes } => Ok(notes),
            other => Err(other.unexpected()),
        }
    }

    /// The fault of an answer that was not expected.
    pub(super) fn unexpected(self) -> Fault {
        match self {
            Answer::Refused { fault } => Fault { kind: FaultKind::Environment, ..fault },
            other => Fault::environment(format!("unexpected answer {other:?}")),
        }
    }
}

/// The order to create a cluster whose agents `launcher` starts.
pub(super) fn create_order(nodes: usize, launcher: &Launcher) -> Result<ToHolder, Fault> {
    let text = |text: &std::ffi::OsStr| {
        text.to_str().map(str::to_string).ok_or_else(|| {
            Fault::environment(format!("expected a program path in UTF-8, found {}", text.display()))
        })
    };
    let args = launcher.args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?;
    Ok(ToHolder::Create { nodes, program: text(launcher.program.as_os_str())?, args })
}
