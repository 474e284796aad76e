//! Whose requests are traced: what was asked for, as ports, a network namespace and processes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::trace::Served;
use crosstalk_host::listening::{
    Listener, listeners, name, network_namespace, processes, processes_in, sockets,
};
use crosstalk_host::namespace::sees_all_processes;
use crosstalk_host::process::Identity;
use crosstalk_observe::service::Target;

/// A service, as people name it.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Only these of its ports; all where empty.
    pub ports: Vec<u16>,
    /// The process that listens.
    pub pid: Option<u32>,
    /// The control group of the processes that listen.
    pub group: Option<PathBuf>,
}

/// A service that was found.
#[derive(Debug, Clone)]
pub struct Service {
    /// What to look for.
    pub target: Target,
    /// The processes that listen, where they may be known.
    pub served: Vec<(Identity, Served)>,
}

impl Service {
    /// Whether any of its processes still runs, and is the one that it was.
    pub fn alive(&self) -> bool {
        self.served.is_empty() || self.served.iter().any(|(identity, _)| identity.alive())
    }
}

/// Finds what was asked for.
///
/// # Errors
/// A usage fault: nobody listens there; an environment fault: it may not be looked at.
pub fn find(asked: &Asked) -> Result<Service, Fault> {
    match (&asked.pid, &asked.group) {
        (Some(pid), _) => of_process(*pid, &asked.ports),
        (None, Some(group)) => of_group(group, &asked.ports),
        (None, None) => of_ports(&asked.ports),
    }
}

/// Processes are known to the kernel's programs by the numbers of the machine, not of a container.
fn numbered(flag: &str) -> Result<(), Fault> {
    if sees_all_processes() {
        return Ok(());
    }
    Err(Fault::environment("processes have other numbers here than on the machine outside this container")
        .at(flag)
        .remedy("trace the service by its --port, or from outside the container"))
}

fn of_process(pid: u32, ports: &[u16]) -> Result<Service, Fault> {
    numbered("--pid")?;
    let identity = Identity::of(pid).ok_or_else(|| {
        Fault::usage(format!("there is no process {pid}"))
            .at("--pid")
            .remedy("pidof -s NAME tells a program's")
    })?;
    let own = own_listeners(pid).map_err(|e| not_to_be_seen(pid, &e).at("--pid"))?;
    if own.is_empty() {
        return Err(listens_not(pid));
    }
    let ports = wanted(&own, ports, "--pid")?;
    let namespace = namespace(pid)?;
    let target = Target { ports, namespace, processes: vec![pid] };
    Ok(Service { target, served: vec![(identity, served(pid))] })
}

fn of_group(group: &Path, ports: &[u16]) -> Result<Service, Fault> {
    numbered("--cgroup")?;
    let path = folder(group);
    let members = processes_in(&path).map_err(|e| {
        Fault::usage(format!("cannot look into control group {}: {e}", path.display()))
            .at("--cgroup")
            .remedy("give a directory below /sys/fs/cgroup; /proc/PID/cgroup tells a process's")
    })?;
    let mut found = BTreeSet::new();
    let mut served_by = Vec::new();
    let mut namespaces = BTreeSet::new();
    for pid in &members {
        // Who has ended meanwhile does not listen.
        let own = own_listeners(*pid).unwrap_or_default();
        if let (false, Some(identity)) = (own.is_empty(), Identity::of(*pid)) {
            found.extend(own);
            namespaces.insert(namespace(*pid)?);
            served_by.push((identity, served(*pid)));
        }
    }
    let mut namespaces = namespaces.into_iter();
    match (namespaces.next(), namespaces.next()) {
        (Some(namespace), None) => {
            let ports = wanted(&found, ports, "--cgroup")?;
            let processes = members.into_iter().collect();
            Ok(Service { target: Target { ports, namespace, processes }, served: served_by })
        }
        (None, _) => Err(Fault::usage(format!(
            "none of the {} processes in {} listens on a TCP port",
            members.len(),
            path.display()
        ))
        .at("--cgroup")
        .remedy("/proc/PID/cgroup tells which group a process is in")),
        _ => Err(Fault::usage("its processes listen in several network namespaces")
            .at("--cgroup")
            .remedy("trace one of them at a time, with --pid")),
    }
}

