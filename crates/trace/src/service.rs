//! Which service is traced: its ports, its network namespace and its processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::trace::ServerProcess;
use crosstalk_host::listening::{all_processes, listeners, open_sockets, processes_in};
use crosstalk_host::namespace::sees_all_processes;
use crosstalk_host::process::Identity;
use crosstalk_observe::service::TraceTarget;

use super::ports::{listeners_of, select_ports};
use super::process::{cannot_inspect, does_not_listen, namespace_inode, server_process};

/// How a user names a service.
#[derive(Debug, Clone, Default)]
pub struct ServiceQuery {
    /// The ports to trace; empty: all that it listens on.
    pub ports: Vec<u16>,
    /// The process that listens.
    pub pid: Option<u32>,
    /// The control group of the processes that listen.
    pub group: Option<PathBuf>,
}

/// A service that was found.
#[derive(Debug, Clone)]
pub struct Service {
    /// What the kernel's programs look for.
    pub target: TraceTarget,
    /// The processes that listen; none where they may not be inspected.
    pub served: Vec<(Identity, ServerProcess)>,
}

impl Service {
    /// Whether any of its processes still runs. Another process with the same number does not count.
    pub fn is_alive(&self) -> bool {
        self.served.is_empty() || self.served.iter().any(|(identity, _)| identity.is_alive())
    }
}

/// Finds a service.
///
/// # Errors
/// A usage fault where nobody listens; an environment fault where it may not be inspected.
pub fn find(query: &ServiceQuery) -> Result<Service, Fault> {
    match (&query.pid, &query.group) {
        (Some(pid), _) => of_process(*pid, &query.ports),
        (None, Some(group)) => of_group(group, &query.ports),
        (None, None) => of_ports(&query.ports),
    }
}

/// Refuses a container: the kernel's programs know processes by the machine's numbers.
fn check_numbers(flag: &str) -> Result<(), Fault> {
    if sees_all_processes() {
        return Ok(());
    }
    Err(Fault::environment("processes have other numbers here than on the machine outside this container")
        .at(flag)
        .remedy("trace the service by its --port, or from outside the container"))
}

fn of_process(pid: u32, ports: &[u16]) -> Result<Service, Fault> {
    check_numbers("--pid")?;
    let identity = Identity::of(pid).ok_or_else(|| {
        Fault::usage(format!("there is no process {pid}"))
            .at("--pid")
            .remedy("pidof -s NAME prints the number of a program's process")
    })?;
    let listeners = listeners_of(pid).map_err(|e| cannot_inspect(pid, &e).at("--pid"))?;
    if listeners.is_empty() {
        return Err(does_not_listen(pid));
    }
    let ports = select_ports(&listeners, ports, "--pid")?;
    let namespace = namespace_inode(pid)?;
    let target = TraceTarget { ports, namespace, processes: vec![pid] };
    Ok(Service { target, served: vec![(identity, server_process(pid))] })
}

fn of_group(group: &Path, ports: &[u16]) -> Result<Service, Fault> {
    check_numbers("--cgroup")?;
    let path = folder(group);
    let members = processes_in(&path).map_err(|e| {
        Fault::usage(format!("cannot read control group {}: {e}", path.display()))
            .at("--cgroup")
            .remedy("give a directory below /sys/fs/cgroup; /proc/PID/cgroup has a process's")
    })?;
    let mut listeners = BTreeSet::new();
    let mut served_by = Vec::new();
    let mut namespaces = BTreeSet::new();
    for pid in &members {
        // A process that has just ended does not listen.
        let own = listeners_of(*pid).unwrap_or_default();
        if let (false, Some(identity)) = (own.is_empty(), Identity::of(*pid)) {
            listeners.extend(own);
            namespaces.insert(namespace_inode(*pid)?);
            served_by.push((identity, server_process(*pid)));
        }
    }
    let mut namespaces = namespaces.into_iter();
    match (namespaces.next(), namespaces.next()) {
        (Some(namespace), None) => {
            let ports = select_ports(&listeners, ports, "--cgroup")?;
            let processes = members.into_iter().collect();
            Ok(Service { target: TraceTarget { ports, namespace, processes }, served: served_by })
        }
        (None, _) => Err(Fault::usage(format!(
            "none of the {} processes in {} listens on a TCP port",
            members.len(),
            path.display()
        ))
        .at("--cgroup")
        .remedy("/proc/PID/cgroup has the group of a process")),
        _ => Err(Fault::usage("the processes of the group listen in several network namespaces")
            .at("--cgroup")
            .remedy("trace one process at a time, with --pid")),
    }
}

/// A control group's folder, by its path there or by its name in /proc/PID/cgroup.
fn folder(group: &Path) -> PathBuf {
    const ROOT: &str = "/sys/fs/cgroup";
    match group.strip_prefix(ROOT) {
        Ok(_) => group.to_path_buf(),
        Err(_) => Path::new(ROOT).join(group.strip_prefix("/").unwrap_or(group)),
    }
}

fn of_ports(ports: &[u16]) -> Result<Service, Fault> {
    let own = std::process::id();
    let open = listeners(own).map_err(|e| Fault::environment(format!("cannot read who listens: {e}")))?;
    let ports = select_ports(&open, ports, "--port")?;
    let inodes: BTreeSet<u64> =
        open.iter().filter(|listener| ports.contains(&listener.port)).map(|l| l.inode).collect();
    let serves = |pid: &u32| open_sockets(*pid).is_ok_and(|own| !own.is_disjoint(&inodes));
    let serving = all_processes().into_iter().filter(serves);
    let served = serving.filter_map(|pid| Some((Identity::of(pid)?, server_process(pid)))).collect();
    let target = TraceTarget { ports, namespace: namespace_inode(own)?, processes: Vec::new() };
    Ok(Service { target, served })
}

#[cfg(test)]
mod tests;
