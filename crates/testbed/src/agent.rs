//! Starting an agent, and the stream to it.

use crosstalk_core::Fault;
use crosstalk_core::testbed::Duplex;
use crosstalk_host::Launcher;
use crosstalk_host::limits::Demand;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
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

/// Our end, as the runner uses it; at the other one is `process`.
pub(crate) fn duplex(ours: UnixStream, process: Option<u32>) -> Result<Duplex, Fault> {
    let writer = ours.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    Ok(Duplex { reader: Box::new(ours), writer: Box::new(writer), process })
}

/// The process whose standard input is `stream`, as this machine numbers it: in a namespace of its
/// own it knows itself by another number, but a socket has one everywhere.
pub(crate) fn process_at(stream: &UnixStream) -> Option<u32> {
    let socket = fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).ok()?;
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes.find(|pid| fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|input| input == socket))
}

/// The command that starts an agent with `stream` for its standard input and output.
pub(crate) fn command(launcher: &Launcher, stream: OwnedFd) -> Result<Command, Fault> {
    let copy = stream.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
    let mut command = launcher.command(VERB);
    command.stdin(Stdio::from(stream)).stdout(Stdio::from(copy));
    Ok(command)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_at_the_other_end_is_found() {
        let (ours, theirs) = stream().expect("a stream");
        let mut command = Command::new("cat");
        let copy = theirs.try_clone().expect("copies");
        let mut child = command.stdin(OwnedFd::from(copy)).spawn().expect("cat starts");
        assert_eq!(process_at(&theirs), Some(child.id()));
        assert_eq!(process_at(&ours), None, "nobody reads from our end");
        drop((ours, theirs));
        child.wait().expect("it ends with the stream");
    }
}
