//! The ports on which processes listen.

use std::collections::BTreeSet;
use std::io;

use crosstalk_core::Fault;
use crosstalk_host::listening::{Listener, listeners, open_sockets};

/// The listening sockets of a process.
///
/// # Errors
/// Where the process is gone, or may not be inspected.
pub fn listeners_of(pid: u32) -> io::Result<BTreeSet<Listener>> {
    let inodes = open_sockets(pid)?;
    Ok(listeners(pid)?.into_iter().filter(|listener| inodes.contains(&listener.inode)).collect())
}

/// The ports to trace: those of `asked`, or all of `listeners` where there are none.
///
/// # Errors
/// A usage fault where nobody listens on a port of `asked`; `flag` says how the service was named.
pub fn select_ports(listeners: &BTreeSet<Listener>, asked: &[u16], flag: &str) -> Result<Vec<u16>, Fault> {
    let open: BTreeSet<u16> = listeners.iter().map(|listener| listener.port).collect();
    if asked.is_empty() {
        return Ok(open.into_iter().collect());
    }
    match asked.iter().find(|port| !open.contains(port)) {
        None => Ok(asked.to_vec()),
        Some(port) if flag == "--port" => {
            Err(Fault::usage(format!("nobody listens on TCP port {port} in this network namespace"))
                .at(flag)
                .remedy("ss -ltn lists who listens; a service in a container is found by --pid"))
        }
        Some(port) => {
            let open: Vec<String> = open.iter().map(u16::to_string).collect();
            Err(Fault::usage(format!("the service does not listen on TCP port {port}"))
                .at("--port")
                .remedy(format!("leave --port out, or take one of {}", open.join(", "))))
        }
    }
}
