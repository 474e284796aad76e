//! What cannot be taken of a group's memory, and what must be left beside that.
//!
//! v2's `memory.high` slows down whoever has more. v1's `memory.limit_in_bytes` kills, where nothing can be
//! taken in a moment in which more is wanted: of what nothing stands behind, since there is no swap, or of what
//! is only on its way from a disk, since its pages are locked until they are there. A read that does not
//! follow others waits for its own page instead of being told to do without (`filemap_create_folio` in
//! `mm/filemap.c`), and the kernel makes room for that in the way it knows. So a group keeps room for all that
//! its threads may have on its way, and to grow in.

use std::fs;

use crosstalk_cgroup::group::reading::{Pages, number};

/// What a group needs even where all can be taken from it: its programs' code.
const LEAST: u64 = 16 << 20;
/// What it may take until it is looked at again: a thread has some 3 GB a second cleared for it, and is looked
/// at every 50 ms.
const GROWS: u64 = 160 << 20;
/// Where the kernel tells how far it reads ahead of whoever reads in order.
const READ_AHEAD: &str = "/sys/class/bdi";
/// So many times that is on its way: whoever says that he reads in order has twice as much (posix_fadvise(2)).
const WINDOWS: u64 = 2;

/// What cannot be taken of a group, and what it must be left with at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Floor {
    /// Bytes that cannot be taken.
    pub kept: u64,
    /// The same with room for what it may want at once.
    pub left: u64,
}

/// Who is killed where more than its limit is not to be had: what it may have on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Readers {
    /// Threads that may read.
    pub threads: u64,
    /// Bytes of each, as [`on_its_way`] tells.
    pub each: u64,
}

impl Readers {
    /// What is on its way is among the pages of files that it has, but for what has only begun.
    fn on_their_way(self, files: u64) -> u64 {
        self.threads.saturating_mul(self.each).min(files.saturating_add(self.each))
    }
}

/// Of a group that has so many bytes and these pages, where `swap` bytes can be swapped out; `killed` where it
/// would be.
pub(super) fn floor(has: u64, pages: &Pages, swap: u64, killed: Option<Readers>) -> Floor {
    let kept = has.saturating_sub(pages.files.saturating_add(pages.anonymous.min(swap)));
    let grows = if killed.is_some() && is_hard(swap) { GROWS } else { kept / 20 };
    let comes = killed.map_or(0, |readers| readers.on_their_way(pages.files));
    Floor { kept, left: kept.saturating_add(grows).saturating_add(comes).saturating_add(LEAST) }
}

/// Whether too little can be swapped out for what may be wanted at once.
pub(super) fn is_hard(swap: u64) -> bool {
    swap < GROWS
}

/// Bytes that may be on their way for a thread that reads, from whatever device is read furthest ahead.
pub(super) fn on_its_way() -> u64 {
    let devices = fs::read_dir(READ_AHEAD).into_iter().flatten().flatten();
    let told = |path| fs::read_to_string(path).ok().and_then(|text| number(&text));
    let furthest = devices.filter_map(|device| told(device.path().join("read_ahead_kb"))).max();
    furthest.unwrap_or(0).saturating_mul(WINDOWS << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const PAGES: Pages =
        Pages { files: 400 * MIB, anonymous: 200 * MIB, refaults: 0, swapped_in: 0, swap: 0 };
    const READERS: Option<Readers> = Some(Readers { threads: 3, each: 16 * MIB });

    fn left(swap: u64, killed: Option<Readers>) -> u64 {
        floor(620 * MIB, &PAGES, swap, killed).left / MIB
    }

    #[test]
    fn what_files_stand_behind_can_be_taken_and_the_rest_where_there_is_swap() {
        assert_eq!(left(1 << 40, None), 20 + 1 + 16, "what the kernel holds for it");
        assert_eq!(left(0, None), 220 + 11 + 16);
        assert_eq!(left(150 * MIB, None), 70 + 3 + 16, "as far as there is");
        assert_eq!(floor(620 * MIB, &PAGES, 0, READERS).kept, 220 * MIB, "whatever room it has");
    }

    #[test]
    fn who_would_be_killed_keeps_what_is_on_its_way_and_room_to_grow() {
        assert_eq!(left(1 << 40, READERS), 20 + 1 + 48 + 16);
        assert_eq!(left(0, READERS), 220 + 160 + 48 + 16);
        assert_eq!(left(50 * MIB, READERS), 170 + 160 + 48 + 16, "the little there is will not do");
    }

    #[test]
    fn who_computes_in_many_threads_has_little_on_its_way() {
        let many = Readers { threads: 100, each: 16 * MIB };
        let pages = Pages { files: 10 * MIB, ..PAGES };
        let floor = floor(230 * MIB, &pages, 1 << 40, Some(many));
        assert_eq!(floor.left, (20 + 1 + 26 + 16) * MIB);
    }

    #[test]
    fn where_nothing_is_told_nothing_is_taken_and_nothing_overflows() {
        assert!(floor(620 * MIB, &Pages::default(), 0, None).left > 620 * MIB);
        let all = Readers { threads: u64::MAX, each: u64::MAX };
        assert_eq!(floor(u64::MAX, &Pages::default(), 0, Some(all)).left, u64::MAX);
    }
}
