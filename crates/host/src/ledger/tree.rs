//! The mounted trees of control groups: whether a missing file's tree is mounted, and moving to the roots.

use crosstalk_core::Fault;
use rustix::fs::statfs;
use std::fs;
use std::path::Path;

use crate::kernel;

/// The folder in which the trees are mounted (file-hierarchy(7)).
const TREES: &str = "/sys/fs/cgroup";
/// CGROUP_SUPER_MAGIC and CGROUP2_SUPER_MAGIC of statfs(2).
const KINDS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];

/// Checks that the tree of a missing file is mounted. If it is not, nobody knows whether the file is gone.
///
/// # Errors
/// If the tree was mounted when the file was listed, and is not mounted now.
pub(super) fn check_mounted(path: &Path) -> Result<(), Fault> {
    if !path.starts_with(TREES) {
        return Ok(());
    }
    let nearest = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let kind = statfs(nearest).map(|found| found.f_type as u64).unwrap_or_default();
    if KINDS.contains(&kind) {
        return Ok(());
    }
    Err(Fault::environment("its tree of control groups is not mounted here any more")
        .at(path.display().to_string())
        .remedy("where or when it is mounted: crosstalk clean"))
}

/// Moves this process to the roots of all trees, as far as it is allowed. There it is not affected by what is done
/// to its former group (`systemctl kill`, `cgroup.kill`, freezing, a memory limit).
pub fn move_to_roots() {
    let mounts = kernel::text("/proc/self/mounts").unwrap_or_default();
    for at in roots(&mounts) {
        // If it is not allowed, it stays where it is.
        let _ = fs::write(Path::new(at).join("cgroup.procs"), "0");
    }
}

fn roots(mounts: &str) -> impl Iterator<Item = &str> {
    let fields = mounts.lines().map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>());
    fields.filter(|mount| mount.len() == 2 && ["cgroup", "cgroup2"].contains(&mount[1])).map(|mount| mount[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_those_of_both_versions() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\nshort\n";
        assert_eq!(roots(mounts).collect::<Vec<_>>(), ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn a_folder_of_another_kind_is_no_tree() {
        assert_eq!(check_mounted(Path::new("/tmp/no/such/folder")), Ok(()), "it never was in a tree");
        let fault = check_mounted(Path::new("/sys/fs/cgroup/no-such-tree-of-ours/x")).err();
        let kind = statfs("/sys/fs/cgroup").map(|found| found.f_type as u64).unwrap_or_default();
        assert_eq!(fault.is_none(), KINDS.contains(&kind), "v2's own root holds it, or nothing does");
    }
}
