//! Huge pages that are kept for those who ask for them (Documentation/admin-guide/mm/hugetlbpage.rst).

use crosstalk_core::Fault;
use std::fs;
use std::path::Path;

use crate::ledger::{Knob, Ledger};

/// How many there are to be, of the size that is taken where none is named.
const COUNT: &str = "/proc/sys/vm/nr_hugepages";

/// What there is of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pages {
    free: u64,
    /// Bytes of each.
    size: u64,
}

fn pages() -> Option<Pages> {
    parse(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(meminfo: &str) -> Option<Pages> {
    let number = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(Pages { free: number("HugePages_Free:")?, size: number("Hugepagesize:")? << 10 })
}

/// Bytes of them that nobody has; none on a kernel without.
pub fn free() -> u64 {
    pages().map_or(0, |pages| pages.free * pages.size)
}

/// Has so many bytes of them be free, until what is returned is dropped; nothing where they are.
///
/// # Errors
/// Where the kernel has none, or finds no room for so many; those there were are left.
pub fn reserve(ledger: &Ledger, bytes: u64) -> Result<Option<Knob>, Fault> {
    let missing = |found: u64| {
        Fault::environment(format!(
            "huge pages are missing: {} MiB are needed, {} MiB are free",
            bytes >> 20,
            found >> 20
        ))
        .at(COUNT)
        .remedy("free memory, or keep them from boot on: hugepages=256 on the kernel's command line")
    };
    let now = pages().filter(|pages| pages.size > 0).ok_or_else(|| missing(0))?;
    let wanted = bytes.div_ceil(now.size);
    if now.free >= wanted {
        return Ok(None);
    }
    let mut knob = ledger.knob(Path::new(COUNT), "huge pages")?;
    let there: u64 = knob.was().trim().parse().map_err(|_| missing(free()))?;
    knob.set(&(there + wanted - now.free).to_string())?;
    if free() < bytes { Err(missing(free())) } else { Ok(Some(knob)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_what_nobody_has() {
        let told = "HugePages_Total:      64\nHugePages_Free:       60\nHugepagesize:       2048 kB\n";
        assert_eq!(parse(told), Some(Pages { free: 60, size: 2 << 20 }));
        assert_eq!(parse("MemTotal: 1 kB\n"), None);
    }
}
