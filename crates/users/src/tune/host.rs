//! The memory that users of this host share.

use std::fs;

use crosstalk_cgroup::group::reading::keyed;
use crosstalk_cgroup::group::{Group, Hierarchy, memory_limit};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

/// The host's memory, or what limits this process.
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
