//! What the kernel counts for a group of users.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crosstalk_cgroup::group::{Group, reading};

/// Counts of one group. `None`: the kernel does not count it for such a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// Pages that were reclaimed and needed again.
    pub refaults: Option<u64>,
    /// For how long some task waited for a processor (psi.rst).
    pub cpu_wait: Option<Duration>,
    /// For how long some task waited for memory: for pages that were needed again, or to be taken from others.
    pub memory_wait: Option<Duration>,
    /// For how long some task waited for a disk.
    pub io_wait: Option<Duration>,
}

impl GroupCounts {
    /// Those of each group so far; of groups that are together once.
    pub fn of(places: &[Group]) -> Vec<GroupCounts> {
        let mut counted: Vec<Vec<PathBuf>> = Vec::new();
        let mut count = |place: &Group| {
            let paths = place.paths();
            if counted.contains(&paths) {
                return None;
            }
            counted.push(paths);
            Some(Self::of_group(place))
        };
        places.iter().filter_map(&mut count).collect()
    }

    fn of_group(place: &Group) -> Self {
        let text = |files: &[(&str, &str)]| fs::read_to_string(place.file(files)?).ok();
        let pressure = |file: &str| reading::pressure(&text(&[("", file)])?);
        // The memory of a group that is apart in other controllers only is that of all users.
        let memory = text(&[("", "memory.stat"), ("memory", "memory.stat")]);
        GroupCounts {
            refaults: memory.map(|text| reading::pages(&text).refaults),
            cpu_wait: pressure("cpu.pressure"),
            memory_wait: pressure("memory.pressure"),
            io_wait: pressure("io.pressure"),
        }
    }

    /// What was added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let longer = |now: Option<Duration>, before: Option<Duration>| Some(now?.saturating_sub(before?));
        GroupCounts {
            refaults: self.refaults.zip(before.refaults).map(|(now, before)| now.saturating_sub(before)),
            cpu_wait: longer(self.cpu_wait, before.cpu_wait),
            memory_wait: longer(self.memory_wait, before.memory_wait),
            io_wait: longer(self.io_wait, before.io_wait),
        }
    }
}
