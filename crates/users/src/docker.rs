//! Docker, whole: a daemon of the attempt's own, and a container for each group of users.
//!
//! The daemon stands in PID and mount namespaces of its own, with all its files in the attempt's folder. So it
//! ends with what starts it, with its containers, and leaves nothing. Containers have the host's programs, read
//! only, a file system of their own over them (overlay2), and no network but loopback.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crosstalk_cgroup::group::reading::oom_kills;
use crosstalk_cgroup::group::{Group, Hierarchy, OwnGroup};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::Ledger;
use crosstalk_host::ledger::Entry;
use crosstalk_host::process::{cannot, end_with_starter};
use crosstalk_work::peer::Deadline;
use crosstalk_work::program::find;

use crate::drivers::VERB;

/// How long the daemon has to begin to answer; it takes about a second.
const START: Duration = Duration::from_secs(30);
/// How long a wait for it is.
const TICK: Duration = Duration::from_millis(20);
/// The longest path of a socket (unix(7)), with the zero at its end.
const SOCKET_PATH: usize = 108;
/// The image: no file but folders and links, over which the host's are mounted.
const IMAGE: &str = "users:1";
/// Where the program is in a container.
const PROGRAM: &str = "/crosstalk";
/// The exit code of a container whose first process was killed: 128 and the number of SIGKILL.
const KILLED: &[u8] = b"137";
/// The command that installs it.
const INSTALL: &str = "apt-get install --no-install-recommends docker.io";

/// Starts the daemon in its namespaces: it has a `/run` and an `/etc` of its own to write to, and does not see some
/// trees of control groups. Arguments: the daemon's program and folder, the trees.
const START_DAEMON: &str = "set -e
dockerd=$1 folder=$2
shift 2
for tree; do umount \"$tree\"; done
mount -t tmpfs tmpfs /run
mkdir /run/etc /run/work
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work overlay /etc
exec \"$dockerd\" --data-root \"$folder/data\" --exec-root /run/docker --pidfile /run/docker.pid -H \"unix://$folder/socket\" \
--bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false";

/// What containers need of a machine.
pub fn need() -> Need {
    let missing =
        ["dockerd", "docker", "unshare", "tar", "timeout"].into_iter().find(|name| find(name).is_err());
    match missing {
        None => Need::found("Docker", "dockerd"),
        Some(name) => {
            Need::missing("Docker", format!("users cannot be in containers: no `{name}` in PATH"), INSTALL)
        }
    }
}

/// A daemon that runs. Dropping it kills it, and its containers.
#[derive(Debug)]
pub struct Docker {
    daemon: Child,
    folder: PathBuf,
    docker: PathBuf,
    /// The group that containers are made in, as the daemon names it.
    parent: String,
    own: Group,
    /// Processes that the kernel had killed for want of memory before, on this host.
    kills_before: u64,
    /// Its groups in trees in which `own` is not.
    _more: Entry,
}

impl Docker {
    /// Starts a daemon with its files in `folder`, which exists. Its containers will be in `own`; it is not.
    ///
    /// # Errors
    /// If a program is missing, or the daemon ends or does not answer in time: with its last words.
    pub fn start(folder: &Path, own: &OwnGroup, ledger: &Ledger, until: &Deadline) -> Result<Docker, Fault> {
        if folder.join("socket").as_os_str().len() >= SOCKET_PATH {
            return Err(Fault::environment("the path of Docker's socket is too long")
                .at(folder.display().to_string())
                .remedy("set TMPDIR to a folder with a short path"));
        }
        let failed = |e: io::Error| cannot("start Docker", &e);
        let log = File::create(folder.join("log")).map_err(failed)?;
        let mut command = Command::new(find("unshare")?);
        command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", START_DAEMON, "sh"]).arg(find("dockerd")?).arg(folder);
        let (parent, beside) = place_of(own.group());
        let (devices, hidden) = other_trees(own.group());
        command.args(hidden);
        let more = devices.into_iter().map(|dir| dir.join(&parent)).collect::<Vec<_>>();
        let more = ledger.group(&more, "control group of Docker containers")?;
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        end_with_starter(&mut command);
        let daemon = beside.start_in(&mut command)?.spawn().map_err(failed)?;
        let mut docker = Docker {
            daemon,
            folder: folder.into(),
            docker: find("docker")?,
            parent,
            own: own.group().clone(),
            kills_before: kills_of_host(),
            _more: more,
        };
        docker.wait(until)?;
        docker.import()?;
        Ok(docker)
    }

