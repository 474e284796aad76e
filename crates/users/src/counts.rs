//! What the kernel counts for a group of users.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `Documentation/accounting/psi.rst`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{Pages, number, pages, pressure};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_observe::waits::{WaitCounter, Waits};
use serde::Serialize;

/// What was counted for a group during an attempt; `None` where the kernel does not count it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupCounts {
    /// Pages that were reclaimed and needed again.
    pub refaults: Option<u64>,
    /// Pages that were taken from it; v1 does not count them.
    pub reclaimed: Option<u64>,
    /// Seconds in which some task waited for a processor (PSI).
    pub cpu_wait: Option<f64>,
    /// Seconds in which some task waited for memory (PSI).
    pub memory_wait: Option<f64>,
    /// Seconds in which some task waited for devices (PSI).
    pub io_wait: Option<f64>,
    /// The most memory that was ever charged to it.
    pub peak: Option<Bytes>,
    /// What all its tasks waited for inside the kernel, if that is counted.
    #[serde(skip)]
    pub waits: Option<Waits>,
}

/// A group's counters at a time.
pub struct Counters {
    pages: Option<Pages>,
    cpu_wait: Option<f64>,
    memory_wait: Option<f64>,
    io_wait: Option<f64>,
}

impl Counters {
    /// Reads them.
    pub fn read(group: &Group) -> Self {
        let wait = |file| Some(pressure(&read(group, &[("", file)])?)?.as_secs_f64());
        Counters {
            pages: read(group, MEMORY).map(|text| pages(&text)),
            cpu_wait: wait("cpu.pressure"),
            memory_wait: wait("memory.pressure"),
            io_wait: wait("io.pressure"),
        }
    }

    /// What was counted for `group` since then.
    pub fn since(&self, group: &Group) -> GroupCounts {
        let now = Counters::read(group);
        let both = self.pages.zip(now.pages);
        let difference = |before: Option<f64>, after: Option<f64>| Some((after? - before?).max(0.0));
        GroupCounts {
            refaults: both.map(|(before, now)| now.refaults.saturating_sub(before.refaults)),
            reclaimed: both.and_then(|(before, now)| now.reclaimed_since(&before)),
            cpu_wait: difference(self.cpu_wait, now.cpu_wait),
            memory_wait: difference(self.memory_wait, now.memory_wait),
            io_wait: difference(self.io_wait, now.io_wait),
            peak: read(group, &[("", "memory.peak"), ("memory", "memory.max_usage_in_bytes")])
                .and_then(|text| number(&text))
                .map(Bytes),
            waits: None,
        }
    }
}

/// Counts groups of users from a beginning on.
pub struct Counting {
    /// Groups that are together once.
    groups: Vec<(Group, Counters)>,
    /// Whether all of these have one memory group.
    shared: bool,
    waits: Option<WaitCounter>,
}

impl Counting {
    /// Begins. `waits`: counts what tasks wait for inside the kernel, too.
    ///
    /// # Errors
    /// If the kernel's tracepoints cannot be used.
    pub fn begin(places: &[Group], waits: bool) -> Result<Self, Fault> {
        let mut distinct: Vec<&Group> = Vec::new();
        for place in places {
            if !distinct.contains(&place) {
                distinct.push(place);
            }
        }
        let ids: Vec<u64> = distinct.iter().filter_map(|group| id(group)).collect();
        let waits = waits.then(|| WaitCounter::attach(&ids)).transpose()?;
        let groups = distinct.iter().map(|group| ((*group).clone(), Counters::read(group))).collect();
        // On v1, groups that are apart in other controllers only have their memory in one group: its pages are
        // nobody's own.
        let memory: BTreeSet<_> = distinct.iter().map(|group| group.file(MEMORY)).collect();
        let shared = distinct.len() > 1 && memory.len() == 1;
        Ok(Counting { groups, shared, waits })
    }

    /// What was counted so far, by group.
    ///
    /// # Errors
    /// If the kernel's counts cannot be read.
    pub fn counts(&self) -> Result<Vec<GroupCounts>, Fault> {
        let count = |(group, before): &(Group, Counters)| {
            let waits = self.waits.as_ref().zip(id(group)).map(|(waits, id)| waits.of(id)).transpose()?;
            let counts = before.since(group);
            let refaults = counts.refaults.filter(|_| !self.shared);
            Ok(GroupCounts { waits: waits.flatten(), refaults, ..counts })
        };
        self.groups.iter().map(count).collect()
    }
}

/// Where the pages of a group are counted.
const MEMORY: &[(&str, &str)] = &[("", "memory.stat"), ("memory", "memory.stat")];

/// A group's id in version 2.
fn id(group: &Group) -> Option<u64> {
    Some(fs::metadata(group.dir("")?).ok()?.ino())
}

fn read(group: &Group, places: &[(&str, &str)]) -> Option<String> {
    fs::read_to_string(group.file(places)?).ok()
}
