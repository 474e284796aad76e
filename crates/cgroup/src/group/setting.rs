//! What can be set of a group, and into which file that goes in each version.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`; `cgroup-v1/{cpusets,memory,freezer-subsystem,
//! blkio-controller}.rst`; `Documentation/scheduler/sched-design-CFS.rst` (cpu.shares),
//! `Documentation/scheduler/sched-bwc.rst` (quota).

use crosstalk_core::units::Bytes;

/// Microseconds in which a quota is counted.
const PERIOD: f64 = 100_000.0;

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Whether the group runs only where no sibling wants to (Linux 5.15).
    Idle(bool),
    /// Its share of contended CPU time beside its siblings: 1 to 10,000, 100 by default.
    Weight(u32),
    /// Processors' time that it may use at most, in processors.
    Quota(Option<f64>),
    /// The processors that it may run on, as the kernel writes them (`0-1,4`).
    Cores(String),
    /// Memory that it never goes beyond: what needs more is killed.
    MemoryMax(Option<Bytes>),
    /// Memory that is never taken from it (v2).
    MemoryMin(Option<Bytes>),
    /// Memory that is taken from it only if nothing unprotected is left (v2).
    MemoryLow(Option<Bytes>),
    /// Memory from which it is slowed down, and its pages are taken (v2).
    MemoryHigh(Option<Bytes>),
    /// Whether the kernel ends it as a whole when memory is full (v2).
    EndWhole(bool),
    /// How many processes and threads it may have; `None`: any number.
    Processes(Option<u64>),
    /// Bytes that it reads a second at most, from the disk of this number (major and minor); `None`: as many as it
    /// can. On v1 it counts for this group alone, and not with those below.
    ReadRate {
        /// The disk: not one of its partitions.
        disk: (u32, u32),
        /// Bytes a second.
        rate: Option<Bytes>,
    },
    /// Its share of a contended device beside its siblings: 1 to 1,000, 100 by default.
    IoWeight(u32),
    /// Whether it is paused.
    Frozen(bool),
}

/// A file of a group: which controller's (of v1; empty for v2), and its name.
pub(super) type Place = (&'static str, &'static str);

