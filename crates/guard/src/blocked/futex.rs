//! Which thread waits on a futex in memory that it shares with others (futex(2)): `/proc/PID/syscall` has its address,
//! and `maps` of both whose memory that is.

use std::fs;

/// The address of a futex that the thread waits on and that other processes may wake.
pub(super) fn futex(thread: u32) -> Option<u64> {
    waits_on(&fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?)
}

/// The same, of the text of `/proc/PID/syscall`: number and arguments.
fn waits_on(text: &str) -> Option<u64> {
    /// futex(2) on x86-64 and on 64-bit Arm.
    const FUTEX: &str = if cfg!(target_arch = "x86_64") { "202" } else { "98" };
    /// To wait in one of the ways there are; a private futex has another flag besides.
    const WAITS: [u64; 4] = [0, 6, 9, 13];
    const CLOCK_REALTIME: u64 = 256;
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some(FUTEX) {
        return None;
    }
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (address, operation) = (number()?, number()?);
    WAITS.contains(&(operation & !CLOCK_REALTIME)).then_some(address)
}

/// The first process of each group with which a thread shares the memory at an address.
pub(super) fn shared_with(thread: u32, address: u64, groups: &[Vec<u32>]) -> Vec<u32> {
    let maps = |pid: u32| fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mine = shared(&maps(thread)).into_iter().find(|(range, _)| range.contains(&address));
    let Some((_, file)) = mine else { return Vec::new() };
    let shares = |pid: &u32| shared(&maps(*pid)).iter().any(|(_, theirs)| *theirs == file);
    groups.iter().filter_map(|group| group.iter().copied().find(shares)).collect()
}

/// The shared mappings of the text of `/proc/PID/maps`: addresses, and device and inode of what is mapped.
fn shared(maps: &str) -> Vec<(std::ops::Range<u64>, String)> {
    let one = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let is_shared = words.next()?.ends_with('s');
        let (_, device, inode) = (words.next()?, words.next()?, words.next()?);
        let number = |text| u64::from_str_radix(text, 16).ok();
        is_shared.then_some((number(from)?..number(to)?, format!("{device} {inode}")))
    };
    maps.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_futex_that_others_may_wake_is_read() {
        let number = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
        let of =
            |operation: u64| waits_on(&format!("{number} 0x7f00 {operation:#x} 0x2 0x0 0x0 0x0 0x1 0x2"));
        assert_eq!((of(0), of(9 | 256), of(6)), (Some(0x7f00), Some(0x7f00), Some(0x7f00)));
        assert_eq!((of(128), of(1), waits_on("running"), waits_on("0 0x0 0x0")), (None, None, None, None));
    }

    #[test]
    fn memory_that_two_share_is_found_by_what_is_mapped() {
        let maps =
            "7f00-7f10 rw-s 00000000 00:01 77 /dev/zero (deleted)\n8000-8010 rw-p 00000000 fe:00 5 /bin/x\n";
        assert_eq!(shared(maps), [(0x7f00..0x7f10, "00:01 77".to_string())]);
    }
}
