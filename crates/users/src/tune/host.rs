//! What this host offers to users: memory, counters, and limits of what they read.

use std::fs;
use std::path::PathBuf;

use crosstalk_cgroup::group::reading::keyed;
use crosstalk_cgroup::group::{Group, Hierarchy, Tree, memory_limit};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_observe::waits::{self, WaitCounter};

/// The host's memory in bytes, or what limits this process.
///
/// # Errors
/// An environment fault if the kernel does not say.
pub fn memory_of_host() -> Result<Bytes, Fault> {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = keyed(&text, "MemTotal").map(|kib| Bytes(kib * 1024));
    let limit = memory_limit(&Group::standing(&Hierarchy::here()));
    total.into_iter().chain(limit).min().ok_or_else(|| {
        Fault::environment("the host's memory is not known").at("/proc/meminfo").remedy("name it by --memory")
    })
}

/// Why waiting for locks cannot be counted here; `None` if it can.
pub fn lock_obstacle() -> Option<String> {
    if let Some(unmet) = waits::need().unmet() {
        let remedy = unmet.remedy.map(|remedy| format!(" (try: {remedy})")).unwrap_or_default();
        return Some(format!("{}{remedy}", unmet.consequence));
    }
    if Hierarchy::here().v2.is_none() {
        return Some("groups are counted by their id in version 2, which is not mounted (try: mount -t cgroup2 none DIR)".into());
    }
    // The kernel may refuse all the same.
    WaitCounter::attach(&[]).err().map(|fault| fault.sentence())
}

/// Drops all clean pages from this machine's page cache (`Documentation/admin-guide/sysctl/vm.rst`).
///
/// # Errors
/// An environment fault if the kernel refuses.
pub fn drop_caches() -> Result<(), Fault> {
    const FILE: &str = "/proc/sys/vm/drop_caches";
    // Pages that are not written yet would stay.
    rustix::fs::sync();
    fs::write(FILE, "1\n").map_err(|e| {
        Fault::environment(format!("cannot drop the page cache: {e}"))
            .at(FILE)
            .remedy("run it as root on the host, or without --drop-caches")
    })
}

/// A limit of what all groups together read from a disk, and where the kernel takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadLimit {
    /// The disk's major and minor number.
    pub disk: (u32, u32),
    /// Bytes a second.
    pub rate: Bytes,
    /// Of version 1: the directory of the blkio controller in which groups can be made. `None`: version 2.
    pub blkio: Option<PathBuf>,
}

impl ReadLimit {
    /// The limit on this host.
    pub fn here(disk: (u32, u32), rate: Bytes) -> Self {
        let blkio = Hierarchy::here().v1.get("blkio").and_then(Tree::here);
        ReadLimit { disk, rate, blkio }
    }
}