    /// Waits until it answers.
    fn wait(&mut self, until: &Deadline) -> Result<(), Fault> {
        let until = until.at_most(START);
        let mut refused = None;
        loop {
            if until.is_cancelled() {
                return Err(Fault::interrupted());
            }
            if self.folder.join("socket").exists() {
                let answer = self.run(self.command(&["version"]))?;
                if answer.status.success() {
                    return Ok(());
                }
                // The client may be of another version.
                refused = Some(String::from_utf8_lossy(&answer.stderr).trim().to_string());
            }
            let ended = self.daemon.try_wait().map_err(|e| cannot("wait for Docker", &e))?;
            if ended.is_some() || until.is_over() {
                let what = if ended.is_some() { "ended" } else { "does not answer" };
                let said = refused.unwrap_or_else(|| self.last_words());
                return Err(Fault::environment(format!("the Docker daemon {what}: {said}")).remedy(
                    "`dockerd` as root, by itself, says more; its client is to be of the same version",
                ));
            }
            std::thread::sleep(TICK);
        }
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        log.lines().last().unwrap_or("it has said nothing").to_string()
    }

    /// Makes the image.
    fn import(&self) -> Result<(), Fault> {
        let failed = |e: io::Error| cannot("make a Docker image", &e);
        let image = self.folder.join("image");
        for name in ["usr", "etc", "proc", "sys", "dev", "tmp"] {
            fs::create_dir_all(image.join(name)).map_err(failed)?;
        }
        // As the host has them.
        for name in ["bin", "sbin", "lib", "lib64"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
                symlink(target, image.join(name)).map_err(failed)?;
            }
        }
        let archive = self.folder.join("image.tar");
        let mut tar = Command::new(find("tar")?);
        tar.arg("-cf").arg(&archive).arg("-C").arg(&image).arg(".");
        let mut import = self.command(&["import"]);
        import.arg(&archive).arg(IMAGE);
        for command in [tar, import] {
            let output = self.run(command)?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(Fault::environment(format!("cannot make a Docker image: {}", said.trim())));
            }
        }
        Ok(())
    }

    /// The command that runs a driver in a container of its own. It works in `folder`, which the container has in
    /// its own file system, and sees `shared` of the host's.
    ///
    /// # Errors
    /// If this program's own file cannot be found.
    pub fn driver(&self, at: usize, folder: &Path, shared: &[PathBuf]) -> Result<Command, Fault> {
        let program = fs::read_link("/proc/self/exe").map_err(|e| cannot("find this program", &e))?;
        // It goes with the daemon. Removed before (`--rm`), it could not say how it ended.
        let mut command = self.command(&["run", "--interactive", "--network", "none"]);
        command.arg("--cgroup-parent").arg(&self.parent).arg("--cidfile").arg(self.id_file(at));
        command.arg("--workdir").arg(folder).arg("--entrypoint").arg(PROGRAM);
        let mut mount = |host: &Path, inside: &Path, how: &str| {
            command.arg("--volume").arg(format!("{}:{}{how}", host.display(), inside.display()));
        };
        for path in ["/usr", "/etc/passwd", "/etc/group"].map(Path::new) {
            mount(path, path, ":ro");
        }
        mount(&program, Path::new(PROGRAM), ":ro");
        shared.iter().for_each(|path| mount(path, path, ""));
        command.arg(IMAGE).arg(VERB);
        Ok(command)
    }

    /// Whether the kernel has ended a container because memory was full: its first process was killed, and meanwhile
    /// the kernel killed for want of memory. The daemon does not learn of it where the limit is of a group above.
    pub fn was_out_of_memory(&self, at: usize) -> bool {
        let Ok(id) = fs::read_to_string(self.id_file(at)) else { return false };
        // The daemon learns a little later that a container has ended.
        let code = self.run(self.command(&["wait", id.trim()]));
        let is_killed = code.is_ok_and(|code| code.stdout.trim_ascii() == KILLED);
        is_killed && kills_of_host() > self.kills_before
    }

    /// The control groups of a container that runs.
    pub fn group(&self, at: usize) -> Option<Group> {
        let id = fs::read_to_string(self.id_file(at)).ok()?;
        let below = |(tree, dir): (String, PathBuf)| match tree.as_str() {
            DISKS => (tree, dir),
            _ => (tree, dir.join(id.trim())),
        };
        Some(Group::new(self.own.paths_by_tree().into_iter().map(below).collect()))
    }

    fn id_file(&self, at: usize) -> PathBuf {
        self.folder.join(format!("container-{at}"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.docker);
        command.arg("-H").arg(format!("unix://{}/socket", self.folder.display())).args(args);
        command
    }

    /// Runs a command to its end, or for as long as the daemon may take to start.
    fn run(&self, command: Command) -> Result<Output, Fault> {
        let mut limited = Command::new(find("timeout")?);
        limited
            .arg("--kill-after=1")
            .arg(START.as_secs().to_string())
            .arg(command.get_program())
            .args(command.get_args());
        limited.stdin(Stdio::null()).output().map_err(|e| cannot("run Docker's client", &e))
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.daemon.kill().and_then(|()| self.daemon.wait());
    }
}

