//! How much foreground work uses: everything that is not background and not the guard itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::steady::Steady;
use crosstalk_cgroup::group::reading::{busy_time, cpu_time};
use crosstalk_cgroup::group::{Hierarchy, below};
use crosstalk_cgroup::process::{TICK, one};

/// Where the CPU time of foreground and background work together is read.
#[derive(Debug)]
pub(super) enum AllCpu {
    /// Of all groups together, exact.
    Total(Steady),
    /// Of the groups right below v2's root, which itself counts ticks only: each is exact. Where no service manager
    /// has placed all processes in groups, that is not all.
    Groups(Groups),
    /// The host's, in ticks.
    Host(Steady),
    /// Nothing counts.
    Unknown,
}

/// The groups right below v2's root.
#[derive(Debug)]
pub(super) struct Groups {
    root: PathBuf,
    /// Where each is read, and what it had used when it was.
    known: BTreeMap<PathBuf, (Steady, Duration)>,
    /// The root's number of links when they were searched for: 2, and one for each (`simple_getattr` of
    /// the kernel's `fs/libfs.c`).
    links: u64,
    /// One of them has gone since.
    lost: bool,
    /// All CPU time since they are read.
    sum: Duration,
}

impl Groups {
    fn new(root: &Path) -> Self {
        let mut groups = Groups {
            root: root.to_path_buf(),
            known: BTreeMap::new(),
            links: 0,
            lost: false,
            sum: Duration::ZERO,
        };
        groups.find_new(true);
        groups
    }

    /// Looks for groups that have come. What those used that were there at `first` is not of this
    /// time; of those that have come since, all is.
    fn find_new(&mut self, first: bool) {
        let links = fs::metadata(&self.root).map_or(0, |root| root.nlink());
        // One that has come where another has gone does not show there.
        if links == self.links && links > 0 && !self.lost {
            return;
        }
        (self.links, self.lost) = (links, false);
        for path in below(&self.root).into_iter().map(|name| self.root.join(name)) {
            if !self.known.contains_key(&path)
                && let Some(mut file) = Steady::open(&path.join("cpu.stat"))
            {
                let used = if first { file.parsed(cpu_time).unwrap_or_default() } else { Duration::ZERO };
                self.known.insert(path, (file, used));
            }
        }
    }

    /// Counts what those that are known have used, and forgets those that have gone.
    fn count(&mut self) {
        self.known.retain(|_, (file, before)| match file.parsed(cpu_time) {
            Some(now) => {
                self.sum += now.saturating_sub(*before);
                *before = now;
                true
            }
            None => {
                self.lost = true;
                false
            }
        });
    }

    fn read(&mut self) -> Duration {
        self.find_new(false);
        self.count();
        if self.lost {
            self.find_new(false);
            self.count();
        }
        self.sum
    }
}

impl AllCpu {
    /// The best way here.
    pub(super) fn find(hierarchy: &Hierarchy) -> Self {
        let v1 = hierarchy.v1.get("cpuacct").and_then(|tree| Steady::open(&tree.mount.join("cpuacct.usage")));
        // Only a group that is not the root has a type: this is a container's.
        let inner = hierarchy.v2.as_ref().filter(|tree| tree.mount.join("cgroup.type").exists());
        let total = v1.or_else(|| Steady::open(&inner?.mount.join("cpu.stat")));
        if let Some(total) = total {
            return AllCpu::Total(total);
        }
        let groups = hierarchy.v2.as_ref().filter(|tree| !has_others(&tree.mount));
        let groups = groups.map(|tree| Groups::new(&tree.mount));
        match groups.filter(|groups| !groups.known.is_empty()) {
            Some(groups) => AllCpu::Groups(groups),
            None => Steady::open(Path::new("/proc/stat")).map_or(AllCpu::Unknown, AllCpu::Host),
        }
    }

    /// Looks for what reading does not find.
    pub(super) fn renew(&mut self) {
        if let AllCpu::Groups(groups) = self {
            // Whoever came and went between two readings hid another.
            groups.lost = true;
        }
    }

    /// CPU time so far.
    pub(super) fn read(&mut self) -> Option<Duration> {
        match self {
            AllCpu::Total(file) => file.parsed(cpu_time),
            AllCpu::Host(file) => file.parsed(|text| busy_time(text, TICK)),
            AllCpu::Groups(groups) => Some(groups.read()),
            AllCpu::Unknown => None,
        }
    }

