//! Starting agents, and the streams to them.

use crosstalk_core::Fault;
use crosstalk_core::testbed::AgentStream;
use crosstalk_host::Launcher;
use crosstalk_host::limits::ResourceDemand;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hidden verb of an agent.
const VERB: &str = "agent";

/// Both sides of a new stream: the runner's, and the one for an agent's standard input and
/// output.
pub(crate) fn stream() -> Result<(UnixStream, UnixStream), Fault> {
    UnixStream::pair().map_err(|e| {
        Fault::environment(format!("cannot create a stream to an agent: {e}"))
            .remedy("allow more open files: ulimit -n 4096")
    })
}

/// The runner's side, as a pair of reader and writer.
pub(crate) fn connect(ours: UnixStream) -> Result<AgentStream, Fault> {
    let writer = ours.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    Ok(AgentStream { reader: Box::new(ours), writer: Box::new(writer) })
}

/// The command that starts an agent. `stream` becomes its standard input and output; it creates `folder` for its
/// temporary files.
pub(crate) fn command(launcher: &Launcher, stream: OwnedFd, folder: &Path) -> Result<Command, Fault> {
    let copy = stream.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    let mut command = launcher.command(VERB);
    command.arg(folder);
    command.stdin(Stdio::from(stream)).stdout(Stdio::from(copy));
    Ok(command)
}

/// The folder for temporary files of the agent in `slot` on `node`.
pub(crate) fn folder(root: &Path, node: usize, slot: usize) -> PathBuf {
    root.join(format!("{node}-{slot}"))
}

/// The fault of an agent that does not start.
pub(crate) fn not_started(launcher: &Launcher, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot start an agent ({}): {error}", launcher.program.display()))
}

/// The resources that agents on `nodes` nodes need on their host.
///
/// For each, this process has a stream, opened twice to read and to write, and a
/// thread. The node has its first process, the agent with its threads, and a program
/// that the agent starts. Measured with a program of one thread: 7 tasks a node.
pub(crate) fn demand(nodes: usize) -> ResourceDemand {
    let nodes = nodes as u64;
    ResourceDemand { what: format!("{nodes} nodes"), files: 2 * nodes + 32, tasks: 7 * nodes, namespaces: 0 }
}

/// Refuses a cluster of no nodes, or of more than `most`.
pub(crate) fn check_count(nodes: usize, most: usize) -> Result<(), Fault> {
    if (1..=most).contains(&nodes) {
        return Ok(());
    }
    Err(Fault::usage(format!("expected 1 to {most} nodes, found {nodes}")))
}