/// Processes that the kernel has killed for want of memory since it started, on this host (`/proc/vmstat`, `oom_kill`).
fn kills_of_host() -> u64 {
    fs::read_to_string("/proc/vmstat").ok().and_then(|text| oom_kills(&text)).unwrap_or(0)
}

/// Trees of version 1 in which containers get no group below `own`: this process's group in the tree of devices, and
/// the mounts that are hidden from the daemon.
///
/// `own` has no group in the tree of devices, which Docker needs: containers get theirs below this process's. Other
/// trees without a group of `own` are hidden. So is the tree of disks, where version 1 would limit each container by
/// itself: hidden, they stay in the daemon's group, and share its limit.
fn other_trees(own: &Group) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let trees = Hierarchy::whole().v1.into_iter();
    let others: Vec<_> = trees
        .filter(|(name, tree)| name == DISKS || !own.paths().iter().any(|dir| dir.starts_with(&tree.mount)))
        .collect();
    let (devices, hidden): (Vec<_>, Vec<_>) = others.into_iter().partition(|(name, _)| name == "devices");
    let devices = devices.iter().filter_map(|(_, tree)| tree.here()).collect();
    let hidden: BTreeSet<PathBuf> = hidden.into_iter().map(|(_, tree)| tree.mount).collect();
    (devices, hidden.into_iter().collect())
}

/// The controller of disks, in version 1.
const DISKS: &str = "blkio";

/// The name by which the daemon makes containers below `own`, and the groups that the daemon itself is to be in.
///
/// Docker takes a name without a slash relative to the daemon's own group in each tree. So the daemon is in the parents
/// of `own`. In the tree of disks it is in `own` itself, where its containers stay.
fn place_of(own: &Group) -> (String, Group) {
    let dirs = own.paths_by_tree();
    let name = dirs.values().next().and_then(|dir| dir.file_name()).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let place = |(tree, dir): (String, PathBuf)| match tree.as_str() {
        DISKS => Some((tree, dir)),
        _ => Some((tree, dir.parent()?.to_path_buf())),
    };
    (name, Group::new(dirs.into_iter().filter_map(place).collect()))
}
