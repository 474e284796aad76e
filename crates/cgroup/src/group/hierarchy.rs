//! Which control groups this host has, and where a process is in them: v1 has a tree for each
//! controller, v2 one for all, and *hybrid* hosts have both.
//!
//! Sources: cgroups(7), proc_pid_mountinfo(5), `Documentation/admin-guide/cgroup-v2.rst`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crosstalk_host::kernel;
use crosstalk_host::mounts::unescape;

/// One tree of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The group that stands at the mount: `/`, or a container's.
    pub root: PathBuf,
    /// Whether it is mounted for writing.
    pub writable: bool,
    /// The group that the process is in, from the tree's own root.
    pub here: Option<PathBuf>,
}

/// Controllers of v1 that anything here is done with.
const CONTROLLERS: [&str; 7] = ["cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"];

/// What a host has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hierarchy {
    /// The tree for all controllers.
    pub v2: Option<Tree>,
    /// Controller → its tree; two that are mounted together have the same.
    pub v1: BTreeMap<String, Tree>,
}

impl Hierarchy {
    /// This host's, with the place of this process.
    pub fn here() -> Self {
        Self::of("self")
    }

    /// The same with all controllers of version 1 that the kernel has, and with named trees (`name=systemd`).
    pub fn whole() -> Self {
        let read = |path: &str| kernel::text(path).unwrap_or_default();
        let cgroup = read("/proc/self/cgroup");
        let all: Vec<String> = parse_places(&cgroup).into_keys().collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Self::parse_for(&all, &read("/proc/self/mountinfo"), &cgroup)
    }

    /// The same for another process, by its number.
    pub fn of(process: &str) -> Self {
        let read = |path: String| kernel::text(path).unwrap_or_default();
        Self::parse(&read("/proc/self/mountinfo".into()), &read(format!("/proc/{process}/cgroup")))
    }

    /// Reads the texts of `mountinfo` and `cgroup`. What they do not list is not there.
    pub fn parse(mountinfo: &str, cgroup: &str) -> Self {
        Self::parse_for(&CONTROLLERS, mountinfo, cgroup)
    }

