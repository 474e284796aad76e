//! Reserved huge pages (Documentation/admin-guide/mm/hugetlbpage.rst).

use crosstalk_core::Fault;
use std::fs;
use std::path::Path;

use crate::ledger::{Knob, Ledger};

/// The number of reserved huge pages of the default size.
const COUNT: &str = "/proc/sys/vm/nr_hugepages";

/// The reserved huge pages.
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

/// Bytes of huge pages that are free; 0 on a kernel without huge pages.
pub fn free_bytes() -> u64 {
    pages().map_or(0, |pages| pages.free * pages.size)
}

/// Reserves huge pages so that `bytes` of them are free, until the knob is dropped. `None` if they are free
/// already.
///
/// # Errors
/// If the kernel has no huge pages, or no room for so many; their number is unchanged then.
pub fn reserve(ledger: &Ledger, bytes: u64) -> Result<Option<Knob>, Fault> {
    let missing = |found: u64| {
        Fault::environment(format!(
            "huge pages are missing: {} MiB are needed, {} MiB are free",
            bytes >> 20,
            found >> 20
        ))
        .at(COUNT)
        .remedy("free memory, or reserve them at boot: hugepages=256 on the kernel's command line")
    };
    let now = pages().filter(|pages| pages.size > 0).ok_or_else(|| missing(0))?;
    let wanted = bytes.div_ceil(now.size);
    if now.free >= wanted {
        return Ok(None);
    }
    let mut knob = ledger.knob(Path::new(COUNT), "huge pages")?;
    let reserved: u64 = knob.original().trim().parse().map_err(|_| missing(free_bytes()))?;
    knob.set(&(reserved + wanted - now.free).to_string())?;
    if free_bytes() < bytes { Err(missing(free_bytes())) } else { Ok(Some(knob)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_pages_and_their_size_are_parsed() {
        let meminfo = "HugePages_Total:      64\nHugePages_Free:       60\nHugepagesize:       2048 kB\n";
        assert_eq!(parse(meminfo), Some(Pages { free: 60, size: 2 << 20 }));
        assert_eq!(parse("MemTotal: 1 kB\n"), None);
    }
}
