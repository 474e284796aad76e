//! What the kernel counts for a group: CPU time, memory, refaults, waits, processes.
//!
//! The *working set* is what Kubernetes' tools call so: charged memory without file pages that were not used lately.
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/{memory,pids}.rst`, `Documentation/accounting/psi.rst`.

use std::fs;
use std::time::Duration;

use crosstalk_cgroup::exec::USAGE;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::{cpu_time, inactive_file, keyed, number, oom_kills, pages, pressure};
use crosstalk_core::units::Bytes;
use serde::Serialize;

use crate::dispatches::Dispatches;

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
    /// How often its threads got a processor, and how long they waited for it, since each began.
    pub dispatches: Dispatches,
    /// Processes in it.
    pub processes: usize,
    /// Its threads, which `--processes` limits.
    pub threads: Option<Threads>,
    /// Processes that were killed because memory was full, since the group was made.
    pub oom_kills: Option<u64>,
}

/// The threads of a group, each process's first one included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Threads {
    /// How many there are.
    pub count: u64,
    /// How many there may be: the group's own limit.
    pub limit: Option<u64>,
    /// Starts of processes and threads that a limit refused since the group was made. v1 counts those in the group
    /// itself, v2 those by the group's own limit.
    pub refused: u64,
}

impl Threads {
    /// Reads them; `None` where no controller counts them.
    pub(crate) fn read(group: &Group) -> Option<Threads> {
        let read = |name| fs::read_to_string(group.file(&[("pids", name), ("", name)])?).ok();
        Some(Threads {
            count: number(&read("pids.current")?)?,
            limit: read("pids.max").and_then(|text| number(&text)),
            refused: read("pids.events").and_then(|text| keyed(&text, "max")).unwrap_or(0),
        })
    }
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
    /// Seconds that a thread which was ready waited until it got a processor: the mean of all times that one got it.
    pub delay: Option<f64>,
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
        let processes = group.processes_in_any_tree();
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
            dispatches: Dispatches::read(&processes),
            processes: processes.len(),
            threads: Threads::read(group),
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
            delay: self.dispatches.delay_since(&before.dispatches).map(|delay| delay.as_secs_f64()),
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
                ("cgroup.procs", "4194301\n4194302\n"),
                ("pids.current", "5\n"),
                ("pids.max", "6\n"),
                ("pids.events", "max 17\n"),
            ],
        )]);
        let expected = Numbers {
            cpu: Some(Duration::from_secs(2)),
            memory: Some(Bytes(8192)),
            limit: None,
            working_set: Some(Bytes(4096)),
            refaults: Some(3),
            waits: Waits { cpu: None, memory: Some(Duration::from_millis(500)), io: None },
            dispatches: Dispatches::default(),
            processes: 2,
            threads: Some(Threads { count: 5, limit: Some(6), refused: 17 }),
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
            ("pids", &[("pids.current", "2\n"), ("pids.max", "max\n"), ("pids.events", "max 0\n")]),
        ]);
        let numbers = Numbers::read(&group);
        assert_eq!((numbers.cpu, numbers.oom_kills), (Some(Duration::from_millis(1500)), Some(4)));
        assert_eq!(
            (numbers.limit, numbers.working_set),
            (Some(Bytes(4096)), Some(Bytes(0))),
            "read at two times"
        );
        assert_eq!(numbers.threads, Some(Threads { count: 2, limit: None, refused: 0 }));
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