    /// Whether it contains what this process uses: in v2's root group it is not counted.
    pub(super) fn has_this(&self, hierarchy: &Hierarchy) -> bool {
        match self {
            AllCpu::Groups(_) => {
                let tree = hierarchy.v2.as_ref();
                tree.is_some_and(|tree| tree.here().is_some_and(|here| here != tree.mount))
            }
            AllCpu::Total(_) | AllCpu::Host(_) => true,
            AllCpu::Unknown => false,
        }
    }

    /// The shortest time over which it counts anything.
    pub(super) fn resolution(&self) -> Duration {
        let exact = matches!(self, AllCpu::Total(_) | AllCpu::Groups(_));
        Duration::from_millis(if exact { 15 } else { 100 })
    }
}

/// Whether processes are in v2's root group itself, other than the kernel's and those of this program: the guard is
/// counted elsewhere, and its reapers use nothing.
fn has_others(root: &Path) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let text = fs::read_to_string(root.join("cgroup.procs")).unwrap_or_default();
    let there = text.lines().filter(|pid| pid.parse().ok().and_then(one).is_some());
    there.into_iter().any(|pid| program(pid) != program("self"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_below_the_root_are_added_up() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |group: &str, micros: u64| {
            let dir = folder.path().join(group);
            fs::create_dir_all(&dir).expect("makes");
            fs::write(dir.join("cgroup.procs"), "").expect("writes");
            fs::write(dir.join("cpu.stat"), format!("usage_usec {micros}\n")).expect("writes");
        };
        write("user", 5_000_000);
        write("system", 7_000_000);
        let mounts = format!("35 24 0:30 / {} rw - cgroup2 cgroup2 rw", folder.path().display());
        let hierarchy = Hierarchy::parse(&mounts, "0::/");
        let mut all = AllCpu::find(&hierarchy);
        assert_eq!(all.read(), Some(Duration::ZERO), "since it is read");
        write("user", 6_000_000);
        write("late", 500_000);
        assert_eq!(all.read(), Some(Duration::from_millis(1500)), "one that has come since is found");
        fs::write(folder.path().join("cgroup.type"), "domain\n").expect("writes");
        fs::write(folder.path().join("cpu.stat"), "usage_usec 42\n").expect("writes");
        assert_eq!(AllCpu::find(&hierarchy).read(), Some(Duration::from_micros(42)), "a container's own");
    }

    #[test]
    fn where_processes_are_in_the_root_all_of_the_host_is_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("batch")).expect("makes");
        fs::write(folder.path().join("batch/cpu.stat"), "usage_usec 7\n").expect("writes");
        fs::write(folder.path().join("batch/cgroup.procs"), "").expect("writes");
        let hierarchy = Hierarchy::parse(
            &format!("35 24 0:30 / {} rw - cgroup2 cgroup2 rw", folder.path().display()),
            "0::/",
        );
        let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("starts");
        for (pid, is_other) in [(std::process::id(), false), (other.id(), true)] {
            fs::write(folder.path().join("cgroup.procs"), pid.to_string()).expect("writes");
            assert_eq!(matches!(AllCpu::find(&hierarchy), AllCpu::Host(_)), is_other);
        }
        other.kill().and_then(|()| other.wait()).expect("is ours");
    }

    #[test]
    fn a_group_that_comes_where_another_goes_is_counted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |group: &str, micros: u64| {
            let dir = folder.path().join(group);
            fs::create_dir_all(&dir).expect("makes");
            fs::write(dir.join("cgroup.procs"), "").expect("writes");
            fs::write(dir.join("cpu.stat"), format!("usage_usec {micros}\n")).expect("writes");
        };
        let goes = |group: &str| {
            let dir = folder.path().join(group);
            fs::write(dir.join("cpu.stat"), "").expect("writes");
            fs::remove_dir_all(dir).expect("removes");
        };
        write("job-1", 5_000_000);
        let mut groups = Groups::new(folder.path());
        assert_eq!(groups.read(), Duration::ZERO);
        goes("job-1");
        write("job-2", 40_000);
        assert_eq!(groups.read(), Duration::from_millis(40), "as many links as before");
        goes("job-2");
        write("job-2", 30_000);
        assert_eq!(groups.read(), Duration::from_millis(70), "and the same name");
    }
}
