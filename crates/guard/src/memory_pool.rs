//! The memory that background work shares with foreground work: of the nearest group above it that has a
//! limit, and else of the host.

use super::steady::Steady;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{keyed, number};

/// Where it is read.
#[derive(Debug)]
pub(super) enum MemoryPool {
    /// The group's usage, and its limit.
    Group(Steady, Steady),
    /// `/proc/meminfo`.
    Host(Steady),
}

/// The files of usage and limit, of both versions, with v1's controller.
const FILES: [(&str, [&str; 2]); 2] =
    [("memory", ["memory.usage_in_bytes", "memory.limit_in_bytes"]), ("", ["memory.current", "memory.max"])];

impl MemoryPool {
    /// The one that a group is in.
    pub(super) fn of(group: &Group) -> Option<Self> {
        for (controller, [usage, limit]) in FILES {
            for above in group.dir(controller).into_iter().flat_map(|dir| dir.ancestors().skip(1)) {
                let open = |name: &str| Steady::open(&above.join(name));
                let Some((usage, mut limit)) = open(usage).zip(open(limit)) else { break };
                if limit.parsed(number).is_some() {
                    return Some(MemoryPool::Group(usage, limit));
                }
            }
        }
        Steady::open(std::path::Path::new("/proc/meminfo")).map(MemoryPool::Host)
    }

    /// Bytes that all in it have, and that there are.
    pub(super) fn read(&mut self) -> Option<[u64; 2]> {
        match self {
            MemoryPool::Group(usage, limit) => Some([usage.parsed(number)?, limit.parsed(number)?]),
            MemoryPool::Host(meminfo) => meminfo.parsed(|text| {
                let kib = |key: &str| keyed(text, key).map(|kib| kib << 10);
                let (total, free) = (kib("MemTotal")?, kib("MemFree")?);
                Some([total.saturating_sub(free), total])
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn the_nearest_limit_above_counts_and_else_the_host() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let inner = folder.path().join("outer/middle/inner");
        fs::create_dir_all(&inner).expect("makes");
        let write = |group: &str, usage: &str, limit: &str| {
            let dir = folder.path().join(group);
            fs::write(dir.join("memory.current"), usage).expect("writes");
            fs::write(dir.join("memory.max"), limit).expect("writes");
        };
        write("outer", "700\n", "1000\n");
        write("outer/middle", "600\n", "max\n");
        write("outer/middle/inner", "500\n", "550\n");
        let group = Group::new(BTreeMap::from([(String::new(), inner)]));
        let mut pool = MemoryPool::of(&group).expect("is there");
        assert_eq!(pool.read(), Some([700, 1000]));
        write("outer", "700\n", "max\n");
        let mut host = MemoryPool::of(&group).expect("is there");
        let [used, all] = host.read().expect("is there");
        assert!(matches!(host, MemoryPool::Host(_)) && used > 0 && used <= all);
    }
}
