//! What one group of background work uses: read only.

use std::time::Duration;

use super::steady::Steady;
use crosstalk_cgroup::exec::USAGE;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{PAGE, Pages, cpu_time, number, pages, pressure};

/// The files of memory that it has: v2's, and v1's with its controller.
const MEMORY: [(&str, &str); 2] = [("", "memory.current"), ("memory", "memory.usage_in_bytes")];

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

/// The group's files, and the last that they said. That stays where the group is gone, until it is let go: else all of
/// it would be foreground work's at once.
#[derive(Debug)]
pub(super) struct Usage {
    files: Files,
    cpu: Duration,
    memory: MemoryUse,
    pages: Option<Pages>,
    memory_stall: Duration,
    device_stall: Option<Duration>,
}

#[derive(Debug)]
struct Files {
    cpu: Option<Steady>,
    memory: Option<Steady>,
    pages: Option<Steady>,
    memory_pressure: Option<Steady>,
    device_pressure: Option<Steady>,
}

impl Usage {
    /// Opens the files that the group has.
    pub(super) fn of(group: &Group) -> Self {
        let open = |places: &[(&str, &str)]| group.file(places).and_then(|path: _| Steady::open(&path));
        let files = Files {
            cpu: open(&USAGE),
            memory: open(&MEMORY),
            pages: open(&[("", "memory.stat"), ("memory", "memory.stat")]),
            memory_pressure: open(&[("", "memory.pressure")]),
            device_pressure: open(&[("", "io.pressure")]),
        };
        Usage {
            files,
            cpu: Duration::ZERO,
            memory: MemoryUse::default(),
            pages: None,
            memory_stall: Duration::ZERO,
            device_stall: None,
        }
    }

    /// CPU time that it has used.
    pub(super) fn cpu(&mut self) -> Duration {
        self.cpu = read(&mut self.files.cpu, cpu_time).unwrap_or(self.cpu);
        self.cpu
    }

    /// The memory that it has, and has taken.
    pub(super) fn memory(&mut self) -> MemoryUse {
        let bytes = read(&mut self.files.memory, number).unwrap_or(self.memory.bytes);
        let grown = bytes.saturating_sub(self.memory.bytes) / PAGE;
        self.memory.bytes = bytes;
        if let Some(now) = read(&mut self.files.pages, |text| Some(pages(text))) {
            let before = self.pages.replace(now);
            self.memory.refaults = now.refaults;
            // Nothing is known of what it took before it was first read.
            self.memory.taken += before.map_or(0, |before| now.taken_since(&before, grown));
        }
        self.memory
    }

    /// How long some of it has waited for memory.
    pub(super) fn memory_stall(&mut self) -> Duration {
        self.memory_stall = stall(&mut self.files.memory_pressure).unwrap_or(self.memory_stall);
        self.memory_stall
    }

    /// The same for devices, where the kernel accounts for it.
    pub(super) fn device_stall(&mut self) -> Option<Duration> {
        self.device_stall = stall(&mut self.files.device_pressure).or(self.device_stall);
        self.device_stall
    }
}

fn read<T>(file: &mut Option<Steady>, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    file.as_mut()?.parsed(parse)
}

fn stall(file: &mut Option<Steady>) -> Option<Duration> {
    read(file, pressure)
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