impl Setting {
    /// The files that take it, the best first.
    pub(super) fn places(&self) -> &'static [Place] {
        match self {
            Setting::Idle(_) => &[("", "cpu.idle"), ("cpu", "cpu.idle")],
            Setting::Weight(_) => &[("", "cpu.weight"), ("cpu", "cpu.shares")],
            Setting::Quota(_) => &[("", "cpu.max"), ("cpu", "cpu.cfs_quota_us")],
            Setting::Cores(_) => &[("", "cpuset.cpus"), ("cpuset", "cpuset.cpus")],
            Setting::MemoryMax(_) => &[("", "memory.max"), ("memory", "memory.limit_in_bytes")],
            Setting::MemoryMin(_) => &[("", "memory.min")],
            Setting::MemoryHigh(_) => &[("", "memory.high")],
            Setting::MemoryLow(_) => &[("", "memory.low")],
            Setting::EndWhole(_) => &[("", "memory.oom.group")],
            Setting::Processes(_) => &[("", "pids.max"), ("pids", "pids.max")],
            Setting::ReadRate { .. } => &[("", "io.max"), ("blkio", "blkio.throttle.read_bps_device")],
            Setting::IoWeight(_) => &[
                ("", "io.weight"),
                ("", "io.bfq.weight"),
                ("blkio", "blkio.bfq.weight"),
                ("blkio", "blkio.weight"),
            ],
            Setting::Frozen(_) => &[("", "cgroup.freeze"), ("freezer", "freezer.state")],
        }
    }

    /// What is written into a file of that name.
    pub(super) fn text(&self, file: &str) -> String {
        let or = |bytes: &Option<Bytes>, none: &str| bytes.map_or(none.into(), |bytes| bytes.0.to_string());
        match self {
            Setting::Idle(idle) => u8::from(*idle).to_string(),
            // 1,024 shares are what a weight of 100 is; the kernel takes no less than 2.
            Setting::Weight(weight) if file == "cpu.shares" => {
                (u64::from(*weight) * 1024 / 100).max(2).to_string()
            }
            Setting::Weight(weight) => (*weight).clamp(1, 10_000).to_string(),
            Setting::Quota(quota) => {
                // No less than a millisecond (sched-bwc.rst).
                let quota = quota.map(|cores| (cores * PERIOD).max(1000.0).round());
                match (file, quota) {
                    ("cpu.max", Some(quota)) => format!("{quota} {PERIOD}"),
                    ("cpu.max", None) => format!("max {PERIOD}"),
                    (_, Some(quota)) => quota.to_string(),
                    (_, None) => "-1".into(),
                }
            }
            Setting::EndWhole(whole) => u8::from(*whole).to_string(),
            Setting::Cores(cores) => cores.clone(),
            Setting::Processes(most) => most.map_or("max".into(), |most| most.to_string()),
            Setting::ReadRate { disk: (major, minor), rate } => match file {
                "io.max" => format!("{major}:{minor} rbps={}", or(rate, "max")),
                _ => format!("{major}:{minor} {}", or(rate, "0")),
            },
            Setting::MemoryMax(bytes) if file == "memory.limit_in_bytes" => or(bytes, "-1"),
            Setting::MemoryMax(bytes) | Setting::MemoryHigh(bytes) => or(bytes, "max"),
            Setting::MemoryMin(bytes) | Setting::MemoryLow(bytes) => or(bytes, "0"),
            // v1's least is 10.
            Setting::IoWeight(weight) if file == "blkio.weight" => (*weight).clamp(10, 1000).to_string(),
            Setting::IoWeight(weight) => (*weight).clamp(1, 1000).to_string(),
            Setting::Frozen(true) if file == "freezer.state" => "FROZEN".into(),
            Setting::Frozen(false) if file == "freezer.state" => "THAWED".into(),
            Setting::Frozen(frozen) => u8::from(*frozen).to_string(),
        }
    }

    /// Whether it is the same limit of time or memory, and a smaller one.
    pub(super) fn is_below(&self, other: &Setting) -> bool {
        match (self, other) {
            (Setting::Quota(Some(cores)), Setting::Quota(Some(other))) => cores < other,
            (Setting::MemoryMax(Some(bytes)), Setting::MemoryMax(Some(other))) => bytes.0 < other.0,
            _ => false,
        }
    }

    /// What it is, for people.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Setting::Idle(_) => "the idle class",
            Setting::Weight(_) => "a CPU weight",
            Setting::Quota(_) => "a CPU quota",
            Setting::Cores(_) => "a choice of processors",
            Setting::MemoryMax(_) => "a memory limit",
            Setting::MemoryMin(_) | Setting::MemoryLow(_) => "memory protection",
            Setting::MemoryHigh(_) => "a soft memory limit",
            Setting::EndWhole(_) => "ending as a whole",
            Setting::Processes(_) => "a limit of processes",
            Setting::ReadRate { .. } => "a read rate",
            Setting::IoWeight(_) => "an I/O weight",
            Setting::Frozen(_) => "freezing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_words() {
        let cases = [
            (Setting::Weight(1), "cpu.weight", "1"),
            (Setting::Weight(1), "cpu.shares", "10"),
            (Setting::Weight(100), "cpu.shares", "1024"),
            (Setting::Quota(Some(1.5)), "cpu.max", "150000 100000"),
            (Setting::Quota(None), "cpu.max", "max 100000"),
            (Setting::Quota(Some(0.0001)), "cpu.cfs_quota_us", "1000"),
            (Setting::Quota(None), "cpu.cfs_quota_us", "-1"),
            (Setting::MemoryMax(Some(Bytes(7))), "memory.max", "7"),
            (Setting::MemoryMax(None), "memory.max", "max"),
            (Setting::MemoryMax(None), "memory.limit_in_bytes", "-1"),
            (Setting::MemoryMin(Some(Bytes(7))), "memory.min", "7"),
            (Setting::MemoryLow(None), "memory.low", "0"),
            (Setting::Processes(Some(64)), "pids.max", "64"),
            (Setting::Processes(None), "pids.max", "max"),
            (Setting::IoWeight(1), "blkio.weight", "10"),
            (Setting::ReadRate { disk: (8, 16), rate: Some(Bytes(7)) }, "io.max", "8:16 rbps=7"),
            (Setting::ReadRate { disk: (8, 16), rate: None }, "io.max", "8:16 rbps=max"),
            (Setting::ReadRate { disk: (8, 0), rate: None }, "blkio.throttle.read_bps_device", "8:0 0"),
            (Setting::Frozen(true), "freezer.state", "FROZEN"),
            (Setting::Frozen(true), "cgroup.freeze", "1"),
            (Setting::Idle(true), "cpu.idle", "1"),
        ];
        for (setting, file, text) in cases {
            assert_eq!(setting.text(file), text, "{setting:?} in {file}");
            assert!(setting.places().iter().any(|(_, name)| *name == file), "{setting:?} goes into {file}");
        }
    }
}
