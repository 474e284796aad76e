//! Machines that share only the kernel with the runner. Each is a set of namespaces with a root directory of its own,
//! which has a copy of this program and its libraries.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::chroot;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{AgentStream, Cluster, Link, Testbed};
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Netlink;
use crosstalk_host::packet::PacketSocket;
use crosstalk_host::process::{self, Fork, wait_readable};

/// The number of machines.
pub const COUNT: usize = 2;

/// Environment variable of all processes of a trial.
pub const TRIAL: &str = "CROSSTALK_TEST_APART";

/// The program, on a machine.
const PROGRAM: &str = "/program";

/// The root directory of a machine.
pub fn root(dir: &Path, machine: usize) -> PathBuf {
    dir.join(format!("machine-{machine}"))
}

/// A testbed of such machines.
pub struct Apart(PathBuf);

impl Apart {
    /// Their root directories are in `dir`.
    pub fn new(dir: &Path) -> Self {
        Apart(dir.into())
    }
}

impl Testbed for Apart {
    fn name(&self) -> &'static str {
        "apart"
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        assert!(nodes <= COUNT);
        Ok(())
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        (0..nodes)
            .map(|node| Machine::start(&root(&self.0, node)))
            .collect::<Result<_, _>>()
            .map(|machines| Box::new(Machines(machines)) as Box<dyn Cluster>)
    }
}

struct Machines(Vec<Machine>);

impl Cluster for Machines {
    fn nodes(&self) -> usize {
        self.0.len()
    }

    fn address(&self, _: usize) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn host(&self, node: usize) -> usize {
        node
    }

    fn shared(&self) -> Option<&Path> {
        None
    }

    fn start_agent(&mut self, node: usize, _: usize) -> Result<AgentStream, Fault> {
        let (ours, theirs) = UnixStream::pair().expect("a stream");
        self.0[node].orders.as_ref().expect("is up").send(&(), Some(theirs.as_fd()))?;
        let writer = ours.try_clone().expect("copies");
        Ok(AgentStream { reader: Box::new(ours), writer: Box::new(writer) })
    }

    fn shape(&mut self, _: Link) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    fn absences(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A machine. Like a real one, it stays until its last process has ended.
struct Machine {
    /// Closing it means that no more agents are needed.
    orders: Option<PacketSocket>,
    process: Child,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.orders.take();
        self.process.wait().expect("ends with its agents");
    }
}

impl Machine {
    fn start(root: &Path) -> Result<Machine, Fault> {
        furnish(root);
        let (orders, theirs) = PacketSocket::pair()?;
        let mut command = Command::new(std::env::current_exe().expect("has a name"));
        command.arg("machine").arg(root).stdin(Stdio::from(OwnedFd::from(theirs)));
        let process = command.spawn().expect("starts");
        Ok(Machine { orders: Some(orders), process })
    }
}

/// Copies the files that an agent needs into a root directory.
fn furnish(root: &Path) {
    for folder in ["proc", "tmp", "run", "dev"] {
        fs::create_dir_all(root.join(folder)).expect("makes");
    }
    fs::write(root.join("dev/null"), "").expect("makes");
    let program = std::env::current_exe().expect("has a name");
    fs::copy(&program, root.join("program")).expect("copies");
    let libraries = Command::new("ldd").arg(&program).output().expect("ldd starts");
    let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
    for path in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().expect("is in a folder")).expect("makes");
        fs::copy(path, copy).expect("copies");
    }
}

/// The hidden verb `machine`: starts agents on request. It ends with the last of them, once no more requests can come.
pub fn live(root: &Path) -> ExitCode {
    let orders = PacketSocket::from_stdin().expect("orders come on standard input");
    let kinds = Kinds::NET.and(Kinds::PID).and(Kinds::MOUNT).and(Kinds::UTS).and(Kinds::IPC);
    namespace::enter(kinds).expect("root may");
    namespace::keep_mounts_private().expect("keeps");
    match process::fork().expect("forks") {
        Fork::Parent(pid) => {
            drop(orders);
            process::wait_for(pid);
        }
        Fork::Child => {
            chroot(root).expect("root may");
            std::env::set_current_dir("/").expect("is there");
            namespace::mount_proc().expect("mounts");
            Netlink::open().and_then(|mut socket| socket.switch_on("lo")).expect("there is a loopback");
            serve(&orders);
        }
    }
    ExitCode::SUCCESS
}

fn serve(orders: &PacketSocket) {
    let events = process::child_events().expect("has them");
    loop {
        let ready = wait_readable(&[orders, &events], None).expect("waits");
        if ready[1] {
            process::reap_events(&events);
        }
        if ready[0] {
            let Ok(Some(((), Some(stream)))) = orders.receive::<()>(None) else { break };
            let copy = stream.try_clone().expect("copies");
            let mut agent = Command::new(PROGRAM);
            agent.arg("agent").env_clear().env(TRIAL, std::env::var(TRIAL).unwrap_or_default());
            // Its end is counted out with all others'.
            agent.stdin(Stdio::from(stream)).stdout(Stdio::from(copy)).spawn().map(drop).expect("starts");
        }
    }
    // The agents end with their streams, and then their reapers.
    while others() {
        wait_readable(&[&events], None).expect("waits");
        process::reap_events(&events);
    }
}

/// Whether there is another process than the first.
fn others() -> bool {
    let entries = fs::read_dir("/proc").expect("is mounted").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.into_iter().any(|pid| pid > 1)
}