    fn parse_for(controllers: &[&str], mountinfo: &str, cgroup: &str) -> Self {
        let places = parse_places(cgroup);
        let mut found = Hierarchy::default();
        for mount in mountinfo.lines().filter_map(parse_mount) {
            let tree = |controllers: &str| Tree {
                mount: mount.at.clone(),
                root: mount.root.clone(),
                writable: mount.writable,
                here: places.get(controllers).cloned(),
            };
            match mount.kind {
                // The first is the one that nothing else was mounted over for it alone.
                "cgroup2" => {
                    found.v2.get_or_insert_with(|| tree(""));
                }
                "cgroup" => {
                    for name in controllers.iter().filter(|name| mount.options.contains(name)) {
                        found.v1.entry(name.to_string()).or_insert_with(|| tree(name));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Which of both there are, for people.
    pub fn kind(&self) -> &'static str {
        match (self.v2.is_some(), self.v1.is_empty()) {
            (false, true) => "none",
            (false, false) => "v1",
            (true, true) => "v2",
            (true, false) => "hybrid",
        }
    }

    /// Every tree once, v2 first.
    pub fn trees(&self) -> Vec<&Tree> {
        let mut trees: Vec<&Tree> = self.v2.iter().collect();
        for tree in self.v1.values() {
            if !trees.iter().any(|known| known.mount == tree.mount) {
                trees.push(tree);
            }
        }
        trees
    }
}

impl Tree {
    /// Where a group is seen, by its name from the tree's own root; `None` where it lies outside of
    /// what is mounted here.
    pub fn path(&self, group: &Path) -> Option<PathBuf> {
        let inside = group.strip_prefix(&self.root).ok()?;
        inside.components().all(|part| matches!(part, Component::Normal(_))).then(|| self.mount.join(inside))
    }

    /// Where the process's own group is seen.
    pub fn here(&self) -> Option<PathBuf> {
        self.path(self.here.as_deref()?)
    }
}

struct Mount<'a> {
    root: PathBuf,
    at: PathBuf,
    kind: &'a str,
    writable: bool,
    options: Vec<&'a str>,
}

/// A line of mountinfo: ID, parent, device, root, place, options, any number of tags, `-`, kind,
/// source, the file system's options.
fn parse_mount(line: &str) -> Option<Mount<'_>> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, at, how) = (mount.next()?, mount.next()?, mount.next()?);
    let mut system = system.split(' ');
    let (kind, _, options) = (system.next()?, system.next()?, system.next().unwrap_or_default());
    let writable = !how.split(',').chain(options.split(',')).any(|option| option == "ro");
    let options = options.split(',').collect();
    Some(Mount { root: unescape(root), at: unescape(at), kind, writable, options })
}

/// Controller (empty for v2) → group, of lines such as `4:cpu,cpuacct:/a/b`.
fn parse_places(cgroup: &str) -> BTreeMap<String, PathBuf> {
    let mut places = BTreeMap::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        for controller in controllers.split(',') {
            places.insert(controller.to_string(), PathBuf::from(group));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V2: &str = "\
24 1 0:22 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate";
    const V1: &str = "\
31 24 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/freezer ro,relatime - cgroup cgroup rw,freezer
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd";
    const UNIFIED: &str = "\n41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn one_tree_has_everything_on_v2() {
        let foreground = "0::/user.slice/user-1000.slice/session-2.scope\n";
        let found = Hierarchy::parse(V2, foreground);
        assert_eq!(found.kind(), "v2");
        let tree = found.v2.expect("is mounted");
        assert!(tree.writable);
        assert_eq!(tree.here(), Some("/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope".into()));
    }

    #[test]
    fn each_controller_has_its_tree_on_v1_and_both_are_there_on_hybrid() {
        let foreground = "4:cpu,cpuacct:/a\n3:memory:/m/n\n1:name=systemd:/s\n0::/u\n";
        let found = Hierarchy::parse(V1, foreground);
        assert_eq!(found.kind(), "v1");
        assert_eq!(found.v1.keys().collect::<Vec<_>>(), ["cpu", "cpuacct", "freezer", "memory"]);
        assert_eq!(found.trees().len(), 3, "two are mounted together");
        assert!(!found.v1["freezer"].writable && found.v1["cpu"].writable);
        assert_eq!(found.v1["memory"].here(), Some("/sys/fs/cgroup/memory/m/n".into()));
        assert_eq!(found.v1["freezer"].here, None);
        let both = Hierarchy::parse(&format!("{V1}{UNIFIED}"), foreground);
        assert_eq!(both.kind(), "hybrid");
        assert_eq!(both.trees().len(), 4);
        assert_eq!(both.v2.and_then(|tree| tree.here()), Some("/sys/fs/cgroup/unified/u".into()));
    }

    #[test]
    fn a_container_sees_its_own_part() {
        let line = "35 24 0:30 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let tree = |foreground: &str| Hierarchy::parse(line, foreground).v2.expect("is mounted");
        assert_eq!(tree("0::/docker/abc/x").here(), Some("/sys/fs/cgroup/x".into()));
        assert_eq!(tree("0::/elsewhere").here(), None);
        assert_eq!(tree("0::/docker/abc/../x").here(), None, "no way out");
    }

    #[test]
    fn blanks_in_names_are_read() {
        let line = "35 24 0:30 / /a\\040b rw - cgroup2 none rw";
        assert_eq!(Hierarchy::parse(line, "").v2.expect("is mounted").mount, Path::new("/a b"));
        assert_eq!(Hierarchy::parse("", "").kind(), "none");
    }

    proptest! {
        #[test]
        fn no_text_panics(mounts in "\\PC{0,80}", foreground in "\\PC{0,40}") {
            Hierarchy::parse(&mounts, &foreground);
            let line = format!("1 2 0:3 {foreground} / rw - cgroup2 x {mounts}\n2 {mounts} - cgroup x cpu");
            Hierarchy::parse(&line, &format!("0::{foreground}\n{foreground}")).trees();
        }
    }
}
