//! Whether what is not there is gone, or stands in a tree of control groups that is not mounted here.

use crosstalk_core::Fault;
use rustix::fs::statfs;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_kind_is_no_tree() {
        assert_eq!(is_mounted(Path::new("/tmp/no/such/folder")), Ok(()), "it never was in one");
        let fault = is_mounted(Path::new("/sys/fs/cgroup/no-such-tree-of-ours/x")).err();
        let kind = statfs("/sys/fs/cgroup").map(|told| told.f_type as u64).unwrap_or_default();
        assert_eq!(fault.is_none(), KINDS.contains(&kind), "v2's own root holds it, or nothing does");
    }
}
