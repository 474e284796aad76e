//! Limits of a host: open files, tasks, namespaces. A cluster that would exceed one is refused
//! before it is created.
//!
//! Sources: getrlimit(2), cgroups(7) (`pids.max`), `Documentation/admin-guide/sysctl`
//! (`kernel.pid_max`, `kernel.threads-max`, `user.max_*_namespaces`).

use crosstalk_core::Fault;
use std::fs;
use std::path::{Path, PathBuf};

use crate::errno::check;
use crate::{sysctl, user};

/// The kinds of namespaces; each node has one of each.
const KINDS: [&str; 5] = ["net", "pid", "mnt", "uts", "ipc"];

/// The processes, files, namespaces and other resources that something needs of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceDemand {
    /// What needs them, such as "64 nodes".
    pub what: String,
    /// Open files of this process.
    pub files: u64,
    /// Processes and threads on the host.
    pub tasks: u64,
    /// Namespaces of each kind.
    pub namespaces: u64,
}

/// A limit, what is left of it, and how to raise it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Headroom {
    name: String,
    limit: u64,
    left: u64,
    remedy: Box<str>,
}

impl ResourceDemand {
    /// Checks the demand against all limits of this process and host.
    ///
    /// # Errors
    /// An environment fault that names the first limit that is too low, and how to raise it.
    pub fn check(&self) -> Result<(), Fault> {
        self.fits(self.files, "open files", open_files(self.files))?;
        for room in tasks(self.tasks) {
            self.fits(self.tasks, "processes and threads", Some(room))?;
        }
        if self.namespaces > 0 {
            for room in KINDS.into_iter().filter_map(|kind| namespaces(kind, self.namespaces)) {
                self.fits(self.namespaces, "namespaces of a kind", Some(room))?;
            }
        }
        Ok(())
    }

    fn fits(&self, wanted: u64, of: &str, room: Option<Headroom>) -> Result<(), Fault> {
        let Some(room) = room.filter(|room| room.left < wanted) else { return Ok(()) };
        Err(Fault::environment(format!(
            "{} take about {wanted} {of}, and {} more are allowed here ({} is {})",
            self.what, room.left, room.name, room.limit
        ))
        .at(room.name)
        .remedy(format!("{}, or take fewer nodes", room.remedy)))
    }
}

/// Open files of this process.
fn open_files(wanted: u64) -> Option<Headroom> {
    let (soft, hard) = resource(libc::RLIMIT_NOFILE as i32)?;
    let open = fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    let needed = open + wanted;
    let remedy =
        if hard >= needed { format!("ulimit -n {needed}") } else { format!("as root: ulimit -n {needed}") };
    Some(Headroom {
        name: "ulimit -n".into(),
        limit: soft,
        left: soft.saturating_sub(open),
        remedy: remedy.into(),
    })
}

/// Tasks: of the whole host, of this user, of the cgroups that this process is in.
fn tasks(wanted: u64) -> Vec<Headroom> {
    let running = running().unwrap_or(0);
    let mut rooms: Vec<Headroom> = ["kernel.pid_max", "kernel.threads-max"]
        .into_iter()
        .filter_map(|knob| {
            let limit: u64 = sysctl::read(knob)?.parse().ok()?;
            let remedy = format!("sudo sysctl -w {knob}={}", running + wanted);
            Some(Headroom {
                name: knob.into(),
                limit,
                left: limit.saturating_sub(running),
                remedy: remedy.into(),
            })
        })
        .collect();
    // setrlimit(2): not for who has CAP_SYS_RESOURCE, as root has.
    if !user::is_root()
        && let Some((limit, _)) = resource(libc::RLIMIT_NPROC as i32)
    {
        let mine = of_this_user();
        let remedy = format!("as root: ulimit -u {}", mine + wanted);
        rooms.push(Headroom {
            name: "ulimit -u".into(),
            limit,
            left: limit.saturating_sub(mine),
            remedy: remedy.into(),
        });
    }
    rooms.extend(groups(Path::new("/"), wanted));
    rooms
}

/// The number of all tasks of this host: the fourth word of `/proc/loadavg` is "running/all" (proc_loadavg(5)).
fn running() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The number of tasks of this process's user.
fn of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(me) = fs::metadata("/proc/self") else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit()))
        .filter(|entry| entry.metadata().is_ok_and(|facts| facts.uid() == me.uid()))
        .filter_map(|entry| Some(fs::read_dir(entry.path().join("task")).ok()?.count() as u64))
        .sum()
}

