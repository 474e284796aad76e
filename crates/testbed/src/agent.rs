//! Starting an agent, and the stream to it.

use crosstalk_core::Fault;
use crosstalk_core::testbed::AgentStream;
use crosstalk_host::Launcher;
use crosstalk_host::limits::Demand;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hidden verb of an agent.
const VERB: &str = "agent";

/// Both ends of a new stream: ours, and the one that becomes an agent's
/// standard input and output.
pub(crate) fn stream() -> Result<(UnixStream, UnixStream), Fault> {
    UnixStream::pair().map_err(|e| {
        Fault::environment(format!("cannot make a stream to an agent: {e}"))
            .remedy("allow more open files: ulimit -n 4096")
    })
}

/// Our end, as the runner uses it.
pub(crate) fn duplex(ours: UnixStream) -> Result<AgentStream, Fault> {
    let writer = ours.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    Ok(AgentStream { reader: Box::new(ours), writer: Box::new(writer) })
}

/// The command that starts an agent with `stream` for its standard input and output, and `folder` for its
/// temporary files, which it makes.
pub(crate) fn command(launcher: &Launcher, stream: OwnedFd, folder: &Path) -> Result<Command, Fault> {
    let copy = stream.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    let mut command = launcher.command(VERB);
    command.arg(folder);
    command.stdin(Stdio::from(stream)).stdout(Stdio::from(copy));
    Ok(command)
}

/// The folder for temporary files of the agent at `place` on `node`.
pub(crate) fn folder(scratch: &Path, node: usize, place: usize) -> PathBuf {
    scratch.join(format!("{node}-{place}"))
}

/// The fault of an agent that does not start.
pub(crate) fn not_started(launcher: &Launcher, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot start an agent ({}): {error}", launcher.program.display()))
}

/// What agents on so many nodes take of their host.
///
/// In this process a stream for each, held twice (to read and to write), and a
/// thread that reads it. There the agent's process with its threads, a first
/// process of the node, and a program that the agent starts: measured, 7 tasks
/// a node in all with a program of one thread.
pub(crate) fn demand(nodes: usize) -> Demand {
    let nodes = nodes as u64;
    Demand { what: format!("{nodes} nodes"), files: 2 * nodes + 32, tasks: 7 * nodes, namespaces: 0 }
}

/// Refuses a cluster of no nodes, or of more than `most`.
pub(crate) fn check_count(nodes: usize, most: usize) -> Result<(), Fault> {
    if (1..=most).contains(&nodes) {
        return Ok(());
    }
    Err(Fault::usage(format!("expected 1 to {most} nodes, found {nodes}")))
}
