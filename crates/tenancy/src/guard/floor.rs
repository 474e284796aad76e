//! What cannot be taken of a group's memory, and what must be left beside that.
//!
//! v2's `memory.high` slows down whoever has more. v1's `memory.limit_in_bytes` kills, where nothing can be
//! taken in a moment in which more is wanted: of what nothing stands behind, since there is no swap, or of what
//! is only on its way from a disk, since its pages are locked until they are there. A read that does not
//! follow others waits for its own page instead of being told to do without (`filemap_create_folio` in
//! `mm/filemap.c`), and the kernel makes room for that in the way it knows. So a group keeps room for all that
//! its threads may have on its way, and to grow in.

use std::fs;

use crate::group::reading::{Pages, number};

/// What a group needs even where all can be taken from it: its programs' code.
const LEAST: u64 = 16 << 20;
/// What it may take until it is looked at again: a thread has some 3 GB a second cleared for it, and is looked
/// at every 50 ms.
const GROWS: u64 = 160 << 20;
/// Where the kernel tells how far it reads ahead of whoever reads in order.
const READ_AHEAD: &str = "/sys/class/bdi";
/// So many times that is on its way: whoever says that he reads in order has twice as much (posix_fadvise(2)).
const WINDOWS: u64 = 2;

/// Bytes that a group must be left with, which has so many and these pages. `swap` says whether there is any,
/// `killed` how many bytes may be on their way where more than its limit is not to be had but by a kill.
pub(super) fn floor(has: u64, pages: &Pages, swap: bool, killed: Option<u64>) -> u64 {
    let anonymous = if swap { pages.anonymous } else { 0 };
    let kept = has.saturating_sub(pages.files.saturating_add(anonymous));
    let grows = if swap || killed.is_none() { kept / 20 } else { GROWS };
    kept + grows + killed.unwrap_or(0) + LEAST
}

/// Bytes that may be on their way for a thread that reads, from whatever device is read furthest ahead.
pub(super) fn on_its_way() -> u64 {
    let devices = fs::read_dir(READ_AHEAD).into_iter().flatten().flatten();
    let told = |path| fs::read_to_string(path).ok().and_then(|text| number(&text));
    let furthest = devices.filter_map(|device| told(device.path().join("read_ahead_kb"))).max();
    WINDOWS * furthest.unwrap_or(0).saturating_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_files_stand_behind_can_be_taken_and_the_rest_where_there_is_swap() {
        let pages = Pages { files: 400 * MIB, anonymous: 200 * MIB, ..Pages::default() };
        assert_eq!(floor(620 * MIB, &pages, true, None), (20 + 1 + 16) * MIB, "what the kernel holds for it");
        assert_eq!(floor(620 * MIB, &pages, false, None), (220 + 11 + 16) * MIB);
    }

    #[test]
    fn who_would_be_killed_keeps_what_is_on_its_way_and_room_to_grow() {
        let pages = Pages { files: 400 * MIB, anonymous: 200 * MIB, ..Pages::default() };
        let killed = Some(3 * 16 * MIB);
        assert_eq!(floor(620 * MIB, &pages, true, killed), (20 + 1 + 48 + 16) * MIB);
        assert_eq!(floor(620 * MIB, &pages, false, killed), (220 + 160 + 48 + 16) * MIB);
    }

    #[test]
    fn where_nothing_is_told_nothing_is_taken() {
        assert!(floor(620 * MIB, &Pages::default(), false, None) > 620 * MIB);
    }
}