/// The control groups that limit their tasks, from this process's own up to the root.
fn groups(root: &Path, wanted: u64) -> Vec<Headroom> {
    let list = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    list.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let tree = match controllers {
                "" => "sys/fs/cgroup",
                "pids" => "sys/fs/cgroup/pids",
                _ => return None,
            };
            Some((root.join(tree), path.trim_start_matches('/').to_string()))
        })
        .flat_map(|(tree, path)| {
            let path = PathBuf::from(path);
            path.ancestors().map(|part| tree.join(part)).collect::<Vec<_>>()
        })
        .filter_map(|group| {
            let number = |name: &str| -> Option<u64> {
                fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()
            };
            let (limit, now) = (number("pids.max")?, number("pids.current")?);
            let name = group.join("pids.max").display().to_string();
            Some(Headroom {
                limit,
                left: limit.saturating_sub(now),
                remedy: format!(
                    "raise it to {} (a container: --pids-limit, a unit: TasksMax=)",
                    now + wanted
                )
                .into(),
                name,
            })
        })
        .collect()
}

/// Namespaces of one kind. The kernel does not report how many exist; a limit below what is
/// wanted is certain to be exceeded.
fn namespaces(kind: &str, wanted: u64) -> Option<Headroom> {
    let name = format!("user.max_{kind}_namespaces");
    let limit: u64 = sysctl::read(&name)?.parse().ok()?;
    // Zero forbids them, which `refusal` explains.
    (limit > 0).then(|| Headroom {
        limit,
        left: limit,
        remedy: format!("sudo sysctl -w {name}={}", 2 * wanted).into(),
        name,
    })
}

/// The soft and the hard limit of a resource. The type of its number differs between C libraries.
fn resource(which: i32) -> Option<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid for writing.
    check(unsafe { libc::getrlimit(which as _, &mut limit) }).ok()?;
    Some((limit.rlim_cur, limit.rlim_max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(files: u64, tasks: u64, namespaces: u64) -> ResourceDemand {
        ResourceDemand { what: "9 nodes".into(), files, tasks, namespaces }
    }

    #[test]
    fn a_small_demand_is_accepted() {
        demand(1, 1, 1).check().expect("one of each is left");
    }

    #[test]
    fn each_limit_is_named_with_its_remedy() {
        let cases = [
            (demand(1 << 40, 1, 1), "ulimit -n", "ulimit -n"),
            (demand(1, 1 << 40, 1), "kernel.pid_max", "sudo sysctl -w kernel.pid_max="),
            (demand(1, 1, 1 << 40), "user.max_net_namespaces", "sudo sysctl -w user.max_net_namespaces="),
        ];
        for (demand, place, remedy) in cases {
            let fault = demand.check().expect_err("nobody has so many");
            assert_eq!(fault.place.as_deref(), Some(place), "{fault}");
            assert!(fault.message.starts_with("9 nodes take about 1099511627776 "), "{fault}");
            assert!(fault.remedy.is_some_and(|said| said.contains(remedy)), "{remedy}");
        }
    }

    #[test]
    fn a_group_s_limit_counts_from_wherever_it_is_set() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("creates");
            fs::write(path, text).expect("writes");
        };
        write("proc/self/cgroup", "8:pids:/old\n4:memory:/m\n0::/a/b\n");
        write("sys/fs/cgroup/a/pids.max", "100\n");
        write("sys/fs/cgroup/a/pids.current", "40\n");
        write("sys/fs/cgroup/a/b/pids.max", "max\n");
        write("sys/fs/cgroup/a/b/pids.current", "1\n");
        write("sys/fs/cgroup/pids/old/pids.max", "7\n");
        write("sys/fs/cgroup/pids/old/pids.current", "9\n");
        let rooms = groups(folder.path(), 5);
        let found: Vec<_> = rooms.iter().map(|room| (room.limit, room.left)).collect();
        assert_eq!(found, [(7, 0), (100, 60)]);
        assert!(rooms[1].name.ends_with("a/pids.max"), "{}", rooms[1].name);
    }
}
