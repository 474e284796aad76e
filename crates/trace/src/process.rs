//! The processes that listen for a service.

use std::io;

use crosstalk_core::Fault;
use crosstalk_core::trace::ServerProcess;
use crosstalk_host::listening::{all_processes, network_namespace, process_name};

use super::ports::listeners_of;

/// The inode of a process's network namespace.
///
/// # Errors
/// Where the process may not be inspected.
pub fn namespace_inode(pid: u32) -> Result<u32, Fault> {
    let inode = network_namespace(pid).map_err(|e| cannot_inspect(pid, &e))?;
    u32::try_from(inode)
        .map_err(|_| Fault::environment(format!("network namespace {inode} is not a 32-bit number")))
}

/// A process of the service, as the record of a trace names it.
pub fn server_process(pid: u32) -> ServerProcess {
    // A name may have control characters, which a terminal would obey.
    let shown = |name: String| name.replace(char::is_control, "?");
    ServerProcess { pid, name: process_name(pid).map_or_else(|| "?".into(), shown) }
}

/// The fault for a process that may not be inspected, or is gone.
pub fn cannot_inspect(pid: u32, error: &io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot inspect process {pid}: {error}"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => fault.remedy("run as root, or trace it by its --port"),
        _ => fault.remedy("see whether it still runs"),
    }
}

/// The fault for a process that does not listen. Its remedy names a descendant that does.
pub fn does_not_listen(pid: u32) -> Fault {
    let fault = Fault::usage(format!("process {pid} ({}) listens on no TCP port", server_process(pid).name))
        .at("--pid");
    let serves = |other: &u32| {
        descends_from(*other, pid) && listeners_of(*other).is_ok_and(|listeners| !listeners.is_empty())
    };
    match all_processes().into_iter().find(serves) {
        Some(child) => {
            fault.remedy(format!("its descendant {} listens: --pid {child}", server_process(child).name))
        }
        None => fault.remedy("give the process that listens, or its --port; ss -ltnp lists them"),
    }
}

/// Whether a process descends from another: proc_pid_status(5).
pub fn descends_from(pid: u32, from: u32) -> bool {
    let parent = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()
    };
    // Parents may change while they are read: the chain is cut after 64.
    std::iter::successors(parent(pid), |pid| parent(*pid)).take(64).any(|ancestor| ancestor == from)
}
