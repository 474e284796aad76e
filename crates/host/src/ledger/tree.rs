//! Trees of control groups: whether what is not there is gone, or stands in one that is not mounted here; and
//! their tops.

use crosstalk_core::Fault;
use rustix::fs::statfs;
use std::fs;
use std::path::Path;

use crate::kernel;

/// Where the trees are mounted (file-hierarchy(7)).
const TREES: &str = "/sys/fs/cgroup";
/// CGROUP_SUPER_MAGIC and CGROUP2_SUPER_MAGIC of statfs(2).
const KINDS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];

/// A fault where nobody can tell: its tree was mounted when it was written down, and is not now.
pub(super) fn is_mounted(path: &Path) -> Result<(), Fault> {
    if !path.starts_with(TREES) {
        return Ok(());
    }
    let nearest = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let kind = statfs(nearest).map(|told| told.f_type as u64).unwrap_or_default();
    if KINDS.contains(&kind) {
        return Ok(());
    }
    Err(Fault::environment("its tree of control groups is not mounted here any more")
        .at(path.display().to_string())
        .remedy("where it is, or when it is again: crosstalk clean"))
}

/// Has this process leave its control groups for the tops of their trees, where it may: what is done to all in a
/// group (`systemctl kill`, `cgroup.kill`, freezing, too little memory) does not reach it there.
pub(super) fn to_the_top() {
    let mounts = kernel::text("/proc/self/mounts").unwrap_or_default();
    for at in tops(&mounts) {
        // Where it may not, it stays: then it is a second process, in the same place.
        let _ = fs::write(Path::new(at).join("cgroup.procs"), "0");
    }
}

fn tops(mounts: &str) -> impl Iterator<Item = &str> {
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
        assert_eq!(tops(mounts).collect::<Vec<_>>(), ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"]);
    }

    #[test]
    fn a_folder_of_another_kind_is_no_tree() {
        assert_eq!(is_mounted(Path::new("/tmp/no/such/folder")), Ok(()), "it never was in one");
        let fault = is_mounted(Path::new("/sys/fs/cgroup/no-such-tree-of-ours/x")).err();
        let kind = statfs("/sys/fs/cgroup").map(|told| told.f_type as u64).unwrap_or_default();
        assert_eq!(fault.is_none(), KINDS.contains(&kind), "v2's own root holds it, or nothing does");
    }
}