/// A control group's folder, by its path there or by its name as /proc/PID/cgroup tells it.
fn folder(group: &Path) -> PathBuf {
    const ROOT: &str = "/sys/fs/cgroup";
    match group.strip_prefix(ROOT) {
        Ok(_) => group.to_path_buf(),
        Err(_) => Path::new(ROOT).join(group.strip_prefix("/").unwrap_or(group)),
    }
}

fn of_ports(ports: &[u16]) -> Result<Service, Fault> {
    let own = std::process::id();
    let here = listeners(own).map_err(|e| Fault::environment(format!("cannot read who listens: {e}")))?;
    let ports = wanted(&here, ports, "--port")?;
    let inodes: BTreeSet<u64> =
        here.iter().filter(|listener| ports.contains(&listener.port)).map(|l| l.inode).collect();
    let serves = |pid: &u32| sockets(*pid).is_ok_and(|own| !own.is_disjoint(&inodes));
    let found = processes().into_iter().filter(serves);
    let served = found.filter_map(|pid| Some((Identity::of(pid)?, served(pid)))).collect();
    let target = Target { ports, namespace: namespace(own)?, processes: Vec::new() };
    Ok(Service { target, served })
}

/// The sockets of a process that listen.
fn own_listeners(pid: u32) -> io::Result<BTreeSet<Listener>> {
    let own = sockets(pid)?;
    Ok(listeners(pid)?.into_iter().filter(|listener| own.contains(&listener.inode)).collect())
}

/// The ports that are asked for, of those that there are.
fn wanted(found: &BTreeSet<Listener>, asked: &[u16], flag: &str) -> Result<Vec<u16>, Fault> {
    let there: BTreeSet<u16> = found.iter().map(|listener| listener.port).collect();
    if asked.is_empty() {
        return Ok(there.into_iter().collect());
    }
    match asked.iter().find(|port| !there.contains(port)) {
        None => Ok(asked.to_vec()),
        Some(port) if flag == "--port" => {
            Err(Fault::usage(format!("nobody listens on TCP port {port} in this network namespace"))
                .at(flag)
                .remedy("ss -ltn lists who listens; a service in a container is found by --pid"))
        }
        Some(port) => {
            let there: Vec<String> = there.iter().map(u16::to_string).collect();
            Err(Fault::usage(format!("it does not listen on TCP port {port}"))
                .at("--port")
                .remedy(format!("leave --port out, or take one of {}", there.join(", "))))
        }
    }
}

/// A fault that names who listens in a process's place, if one of its descendants does.
fn listens_not(pid: u32) -> Fault {
    let fault =
        Fault::usage(format!("process {pid} ({}) listens on no TCP port", served(pid).name)).at("--pid");
    let serves =
        |other: &u32| descends(*other, pid) && own_listeners(*other).is_ok_and(|own| !own.is_empty());
    match processes().into_iter().find(serves) {
        Some(child) => fault.remedy(format!("its descendant {} does: --pid {child}", served(child).name)),
        None => fault.remedy("name the process that listens, or its --port; ss -ltnp lists them"),
    }
}

/// Whether a process descends from another: proc_pid_status(5).
fn descends(pid: u32, from: u32) -> bool {
    let parent = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()
    };
    // Parents may change while they are read: there is an end to it.
    std::iter::successors(parent(pid), |pid| parent(*pid)).take(64).any(|ancestor| ancestor == from)
}

fn namespace(pid: u32) -> Result<u32, Fault> {
    let inode = network_namespace(pid).map_err(|e| not_to_be_seen(pid, &e))?;
    u32::try_from(inode).map_err(|_| Fault::environment(format!("network namespace {inode} is unknown")))
}

