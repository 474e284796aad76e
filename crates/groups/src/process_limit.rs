//! Processes that the kernel has refused a group, as it has as many as it may (`pids.events`, of both versions).

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::keyed;

use crate::name::GroupName;

/// What was refused so far to a group, and to one that it is in: kernels differ in where they count it.
#[derive(Debug)]
pub struct RefusalCount {
    /// Which group.
    pub name: GroupName,
    file: PathBuf,
    before: u64,
}

impl RefusalCount {
    /// Begins to count for a group, and for those that it is in: that group first. None without such a controller.
    pub fn begin(name: &GroupName, group: &Group) -> Vec<RefusalCount> {
        let places = [("", "pids.events"), ("pids", "pids.events")];
        let first = group.file(&places).and_then(|file| Some((file.parent()?.to_path_buf(), name.clone())));
        let above = |(dir, name): &(PathBuf, GroupName)| Some((dir.parent()?.to_path_buf(), name.parent()?));
        let count = |(dir, name): (PathBuf, GroupName)| {
            let file = dir.join("pids.events");
            RefusalCount { name, before: refused(&file).unwrap_or(0), file }
        };
        iter::successors(first, above).map(count).collect()
    }

    /// How many since this was called last.
    pub fn more(&mut self) -> u64 {
        let now = refused(&self.file).unwrap_or(0);
        now.saturating_sub(std::mem::replace(&mut self.before, now))
    }
}

fn refused(file: &Path) -> Option<u64> {
    keyed(&fs::read_to_string(file).ok()?, "max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_from_now_on_here_and_above() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("lab/alice");
        fs::create_dir_all(&dir).expect("makes");
        fs::write(dir.join("pids.events"), "max 7\n").expect("writes");
        let group = Group::new([("pids".into(), dir.clone())].into());
        let mut counts = RefusalCount::begin(&"lab/alice".parse().expect("is a name"), &group);
        let names: Vec<&str> = counts.iter().map(|count| count.name.as_str()).collect();
        assert_eq!(names, ["lab/alice", "lab"]);
        assert_eq!(counts[0].more(), 0);
        fs::write(dir.join("pids.events"), "max 9\n").expect("writes");
        fs::write(folder.path().join("lab/pids.events"), "max 1\n").expect("writes");
        assert_eq!((counts[0].more(), counts[0].more(), counts[1].more()), (2, 0, 1));
        assert!(RefusalCount::begin(&"x".parse().expect("is a name"), &Group::new([].into())).is_empty());
    }
}
