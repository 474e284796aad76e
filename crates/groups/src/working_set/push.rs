//! Pushing pages out of a group, with what disturbs least on this host, and what it has.
//!
//! | | how |
//! |---|---|
//! | v2, Linux 5.19 | `memory.reclaim`: nothing is set |
//! | v2 | `memory.high` for the time of a write: nobody is killed |
//! | v1 | `memory.limit_in_bytes` for the time of a write: the kernel takes pages before the limit holds, and refuses it otherwise |
//!
//! A limit is listed in the undo ledger with a lease. It is put back right after it was set, so that whoever needs
//! memory meanwhile waits for milliseconds.
//!
//! Sources: `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `mm/memcontrol-v1.c` (mem_cgroup_resize_max).

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use crosstalk_cgroup::group::reading::{PAGE, pages, pressure, takeable};
use crosstalk_cgroup::group::{Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;

use super::estimate::Holding;

/// What was counted until now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// What the group has.
    pub holding: Holding,
    /// Bytes that had been pushed out and came back, since the group was made.
    pub back: u64,
    /// Seconds in which some task waited for memory, since the group was made; 0 where they are not counted.
    pub waited: f64,
}

/// Counts. `swaps`: whether anonymous memory can be taken, too.
///
/// # Errors
/// If the group has no memory controller, or is gone.
pub fn count(group: &Group, swaps: bool) -> Result<Count, Fault> {
    let read = |places: &[(&str, &str)]| fs::read_to_string(group.file(places)?).ok();
    let stat = read(&[("memory", "memory.stat"), ("", "memory.stat")]);
    let (memory, stat) = group.charged().zip(stat).ok_or_else(uncounted)?;
    let waited = read(&[("", "memory.pressure")]).and_then(|text| pressure(&text));
    Ok(Count {
        holding: Holding { memory: memory.0, takeable: takeable(&stat, swaps).min(memory.0) },
        back: pages(&stat).refaults * PAGE,
        waited: waited.map_or(0.0, |time| time.as_secs_f64()),
    })
}

/// How pages are pushed out of a group.
#[derive(Debug)]
pub struct Pusher<'a> {
    group: &'a Group,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// The file that takes a number of bytes.
    Reclaim(PathBuf),
    /// The limit of this kind, by its bytes.
    Limit(fn(Option<Bytes>) -> Setting),
}

impl<'a> Pusher<'a> {
    /// Finds how.
    ///
    /// # Errors
    /// If the group does not offer it, or this user may not.
    pub fn new(group: &'a Group) -> Result<Self, Fault> {
        let (way, file) = if let Some(file) = group.file(&[("", "memory.reclaim")]) {
            (Way::Reclaim(file.clone()), Some(file))
        } else {
            let limit = if group.dir("memory").is_some() { Setting::MemoryMax } else { Setting::MemoryHigh };
            (Way::Limit(limit), group.place(&limit(None)))
        };
        let file = file.ok_or_else(uncounted)?;
        OpenOptions::new().write(true).open(&file).map_err(|e| {
            let fault = Fault::environment(format!("cannot push pages out: {e}"));
            fault.at(file.display().to_string()).remedy("run it as root")
        })?;
        Ok(Pusher { group, way })
    }

    /// Pushes out so many bytes, or as many as the kernel finds. Returns how many: also those that have come back
    /// already.
    ///
    /// # Errors
    /// If the ledger cannot be written, or the group is gone.
    pub fn push(&self, bytes: u64, ledger: &Ledger) -> Result<u64, Fault> {
        let now = || count(self.group, false).map(|count| (count.holding.memory, count.back));
        let (before, back_before) = now()?;
        match &self.way {
            // It fails if it finds less.
            Way::Reclaim(file) => drop(fs::write(file, bytes.to_string())),
            Way::Limit(limit) => {
                ledger.renew()?;
                let setting = limit(Some(Bytes(before.saturating_sub(bytes))));
                let mut knob = self.group.leased(&setting, ledger)?;
                // It fails if it finds less.
                let _ = knob.set(&setting);
                knob.reset()?;
            }
        }
        let (after, back_after) = now()?;
        Ok((before + back_after.saturating_sub(back_before)).saturating_sub(after))
    }
}

fn uncounted() -> Fault {
    Fault::environment("its memory is not counted: it is gone, or has no memory controller")
        .remedy("see which groups exist: crosstalk groups list")
}