fn served(pid: u32) -> Served {
    // A program may call itself what a terminal would obey.
    let shown = |name: String| name.replace(char::is_control, "?");
    Served { pid, name: name(pid).map_or_else(|| "?".into(), shown) }
}

fn not_to_be_seen(pid: u32, error: &io::Error) -> Fault {
    let fault = Fault::environment(format!("cannot look at process {pid}: {error}"));
    match error.kind() {
        io::ErrorKind::PermissionDenied => fault.remedy("run as root, or trace it by its --port"),
        _ => fault.remedy("does it still run?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::FaultKind;
    use std::net::TcpListener;
    use std::process::{Command, id};

    fn listening() -> (TcpListener, u16) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = socket.local_addr().expect("has one").port();
        (socket, port)
    }

    #[test]
    fn a_service_is_found_by_its_port_or_its_process() {
        let (_socket, port) = listening();
        let by_port = find(&Asked { ports: vec![port], ..Asked::default() }).expect("listens");
        assert_eq!((by_port.target.ports, by_port.target.processes), (vec![port], vec![]));
        assert!(by_port.served.iter().any(|(identity, _)| identity.pid == id()));
        let by_pid = find(&Asked { pid: Some(id()), ..Asked::default() }).expect("listens");
        assert!(by_pid.target.ports.contains(&port) && by_pid.alive());
        assert_eq!(
            (by_pid.target.processes, by_pid.target.namespace),
            (vec![id()], by_port.target.namespace)
        );
    }

    #[test]
    fn a_port_that_nobody_listens_on_has_a_remedy() {
        let (socket, port) = listening();
        drop(socket);
        let fault = find(&Asked { ports: vec![port], ..Asked::default() }).expect_err("nobody listens");
        assert_eq!((fault.kind, fault.place.as_deref()), (FaultKind::Usage, Some("--port")));
        assert!(fault.message.contains("nobody listens") && fault.remedy.is_some(), "{fault}");
        let (_socket, _) = listening();
        let fault =
            find(&Asked { ports: vec![port], pid: Some(id()), group: None }).expect_err("not on this");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("take one of")));
    }

    #[test]
    fn a_process_that_is_gone_or_does_not_listen_is_told() {
        let mut child = Command::new("sleep").arg("30").spawn().expect("starts");
        let fault = find(&Asked { pid: Some(child.id()), ..Asked::default() }).expect_err("does not listen");
        assert!(fault.message.contains("listens on no TCP port"), "{fault}");
        child.kill().expect("ends");
        child.wait().expect("ended");
        let fault = find(&Asked { pid: Some(child.id()), ..Asked::default() }).expect_err("is gone");
        assert!(fault.message.contains("there is no process"), "{fault}");
        assert!(descends(id(), std::os::unix::process::parent_id()) && !descends(1, id()));
    }

    #[test]
    fn a_number_that_was_given_away_again_is_not_the_service() {
        let (_socket, _) = listening();
        let mut service = find(&Asked { pid: Some(id()), ..Asked::default() }).expect("listens");
        service.served[0].0.start += 1;
        assert!(!service.alive());
    }

    #[test]
    fn a_group_that_is_none_is_told() {
        let group = Some(PathBuf::from("there/is/none"));
        let fault = find(&Asked { group, ..Asked::default() }).expect_err("is none");
        assert_eq!((fault.kind, fault.place.as_deref()), (FaultKind::Usage, Some("--cgroup")));
    }

    #[test]
    fn a_group_is_known_by_its_folder_and_as_the_kernel_tells_it() {
        let wanted = Path::new("/sys/fs/cgroup/system.slice/nginx.service");
        for group in [
            "/sys/fs/cgroup/system.slice/nginx.service",
            "/system.slice/nginx.service",
            "system.slice/nginx.service",
        ] {
            assert_eq!(folder(Path::new(group)), wanted, "{group}");
        }
    }
}
