//! What tasks of control groups wait for inside the kernel: reclaim and locks, by its tracepoints
//! (include/trace/events/vmscan.h, include/trace/events/lock.h).
//!
//! Pressure is for how long some task of a group waited for memory. This is how long all its tasks together took pages
//! away (reclaim), how many, and how long they were locked out by others. Who is locked out during reclaim counts in
//! both.

use aya::maps::{HashMap, MapData};
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use std::time::Duration;

use crate::object::{WAITS, WAITS_OBJECT, attach, failed_fault, load, map, map_mut};

/// The tracepoints.
const TRACEPOINTS: [&str; 6] = [
    "mm_vmscan_memcg_reclaim_begin",
    "mm_vmscan_memcg_reclaim_end",
    "mm_vmscan_direct_reclaim_begin",
    "mm_vmscan_direct_reclaim_end",
    "contention_begin",
    "contention_end",
];

/// What it needs: the kernel's types, Linux 5.19, and privileges.
pub fn need() -> Need {
    WAITS.need()
}

/// Waits of a group's tasks that ended. Times are added up over tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How long tasks took pages away, before they got one.
    pub reclaiming: Duration,
    /// Pages that were taken.
    pub reclaimed: u64,
    /// How often a lock was held by others.
    pub contended: u64,
    /// How long it was.
    pub locked_out: Duration,
}

/// `struct waits` of `bpf/waits.bpf.c`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct RawWaits {
    reclaiming: u64,
    reclaimed: u64,
    contended: u64,
    locked_out: u64,
}

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for RawWaits {}

/// Tracepoints that count the waits of groups, attached until this is dropped or the process ends.
pub struct WaitCounter {
    programs: Ebpf,
}

impl WaitCounter {
    /// Counts from now on what tasks of these groups wait for: not what those of groups below do. A group's id is
    /// the inode of its directory in version 2.
    ///
    /// # Errors
    /// An environment fault: [`need`] is missing, or the kernel refuses; more than 16,384 groups.
    pub fn attach(groups: &[u64]) -> Result<WaitCounter, Fault> {
        let (mut programs, types) = load(WAITS, WAITS_OBJECT, [])?;
        let mut counted: HashMap<&mut MapData, u64, RawWaits> = map_mut(&mut programs, "groups")?
            .try_into()
            .map_err(|e| failed_fault("use the map `groups`", &e))?;
        for group in groups {
            counted
                .insert(group, RawWaits::default(), 0)
                .map_err(|e| failed_fault("count the waits of a group", &e))?;
        }
        for tracepoint in TRACEPOINTS {
            attach(&mut programs, &types, tracepoint)?;
        }
        Ok(WaitCounter { programs })
    }

    /// The waits of a group so far; `None` for a group that does not count.
    ///
    /// # Errors
    /// An environment fault: the kernel's map cannot be read.
    pub fn of(&self, group: u64) -> Result<Option<Waits>, Fault> {
        let counted: HashMap<&MapData, u64, RawWaits> = map(&self.programs, "groups")?
            .try_into()
            .map_err(|e| failed_fault("use the map `groups`", &e))?;
        Ok(counted.get(&group, 0).ok().map(|raw| Waits {
            reclaiming: Duration::from_nanos(raw.reclaiming),
            reclaimed: raw.reclaimed,
            contended: raw.contended,
            locked_out: Duration::from_nanos(raw.locked_out),
        }))
    }
}
