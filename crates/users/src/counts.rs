//! What the kernel counts for a group of users.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crosstalk_cgroup::group::{Group, reading};
use crosstalk_core::Fault;
use crosstalk_observe::waits::{WaitCounter, Waits};

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
    /// What all its tasks waited for inside the kernel, if that is counted.
    pub waits: Option<Waits>,
}

/// Counts of groups of users, from a beginning on.
pub struct Counter {
    /// Groups that are together once.
    groups: Vec<Group>,
    before: Vec<GroupCounts>,
    waits: Option<WaitCounter>,
}

impl Counter {
    /// Begins to count. `waits`: what tasks wait for inside the kernel, too.
    ///
    /// # Errors
    /// If the kernel's tracepoints cannot be used.
    pub fn begin(places: &[Group], waits: bool) -> Result<Counter, Fault> {
        let mut groups: Vec<Group> = Vec::new();
        for place in places {
            if !groups.contains(place) {
                groups.push(place.clone());
            }
        }
        let ids: Vec<u64> = groups.iter().filter_map(id).collect();
        let waits = waits.then(|| WaitCounter::attach(&ids)).transpose()?;
        let before = groups.iter().map(GroupCounts::of).collect();
        Ok(Counter { groups, before, waits })
    }

    /// What was counted so far, by group.
    ///
    /// # Errors
    /// If the kernel's counts cannot be read.
    pub fn counts(&self) -> Result<Vec<GroupCounts>, Fault> {
        let count = |(group, before): (&Group, &GroupCounts)| {
            let waits = self.waits.as_ref().zip(id(group)).map(|(waits, id)| waits.of(id)).transpose()?;
            Ok(GroupCounts { waits: waits.flatten(), ..GroupCounts::of(group).since(before) })
        };
        self.groups.iter().zip(&self.before).map(count).collect()
    }
}

/// A group's id in version 2.
fn id(group: &Group) -> Option<u64> {
    Some(fs::metadata(group.dir("")?).ok()?.ino())
}

impl GroupCounts {
    fn of(place: &Group) -> Self {
        let text = |files: &[(&str, &str)]| fs::read_to_string(place.file(files)?).ok();
        let pressure = |file: &str| reading::pressure(&text(&[("", file)])?);
        // The memory of a group that is apart in other controllers only is that of all users.
        let memory = text(&[("", "memory.stat"), ("memory", "memory.stat")]);
        GroupCounts {
            refaults: memory.map(|text| reading::pages(&text).refaults),
            cpu_wait: pressure("cpu.pressure"),
            memory_wait: pressure("memory.pressure"),
            io_wait: pressure("io.pressure"),
            waits: None,
        }
    }

    fn since(&self, before: &Self) -> Self {
        let longer = |now: Option<Duration>, before: Option<Duration>| Some(now?.saturating_sub(before?));
        GroupCounts {
            refaults: self.refaults.zip(before.refaults).map(|(now, before)| now.saturating_sub(before)),
            cpu_wait: longer(self.cpu_wait, before.cpu_wait),
            memory_wait: longer(self.memory_wait, before.memory_wait),
            io_wait: longer(self.io_wait, before.io_wait),
            waits: None,
        }
    }
}
