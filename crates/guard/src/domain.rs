//! The memory that background work shares with foreground work: of the nearest group above it that has a
//! limit, and else of the host.

use crosstalk_core::units::Bytes;

use super::steady::Steady;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{keyed, number};

/// Where it is read.
#[derive(Debug)]
pub(super) enum Domain {
    /// The group's usage, and its limit.
    Group(Steady, Steady),
    /// `/proc/meminfo`.
    Host(Steady),
}

/// The files of usage and limit, of both versions, with v1's controller.
const FILES: [(&str, [&str; 2]); 2] =
    [("memory", ["memory.usage_in_bytes", "memory.limit_in_bytes"]), ("", ["memory.current", "memory.max"])];

impl Domain {
    /// The one that a group is in.
    pub(super) fn of(group: &Group) -> Option<Self> {
        for (controller, [usage, limit]) in FILES {
            for above in group.dir(controller).into_iter().flat_map(|dir| dir.ancestors().skip(1)) {
                let open = |name: &str| Steady::open(&above.join(name));
                let Some((usage, mut limit)) = open(usage).zip(open(limit)) else { break };
                if limit.told(number).is_some() {
                    return Some(Domain::Group(usage, limit));
                }
            }
        }
        Steady::open(std::path::Path::new("/proc/meminfo")).map(Domain::Host)
    }

    /// What all in it have, what can be had without harm, and what there is.
    pub(super) fn look(&mut self) -> Option<[Bytes; 3]> {
        match self {
            Domain::Group(usage, limit) => {
                let (used, all) = (usage.told(number)?, limit.told(number)?);
                Some([used, all.saturating_sub(used), all].map(Bytes))
            }
            Domain::Host(meminfo) => meminfo.told(|text| {
                let kib = |key: &str| keyed(text, key).map(|kib| kib << 10);
                let (total, free) = (kib("MemTotal")?, kib("MemFree")?);
                // A host's memory is full of files that nobody needs any more.
                let available = kib("MemAvailable").unwrap_or(free);
                Some([total.saturating_sub(free), available, total].map(Bytes))
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
        let mut domain = Domain::of(&group).expect("is there");
        assert_eq!(domain.look(), Some([700, 300, 1000].map(Bytes)));
        write("outer", "700\n", "max\n");
        let mut host = Domain::of(&group).expect("is there");
        let [used, available, all] = host.look().expect("tells");
        assert!(matches!(host, Domain::Host(_)) && used.0 > 0 && used <= all && available <= all);
    }
}
