//! What the kernel counts for a group: CPU time, memory, refaults, waits, processes.
//!
//! The *working set* is what Kubernetes' tools call so: charged memory without file pages that were not used lately.
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `Documentation/accounting/psi.rst`.

use std::fs;
use std::time::Duration;

use crosstalk_cgroup::exec::USAGE;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{cpu_time, inactive_file, number, oom_kills, pages, pressure};
use crosstalk_core::units::Bytes;
use serde::Serialize;

/// What was counted until now; `None` where the kernel does not count it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Numbers {
    /// CPU time since the group was made.
    pub cpu: Option<Duration>,
    /// Memory that is charged to it.
    pub memory: Option<Bytes>,
    /// Its own limit.
    pub limit: Option<Bytes>,
    /// Memory that it uses.
    pub working_set: Option<Bytes>,
    /// Pages that had been pushed out and were needed again, since the group was made.
    pub refaults: Option<u64>,
    /// How long some task waited for the CPU, for memory and for devices, since the group was made.
    pub waits: Waits<Option<Duration>>,
    /// Processes in it.
    pub processes: usize,
    /// Processes that were killed because memory was full, since the group was made.
    pub oom_kills: Option<u64>,
}

/// One value for each resource that tasks wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Waits<T> {
    /// The CPU.
    pub cpu: T,
    /// Memory.
    pub memory: T,
    /// Devices.
    pub io: T,
}

/// What was counted over a time, a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rates {
    /// CPU time, in processors.
    pub processors: Option<f64>,
    /// Refaults a second.
    pub refaults: Option<f64>,
    /// Shares of the time in which some task waited.
    pub waits: Waits<Option<f64>>,
}

/// A group's own memory limit.
pub fn limit(group: &Group) -> Option<Bytes> {
    let file = group.file(&[("memory", "memory.limit_in_bytes"), ("", "memory.max")])?;
    number(&fs::read_to_string(file).ok()?).map(Bytes)
}

impl Numbers {
    /// Reads them.
    pub fn read(group: &Group) -> Numbers {
        let read = |places: &[(&str, &str)]| fs::read_to_string(group.file(places)?).ok();
        let memory = group.charged();
        let stat = read(&[("memory", "memory.stat"), ("", "memory.stat")]);
        let inactive = stat.as_deref().and_then(inactive_file);
        let wait = |file| pressure(&read(&[("", file)])?);
        Numbers {
            cpu: read(&USAGE).and_then(|text| cpu_time(&text)),
            memory,
            limit: limit(group),
            working_set: memory
                .zip(inactive)
                .map(|(memory, inactive)| Bytes(memory.0.saturating_sub(inactive))),
            refaults: stat.as_deref().map(|text| pages(text).refaults),
            waits: Waits {
                cpu: wait("cpu.pressure"),
                memory: wait("memory.pressure"),
                io: wait("io.pressure"),
            },
            processes: group.processes_in_any_tree().len(),
            oom_kills: read(&[("memory", "memory.oom_control"), ("", "memory.events")])
                .and_then(|text| oom_kills(&text)),
        }
    }

    /// What was counted since `before`, over that time.
    pub fn since(&self, before: &Numbers, time: Duration) -> Rates {
        let seconds = time.as_secs_f64();
        let rate = |now: f64, before: f64| (seconds > 0.0).then(|| (now - before).max(0.0) / seconds);
        let share =
            |now: Option<Duration>, before: Option<Duration>| rate(now?.as_secs_f64(), before?.as_secs_f64());
        let waits = |of: fn(&Waits<Option<Duration>>) -> Option<Duration>| {
            share(of(&self.waits), of(&before.waits)).map(|share| share.min(1.0))
        };
        Rates {
            processors: share(self.cpu, before.cpu),
            refaults: self
                .refaults
                .zip(before.refaults)
                .and_then(|(now, before)| rate(now as f64, before as f64)),
            waits: Waits { cpu: waits(|w| w.cpu), memory: waits(|w| w.memory), io: waits(|w| w.io) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn pretended(trees: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut dirs = BTreeMap::new();
        for (tree, files) in trees {
            let dir = folder.path().join(format!("tree-{tree}"));
            fs::create_dir(&dir).expect("makes");
            files.iter().for_each(|(file, text)| fs::write(dir.join(file), text).expect("writes"));
            dirs.insert((*tree).to_string(), dir);
        }
        (folder, Group::new(dirs))
    }

    #[test]
    fn numbers_of_v2_are_read() {
        let (_folder, group) = pretended(&[(
            "",
            &[
                ("cpu.stat", "usage_usec 2000000\n"),
                ("memory.current", "8192\n"),
                ("memory.max", "max\n"),
                ("memory.stat", "inactive_file 4096\nworkingset_refault_anon 1\nworkingset_refault_file 2\n"),
                ("memory.events", "oom 2\noom_kill 1\n"),
                ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"),
                ("cgroup.procs", "7\n8\n"),
            ],
        )]);
        let expected = Numbers {
            cpu: Some(Duration::from_secs(2)),
            memory: Some(Bytes(8192)),
            limit: None,
            working_set: Some(Bytes(4096)),
            refaults: Some(3),
            waits: Waits { cpu: None, memory: Some(Duration::from_millis(500)), io: None },
            processes: 2,
            oom_kills: Some(1),
        };
        assert_eq!(Numbers::read(&group), expected);
    }

    #[test]
    fn numbers_of_v1_are_read() {
        let (_folder, group) = pretended(&[
            ("cpuacct", &[("cpuacct.usage", "1500000000\n")]),
            (
                "memory",
                &[
                    ("memory.usage_in_bytes", "100\n"),
                    ("memory.limit_in_bytes", "4096\n"),
                    ("memory.stat", "total_inactive_file 300\n"),
                    ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"),
                ],
            ),
        ]);
        let numbers = Numbers::read(&group);
        assert_eq!((numbers.cpu, numbers.oom_kills), (Some(Duration::from_millis(1500)), Some(4)));
        assert_eq!(
            (numbers.limit, numbers.working_set),
            (Some(Bytes(4096)), Some(Bytes(0))),
            "read at two times"
        );
    }

    #[test]
    fn a_group_that_is_gone_has_no_numbers() {
        let group = Group::new(BTreeMap::from([(String::new(), "/no/such/group".into())]));
        assert_eq!(Numbers::read(&group), Numbers::default());
    }

    #[test]
    fn rates_are_differences_over_the_time() {
        let numbers = |cpu: u64, refaults, wait| Numbers {
            cpu: Some(Duration::from_millis(cpu)),
            refaults,
            waits: Waits { memory: Some(Duration::from_millis(wait)), ..Waits::default() },
            ..Numbers::default()
        };
        let (before, after) = (numbers(1000, Some(10), 0), numbers(1750, Some(20), 250));
        let rates = after.since(&before, Duration::from_millis(500));
        assert_eq!((rates.processors, rates.refaults), (Some(1.5), Some(20.0)));
        assert_eq!((rates.waits.memory, rates.waits.cpu), (Some(0.5), None));
        assert_eq!(before.since(&after, Duration::from_secs(1)).processors, Some(0.0), "it was made anew");
        assert_eq!(after.since(&before, Duration::ZERO).processors, None);
    }
}
