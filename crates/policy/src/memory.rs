//! Whether background work takes memory that foreground work needs.
//!
//! Where memory is short, whoever takes a page has another one pushed out. If that was foreground work's, it has to
//! fetch it again: one page at a time, which takes a disk far longer than reading in order. So background work that
//! takes pages meanwhile is paused. The kernel then takes what is least used (Documentation/mm/multigen_lru.rst, and
//! the lists before it): the pages of paused work, which nobody touches.
//!
//! Background work that takes no pages is left alone, however much memory it has. Each pause that ends too early
//! makes the next one twice as long, so that what swings does so ever more rarely.

use std::time::Duration;

use serde::Serialize;

use super::snapshot::Snapshot;

/// Pages a second from which foreground work is disturbed: 256 KiB/s, far below what any device delivers.
const REFAULTS: f64 = 64.0;
/// Pages a second from which background work takes memory: 8 MiB/s.
const TAKES: f64 = 2048.0;
/// Growth of foreground work's memory between two snapshots that is meant, in bytes.
const GREW: u64 = 8 << 20;
/// Memory is short where less than this part of it is free. The kernel itself leaves less
/// (Documentation/admin-guide/sysctl/vm.rst, watermark_scale_factor).
const ROOM: u64 = 64;
/// While foreground work grows, memory is short where less than so many times that is free, beyond twice the growth:
/// it may grow ever faster.
const MARGIN: u64 = 4;
/// The first and the longest pause.
const PAUSE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];
/// Foreground work that misses no pages, and uses no processors, is over after so long.
const OVER: Duration = Duration::from_millis(500);

/// What foreground work lacks memory for, when background work is paused for that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shortage {
    /// It fetches so many pages a second again.
    Refaults(f64),
    /// It waits for memory for this share of the time.
    Stall(f64),
    /// It has grown by so many bytes since memory was last read, and there is not room for much more.
    Growth(u64),
}

/// Whether background work is paused for memory, until when and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    until: Option<(Duration, Shortage)>,
    /// How long the last pause was, and when it ended.
    pause: Duration,
    ended: Option<Duration>,
    /// When foreground work last missed pages.
    missed: Option<Duration>,
    hurried: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { until: None, pause: PAUSE[0], ended: None, missed: None, hurried: false }
    }
}

impl Memory {
    /// Takes a snapshot in. `busy`: foreground work uses processors. `tolerated`: the share of the time that it may
    /// wait for memory.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot, busy: bool, tolerated: f64) {
        let shortage = shortage(snapshot, tolerated);
        if matches!(shortage, Some(Shortage::Refaults(_) | Shortage::Stall(_))) {
            self.missed = Some(now);
        }
        self.hurried = shortage.is_some();
        // Foreground work that only waits for its pages hardly uses any processor.
        let lately = self.missed.is_some_and(|missed| now < missed + OVER);
        if !busy && !lately {
            self.resume(now);
            return;
        }
        match (self.until, shortage) {
            (Some((until, _)), _) if now >= until => self.resume(now),
            (None, Some(shortage)) if snapshot.background_taken > TAKES => {
                let too_early = self.ended.is_some_and(|ended| now < ended + self.pause);
                self.pause = if too_early { (self.pause * 2).min(PAUSE[1]) } else { PAUSE[0] };
                self.until = Some((now + self.pause, shortage));
            }
            _ => {}
        }
    }

    fn resume(&mut self, now: Duration) {
        if self.until.take().is_some() {
            self.ended = Some(now);
        }
    }

    /// Why background work is paused, where it would take memory that foreground work needs.
    pub fn paused(&self) -> Option<Shortage> {
        self.until.map(|(_, shortage)| shortage)
    }

    /// Whether foreground work needs more memory than is free: the next snapshot comes soon.
    pub fn hurried(&self) -> bool {
        self.hurried
    }
}

