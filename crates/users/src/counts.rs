//! What the kernel counts for a group of users.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `Documentation/accounting/psi.rst`.

use std::fs;

use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{Pages, number, pages, pressure};
use crosstalk_core::units::Bytes;
use serde::Serialize;

/// What was counted for a group during an attempt; `None` where the kernel does not count it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GroupCounts {
    /// Pages that were reclaimed and needed again.
    pub refaults: Option<u64>,
    /// Pages that were taken from it; v1 does not count them.
    pub reclaimed: Option<u64>,
    /// Seconds in which some task waited for memory (PSI).
    pub memory_wait: Option<f64>,
    /// Seconds in which some task waited for devices (PSI).
    pub io_wait: Option<f64>,
    /// The most memory that was ever charged to it.
    pub peak: Option<Bytes>,
}

/// A group's counters at a time.
pub struct Counters {
    pages: Option<Pages>,
    memory_wait: Option<f64>,
    io_wait: Option<f64>,
}

impl Counters {
    /// Reads them.
    pub fn read(group: &Group) -> Self {
        let wait = |file| Some(pressure(&read(group, &[("", file)])?)?.as_secs_f64());
        Counters {
            pages: read(group, &[("", "memory.stat"), ("memory", "memory.stat")]).map(|text| pages(&text)),
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
            memory_wait: difference(self.memory_wait, now.memory_wait),
            io_wait: difference(self.io_wait, now.io_wait),
            peak: read(group, &[("", "memory.peak"), ("memory", "memory.max_usage_in_bytes")])
                .and_then(|text| number(&text))
                .map(Bytes),
        }
    }
}

fn read(group: &Group, places: &[(&str, &str)]) -> Option<String> {
    fs::read_to_string(group.file(places)?).ok()
}
