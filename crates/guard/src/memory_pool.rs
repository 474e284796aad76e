//! The memory that background work shares with foreground work: of the nearest group above it that has a
//! limit, and else of the host.

use std::path::PathBuf;

use super::steady::Steady;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{keyed, number};

/// One of them, which some of the guarded groups are in.
#[derive(Debug)]
pub(super) struct MemoryPool {
    /// The directory of the group that has the limit; none for the host.
    dir: Option<PathBuf>,
    files: Files,
    /// Bytes that all but the guarded groups had when it was last read.
    foreground: Option<u64>,
}

/// Where it is read.
#[derive(Debug)]
enum Files {
    /// The group's usage, and its limit.
    Group(Steady, Steady),
    /// `/proc/meminfo`.
    Host(Steady),
}

/// What is known of a pool, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PoolReading {
    /// By how much foreground work has grown since it was last read.
    pub(super) growth: u64,
    pub(super) free: u64,
    pub(super) all: u64,
}

/// Foreground work that has a smaller part of a pool is not short of it: background work alone has filled it.
const PART: u64 = 64;

/// The files of usage and limit, of both versions, with v1's controller.
const FILES: [(&str, [&str; 2]); 2] =
    [("memory", ["memory.usage_in_bytes", "memory.limit_in_bytes"]), ("", ["memory.current", "memory.max"])];

impl MemoryPool {
    /// Those that these groups are in, each once; of those `known` before what is remembered stays.
    pub(super) fn all<'a>(groups: impl Iterator<Item = &'a Group>, mut known: Vec<Self>) -> Vec<Self> {
        let mut pools: Vec<Self> = Vec::new();
        for pool in groups.filter_map(MemoryPool::of) {
            if !pools.iter().any(|other| other.dir == pool.dir) {
                let before = known.iter().position(|known| known.dir == pool.dir);
                pools.push(before.map_or(pool, |at| known.swap_remove(at)));
            }
        }
        pools
    }

    /// The one that a group is in.
    fn of(group: &Group) -> Option<Self> {
        let pool = |dir, files| MemoryPool { dir, files, foreground: None };
        for (controller, [usage, limit]) in FILES {
            for above in group.dir(controller).into_iter().flat_map(|dir| dir.ancestors().skip(1)) {
                let open = |name: &str| Steady::open(&above.join(name));
                let Some((usage, mut limit)) = open(usage).zip(open(limit)) else { break };
                if limit.parsed(number).is_some() {
                    return Some(pool(Some(above.to_path_buf()), Files::Group(usage, limit)));
                }
            }
        }
        let host = Steady::open(std::path::Path::new("/proc/meminfo"));
        host.map(|file| pool(None, Files::Host(file)))
    }

    /// Whether the group's memory is of this pool.
    fn holds(&self, group: &Group) -> bool {
        let Some(pool) = &self.dir else { return true };
        FILES.iter().any(|(controller, _)| group.dir(controller).is_some_and(|dir| dir.starts_with(pool)))
    }

    /// What is known now, where the guarded groups in it have so many bytes; `None` where it has no limit any more, or
    /// foreground work has next to nothing there.
    fn read(&mut self, background: u64) -> Option<PoolReading> {
        let [used, all] = match &mut self.files {
            Files::Group(usage, limit) => [usage.parsed(number)?, limit.parsed(number)?],
            Files::Host(meminfo) => meminfo.parsed(|text| {
                let kib = |key: &str| keyed(text, key).map(|kib| kib << 10);
                let (total, free) = (kib("MemTotal")?, kib("MemFree")?);
                Some([total.saturating_sub(free), total])
            })?,
        };
        let foreground = used.saturating_sub(background);
        let growth =
            self.foreground.replace(foreground).map_or(0, |before| foreground.saturating_sub(before));
        (foreground >= all / PART).then_some(PoolReading { growth, free: all.saturating_sub(used), all })
    }
}

impl PoolReading {
    /// Of these pools the one of which the smallest part is free; `groups` are those that are guarded, with their bytes.
    pub(super) fn shortest<'a>(
        pools: &mut [MemoryPool],
        groups: impl Iterator<Item = (&'a Group, u64)> + Clone,
    ) -> Self {
        let read = |pool: &mut MemoryPool| {
            let inside = groups.clone().filter(|(group, _)| pool.holds(group));
            let background = inside.map(|(_, bytes)| bytes).sum();
            pool.read(background)
        };
        let share = |pool: &Self| pool.free as f64 / pool.all.max(1) as f64;
        let readings = pools.iter_mut().filter_map(read);
        let shortest = readings.min_by(|one, other| share(one).total_cmp(&share(other)));
        // Where there is none, nothing is short.
        shortest.unwrap_or(PoolReading { growth: 0, free: u64::MAX, all: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn each_limit_above_a_group_counts_once_and_else_the_host() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |group: &str, usage: &str, limit: &str| {
            let dir = folder.path().join(group);
            fs::create_dir_all(&dir).expect("makes");
            fs::write(dir.join("memory.current"), usage).expect("writes");
            fs::write(dir.join("memory.max"), limit).expect("writes");
            Group::new(BTreeMap::from([(String::new(), dir)]))
        };
        write("outer", "700\n", "1000\n");
        write("outer/middle", "600\n", "max\n");
        let inner = [write("outer/middle/one", "500\n", "550\n"), write("outer/middle/two", "9\n", "max\n")];
        let free = [write("free/one", "9\n", "max\n")];
        let groups = || inner.iter().chain(&free);
        let mut pools = MemoryPool::all(groups(), Vec::new());
        let [limited, host] = &mut pools[..] else { panic!("two, in the groups' order") };
        assert!(inner.iter().all(|group| limited.holds(group)) && !limited.holds(&free[0]));
        assert!(groups().all(|group| host.holds(group)));
        assert_eq!(limited.read(500), Some(PoolReading { growth: 0, free: 300, all: 1000 }));
        let of_host = host.read(0).expect("is there");
        assert!(of_host.free < of_host.all);
        assert_eq!(limited.read(700), None, "background work has all of it");
        assert_eq!(limited.read(500).map(|pool| pool.growth), Some(200), "of nothing");
        write("outer", "900\n", "1000\n");
        let mut again = MemoryPool::all(groups(), pools);
        assert_eq!(again[0].read(600), Some(PoolReading { growth: 100, free: 100, all: 1000 }), "200 to 300");
        write("outer", "1000\n", "1000\n");
        let shortest = PoolReading::shortest(&mut again, groups().zip([300, 300, 9]));
        assert_eq!(shortest, PoolReading { growth: 100, free: 0, all: 1000 }, "300 to 400");
        write("outer", "900\n", "max\n");
        assert_eq!(again[0].read(600), None);
        assert_eq!(MemoryPool::all(groups(), again).len(), 1, "the host");
    }
}
