//! What one group of background work uses: read only.

use std::time::Duration;

use super::steady::Steady;
use crosstalk_cgroup::exec::USAGE;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{PAGE, Pages, cpu_time, number, pages, pressure};

/// What a group has of memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryUse {
    /// Bytes.
    pub(super) bytes: u64,
    /// Pages that it has had to fetch again since it is there.
    pub(super) refaults: u64,
    /// Pages that it has taken since this was first read: new ones, and those that it fetched again.
    pub(super) taken: u64,
}

/// A file, and what it said last. That stays where the group is gone, until it is let go: else all of it would be
/// foreground work's at once.
#[derive(Debug)]
struct Last<T> {
    file: Option<Steady>,
    value: T,
}

impl<T: Copy + Default> Last<T> {
    fn of(group: &Group, places: &[(&str, &str)]) -> Self {
        Last { file: group.file(places).and_then(|path| Steady::open(&path)), value: T::default() }
    }

    fn read(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> T {
        let now = self.file.as_mut().and_then(|file| file.parsed(parse));
        self.value = now.unwrap_or(self.value);
        self.value
    }
}

/// The group's files.
#[derive(Debug)]
pub(super) struct Usage {
    cpu: Last<Duration>,
    bytes: Last<u64>,
    pages: Last<Option<Pages>>,
    taken: u64,
    memory_stall: Last<Duration>,
    device_stall: Last<Option<Duration>>,
}

impl Usage {
    /// Opens the files that the group has.
    pub(super) fn of(group: &Group) -> Self {
        Usage {
            cpu: Last::of(group, &USAGE),
            bytes: Last::of(group, &[("", "memory.current"), ("memory", "memory.usage_in_bytes")]),
            pages: Last::of(group, &[("", "memory.stat"), ("memory", "memory.stat")]),
            taken: 0,
            memory_stall: Last::of(group, &[("", "memory.pressure")]),
            device_stall: Last::of(group, &[("", "io.pressure")]),
        }
    }

    /// CPU time that it has used.
    pub(super) fn cpu(&mut self) -> Duration {
        self.cpu.read(cpu_time)
    }

    /// The same, as it was when it was last read.
    pub(super) fn last_cpu(&self) -> Duration {
        self.cpu.value
    }

    /// The memory that it has, and has taken.
    pub(super) fn memory(&mut self) -> MemoryUse {
        let (had, before) = (self.bytes.value, self.pages.value);
        let bytes = self.bytes.read(number);
        let now = self.pages.read(|text| Some(Some(pages(text))));
        // Nothing is known of what it took before it was first read.
        if let Some((now, before)) = now.zip(before) {
            self.taken += now.taken_since(&before, bytes.saturating_sub(had) / PAGE);
        }
        MemoryUse { bytes, refaults: now.map_or(0, |now| now.refaults), taken: self.taken }
    }

    /// How long some of it has waited for memory.
    pub(super) fn memory_stall(&mut self) -> Duration {
        self.memory_stall.read(pressure)
    }

    /// The same for devices, where the kernel accounts for it.
    pub(super) fn device_stall(&mut self) -> Option<Duration> {
        self.device_stall.read(|text| Some(Some(pressure(text)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    /// A group of v2 whose files say so.
    fn group(dir: &Path, files: &[(&str, &str)]) -> Group {
        for (name, text) in files {
            fs::write(dir.join(name), text).expect("writes");
        }
        Group::new(BTreeMap::from([(String::new(), dir.to_path_buf())]))
    }

    #[test]
    fn pages_are_taken_where_it_grows_and_where_its_own_are_taken_meanwhile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path();
        let stat = |stolen: u64| format!("workingset_refault_file 5\npgsteal {stolen}\n");
        let set = |bytes: u64, stolen: u64| {
            fs::write(dir.join("memory.current"), format!("{bytes}\n")).expect("writes");
            fs::write(dir.join("memory.stat"), stat(stolen)).expect("writes");
        };
        let group = group(dir, &[("memory.current", "4096000\n"), ("memory.stat", &stat(100))]);
        let mut usage = Usage::of(&group);
        assert_eq!(usage.memory().taken, 0, "nobody knows what was before");
        set(2 * 4096 * 1000, 100);
        assert_eq!(usage.memory().taken, 1000, "it has grown");
        set(2 * 4096 * 1000, 300);
        assert_eq!(usage.memory().taken, 1200, "it has had others for those that were taken");
        set(4096 * 1000, 300);
        assert_eq!(usage.memory().taken, 1200, "it gives some back");
    }

    #[test]
    fn what_it_used_stays_known_when_its_files_are_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let group = group(folder.path(), &[("cpu.stat", "usage_usec 5000000\n")]);
        let mut usage = Usage::of(&group);
        assert_eq!(usage.cpu(), Duration::from_secs(5));
        fs::write(folder.path().join("cpu.stat"), "").expect("writes");
        assert_eq!(usage.cpu(), Duration::from_secs(5));
        assert_eq!(usage.device_stall(), None);
    }
}