/// What foreground work lacks memory for now, if it does.
fn shortage(snapshot: &Snapshot, tolerated: f64) -> Option<Shortage> {
    let room = snapshot.all_memory / ROOM;
    let grew = snapshot.foreground_growth;
    let causes = [
        (snapshot.free_memory < room && snapshot.refaults > REFAULTS, Shortage::Refaults(snapshot.refaults)),
        (
            snapshot.free_memory < room && snapshot.memory_stall > tolerated,
            Shortage::Stall(snapshot.memory_stall),
        ),
        (grew > GREW && snapshot.free_memory < 2 * grew + MARGIN * room, Shortage::Growth(grew)),
    ];
    causes.into_iter().find_map(|(holds, cause)| holds.then_some(cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEP: f64 = 0.25;
    const MIB: u64 = 1 << 20;

    /// A host without free memory on which foreground work misses so many pages a second.
    fn short(refaults: f64, background_taken: f64) -> Snapshot {
        Snapshot { free_memory: 0, refaults, background_taken, ..Snapshot::quiet(2, STEP) }
    }

    fn see(memory: &mut Memory, at: &mut f64, snapshot: &Snapshot) {
        *at += STEP;
        memory.see(Duration::from_secs_f64(*at), snapshot, true, 0.01);
    }

    #[test]
    fn it_is_paused_where_it_takes_what_foreground_work_misses() {
        for (refaults, taken, free, pauses) in [
            (1000.0, 1e5, 0, true),
            (1000.0, 100.0, 0, false),
            (10.0, 1e5, 0, false),
            (1000.0, 1e5, 100 * MIB, false),
        ] {
            let (mut memory, mut at) = (Memory::default(), 0.0);
            see(&mut memory, &mut at, &Snapshot { free_memory: free, ..short(refaults, taken) });
            assert_eq!(
                memory.paused().is_some(),
                pauses,
                "{refaults} and {taken} pages a second, {free} B free"
            );
        }
    }

    #[test]
    fn foreground_work_that_grows_has_the_memory_before_it_misses_any() {
        let grown = |free: u64, foreground: u64| {
            let (mut memory, mut at) = (Memory::default(), 0.0);
            let snapshot = Snapshot {
                free_memory: free,
                foreground_growth: foreground,
                background_taken: 1e5,
                ..Snapshot::quiet(2, STEP)
            };
            see(&mut memory, &mut at, &snapshot);
            memory.paused()
        };
        assert_eq!(grown(200 * MIB, 100 * MIB), Some(Shortage::Growth(100 * MIB)));
        assert_eq!((grown(1000 * MIB, 100 * MIB), grown(200 * MIB, MIB)), (None, None));
    }

    #[test]
    fn a_pause_that_ended_too_early_is_followed_by_a_longer_one() {
        let (mut memory, mut at, mut pauses) = (Memory::default(), 0.0, Vec::new());
        for _ in 0..7 {
            while memory.paused().is_none() {
                see(&mut memory, &mut at, &short(1000.0, 1e5));
            }
            let began = at;
            while memory.paused().is_some() {
                see(&mut memory, &mut at, &short(0.0, 0.0));
            }
            pauses.push(at - began);
        }
        assert_eq!(pauses, [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]);
        // Nothing is missed for as long as the last pause.
        for _ in 0..1200 {
            see(&mut memory, &mut at, &short(0.0, 1e5));
        }
        see(&mut memory, &mut at, &short(1000.0, 1e5));
        let began = at;
        while memory.paused().is_some() {
            see(&mut memory, &mut at, &short(0.0, 0.0));
        }
        assert_eq!(at - began, 10.0, "the next is as short as the first");
    }

    #[test]
    fn it_resumes_when_foreground_work_is_over() {
        let (mut memory, mut at) = (Memory::default(), 0.0);
        see(&mut memory, &mut at, &short(1000.0, 1e5));
        // It waits for its pages, and hardly computes.
        memory.see(Duration::from_secs_f64(at + 0.25), &short(700.0, 0.0), false, 0.01);
        assert_eq!(memory.paused(), Some(Shortage::Refaults(1000.0)), "as when it was paused");
        memory.see(Duration::from_secs_f64(at + 0.85), &short(0.0, 0.0), false, 0.01);
        assert!(memory.paused().is_none());
    }

    proptest! {
        #[test]
        fn it_never_stays_paused_longer_than_the_longest_pause(
            seen in prop::collection::vec((0.0..2000.0_f64, 0.0..1e5_f64, any::<bool>()), 1..2000)
        ) {
            let (mut memory, mut at, mut since) = (Memory::default(), 0.0, None);
            for (refaults, taken, busy) in seen {
                at += STEP;
                memory.see(Duration::from_secs_f64(at), &short(refaults, taken), busy, 0.01);
                since = if memory.paused().is_some() { since.or(Some(at)) } else { None };
                prop_assert!(since.is_none_or(|since| at - since <= PAUSE[1].as_secs_f64()));
            }
        }
    }
}
