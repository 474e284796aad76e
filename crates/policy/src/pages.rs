//! How much memory background work may keep. Where foreground work has to fetch pages again that were
//! pushed out, background work gives up as much as is fetched in a second, again and again, down to what
//! cannot be taken from it. It gets more only slowly, and each time that turns out to have been too early
//! the next try comes twice as late: what oscillates does so ever more rarely.
//!
//! Pages that are pushed out come back one by one, which takes a disk far longer than what it reads in
//! order. So where memory is short and foreground work takes more of it, background work
//! gives up twice as much, and some to spare, before anything is pushed out. And where background work
//! takes more of it, it has what is left but that to spare: from then on it pushes out its own.
//!
//! Background work that swaps because of its limit, or where memory is short for all, gets little done,
//! and takes pages, time and bandwidth from foreground work: it stands still instead. So does what reads files
//! again and again because of it, while foreground work waits for the same devices to have its own pages back.

use std::time::Duration;

use super::sense::Sense;

/// Pages a second from which foreground work is disturbed: 256 KiB/s, far below what any device delivers.
const REFAULTS: f64 = 64.0;
/// Growth of somebody's memory between two looks that is meant, in bytes.
const GREW: u64 = 8 << 20;
/// With this share of all memory free, foreground work fetches again what was pushed out before: nobody keeps
/// it from that. The kernel itself leaves less (Documentation/admin-guide/sysctl/vm.rst,
/// watermark_scale_factor).
const ROOM: u64 = 64;
/// So many times that much is given up: until the next look it may grow as much again.
const AHEAD: u64 = 2;
/// And so many times what is left free otherwise: it may grow ever faster.
const MARGIN: f64 = 4.0;
/// Pages a second from which background work swaps, or reads again, more than it works: 8 MiB/s.
const SWAPPING: f64 = 2048.0;
/// Between two steps down: taking pages takes a moment.
const STEP: Duration = Duration::from_millis(200);
/// What is left at least by a step down.
const LEFT: f64 = 0.67;
/// Bytes of a page (mm: PAGE_SIZE on x86-64, and the least elsewhere).
pub const PAGE: u64 = 4096;
/// The first and the longest time that nothing is given back.
const HOLD: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];
/// Foreground work that misses no more pages, and uses no processors, is over after so long.
const OVER: Duration = Duration::from_millis(500);
/// Growth in a second, once it is given back.
const GROWTH: f64 = 1.1;
/// When it has twice what it had at first, nothing holds it any more.
const FREE: f64 = 2.0;

/// The limit, and when it may grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    limit: Option<f64>,
    /// What background work must be left with, whatever the limit is.
    floor: f64,
    /// What background work had when the limit came.
    had: f64,
    last_step: Option<Duration>,
    hold: Duration,
    held_until: Duration,
    growing: bool,
    /// Until when foreground work counts as missing pages.
    misses_until: Duration,
    /// Until when background work stands still.
    still_until: Option<Duration>,
    hurried: bool,
    /// What foreground and background work had at the look before.
    foreground: Option<u64>,
    background: Option<u64>,
}

impl Default for Share {
    fn default() -> Self {
        Share {
            limit: None,
            floor: 0.0,
            had: 0.0,
            last_step: None,
            hold: HOLD[0],
            held_until: Duration::ZERO,
            growing: false,
            misses_until: Duration::ZERO,
            still_until: None,
            hurried: false,
            foreground: None,
            background: None,
        }
    }
}

impl Share {
    /// Takes a look in. `busy` says that foreground work uses processors, `stalled` is the share of the time that it
    /// may wait for memory.
    pub fn see(&mut self, now: Duration, sense: &Sense, busy: bool, stalled: f64) {
        // Foreground work that only waits for its pages hardly uses any, and would for ever.
        let misses = (sense.free_memory as f64) < room(sense) && sense.refaults > REFAULTS;
        if misses {
            self.misses_until = now + OVER;
        }
        if !busy && now >= self.misses_until {
            // What it had when it begins is what it has now. That too much was given back too early is
            // remembered for a while.
            let hold = if now < self.held_until + self.hold { self.hold } else { HOLD[0] };
            *self = Share {
                foreground: Some(sense.foreground_memory),
                hold,
                held_until: self.held_until,
                ..Share::default()
            };
            return;
        }
        // What cannot be taken any more is left to it at once.
        self.floor = sense.background_floor as f64;
        let grew = sense
            .foreground_memory
            .saturating_sub(self.foreground.replace(sense.foreground_memory).unwrap_or(u64::MAX));
        // What is free is had first.
        let lacking = (AHEAD * grew) as f64 + MARGIN * room(sense) - sense.free_memory as f64;
        let before = self.background.replace(sense.background_memory);
        let grows = grew > GREW;
        if grows && lacking > 0.0 {
            self.hold(now);
            self.take(sense.background_memory as f64 - lacking, sense);
        } else if sense.short_memory && swells(before, sense) {
            self.hold(now);
            let spare = sense.free_memory as f64 - MARGIN * room(sense);
            self.take(sense.background_memory as f64 + spare.max(0.0), sense);
        }
        let short = self.limit.is_some() || sense.short_memory;
        let in_the_way = sense.refaults > REFAULTS && sense.background_refaults > SWAPPING;
        if short && (sense.background_swapping > SWAPPING || in_the_way) {
            self.still_until = Some(now + self.hold);
        } else if self.still_until.is_some_and(|until| now >= until) {
            self.still_until = None;
            // The next time it is longer.
            self.hold = (self.hold * 2).min(HOLD[1]);
        }
        // Where there is room, pages that were pushed out before come back by themselves.
        let lacks = (sense.free_memory as f64) < room(sense);
        // What was asked for last is still on its way.
        let above = |limit: Option<f64>| limit.is_some_and(|limit| sense.background_memory as f64 > limit);
        let falls = before.is_some_and(|before| sense.background_memory < before);
        let asked = self.left();
        if above(asked) && falls {
            self.hold(now);
            if !lacks && !grows {
                // Foreground work has what it wanted; taking more slows it.
                self.limit = Some(sense.background_memory as f64);
            }
        } else if lacks && (sense.refaults > REFAULTS || sense.memory_stall > stalled) {
            self.tighten(now, sense);
        } else if self.limit.is_some() && now >= self.held_until {
            self.growing = true;
            let grown = self.limit.map(|limit| limit * GROWTH.powf(sense.interval));
            self.limit = grown.filter(|limit| *limit < FREE * self.had);
        }
        let held_hard = sense.held_hard && self.limit.is_some();
        self.hurried = grows || held_hard || above(self.left()) && (falls || self.left() != asked);
    }

    fn tighten(&mut self, now: Duration, sense: &Sense) {
        self.hold(now);
        if self.last_step.is_some_and(|last| now.saturating_sub(last) < STEP) {
            return;
        }
        self.last_step = Some(now);
        let (has, floor) = (sense.background_memory as f64, sense.background_floor as f64);
        let from = self.limit.map_or(has, |limit| limit.min(has.max(floor)));
        // Taking pages takes time and processors: no more than foreground work wants.
        let wanted = (sense.refaults * PAGE as f64).min(from * (1.0 - LEFT)).max(room(sense));
        self.take(from - wanted, sense);
    }

    /// Nothing is given back for a while.
    fn hold(&mut self, now: Duration) {
        if self.growing {
            self.hold = (self.hold * 2).min(HOLD[1]);
        }
        self.growing = false;
        self.held_until = now + self.hold;
    }

    /// Leaves it so much, what cannot be taken apart, and no more than before.
    fn take(&mut self, left: f64, sense: &Sense) {
        if self.limit.is_none() {
            self.had = (sense.background_memory as f64).max(self.floor);
        }
        self.limit = Some(left.max(self.floor).min(self.limit.unwrap_or(f64::INFINITY).max(self.floor)));
    }

    /// Whether background work has to stand still, since it would only swap.
    pub fn still(&self) -> bool {
        self.still_until.is_some()
    }

    /// Whether foreground work takes memory, or background work is made to give it, or may be killed for want of it: all go
    /// quickly.
    pub fn hurried(&self) -> bool {
        self.hurried
    }

    /// Bytes that background work may have; `None` where nothing holds it.
    pub fn limit(&self) -> Option<u64> {
        self.left().map(|limit| limit as u64)
    }

    fn left(&self) -> Option<f64> {
        self.limit.map(|limit| limit.max(self.floor))
    }
}

/// Whether background work takes more memory, of which it could be made to push out some. What can only be
/// killed is left alone: foreground work may never want what it takes.
fn swells(before: Option<u64>, sense: &Sense) -> bool {
    let grew = before.is_some_and(|before| sense.background_memory > before + GREW);
    grew && sense.background_memory > sense.background_kept + GREW
}

/// The least worth asking for.
fn room(sense: &Sense) -> f64 {
    (sense.all_memory / ROOM) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOK: f64 = 0.25;
    const MIB: u64 = 1 << 20;

    fn look(share: &mut Share, at: &mut f64, refaults: f64, background_memory: u64) {
        *at += LOOK;
        let lacking = Sense { free_memory: 0, ..Sense::quiet(2, LOOK) };
        let sense = Sense { refaults, background_memory, background_floor: 40 * MIB, ..lacking };
        share.see(Duration::from_secs_f64(*at), &sense, true, 0.01);
    }

    #[test]
    fn refaults_take_memory_down_to_what_cannot_be_taken() {
        let (mut share, mut at, mut has) = (Share::default(), 0.0, 900 * MIB);
        look(&mut share, &mut at, 0.0, has);
        assert_eq!(share.limit(), None);
        for _ in 0..20 {
            look(&mut share, &mut at, 1000.0, has);
            has = has.min(share.limit().expect("is held"));
        }
        assert_eq!(share.limit(), Some(40 * MIB));
        assert!(at < 6.0, "within seconds");
    }

    #[test]
    fn what_cannot_be_taken_any_more_is_left_to_it_at_once() {
        let (mut share, mut at) = (Share::default(), 0.0);
        look(&mut share, &mut at, 1000.0, 900 * MIB);
        at += LOOK;
        let grown =
            Sense { background_memory: 890 * MIB, background_floor: 880 * MIB, ..Sense::quiet(2, LOOK) };
        let before = share.limit().expect("is held");
        share.see(Duration::from_secs_f64(at), &Sense { free_memory: 0, ..grown }, true, 0.01);
        assert!(before < 880 * MIB && share.limit() >= Some(880 * MIB), "{before} {:?}", share.limit());
        let freed = Sense { background_memory: 300 * MIB, background_floor: 100 * MIB, ..grown };
        share.see(Duration::from_secs_f64(at + LOOK), &Sense { free_memory: 0, ..freed }, true, 0.01);
        assert!(share.limit() <= Some(before), "what it has freed is not given back: {:?}", share.limit());
    }

    #[test]
    fn what_has_little_gets_more_as_slowly_as_others() {
        let (mut share, mut at) = (Share::default(), 0.0);
        look(&mut share, &mut at, 1000.0, 10 * MIB);
        let limit = share.limit().expect("is held");
        let began = at;
        while share.limit().is_some_and(|now| now < limit * 3 / 2) {
            look(&mut share, &mut at, 0.0, 10 * MIB);
        }
        assert!(at - began > HOLD[0].as_secs_f64() + 3.0, "{} s", at - began);
    }

    #[test]
    fn who_may_be_killed_is_looked_at_quickly() {
        let (mut share, mut at) = (Share::default(), 0.0);
        look(&mut share, &mut at, 1000.0, 300 * MIB);
        for held_hard in [false, true] {
            at += LOOK;
            let sense =
                Sense { held_hard, background_memory: 200 * MIB, free_memory: 0, ..Sense::quiet(2, LOOK) };
            share.see(Duration::from_secs_f64(at), &sense, true, 0.01);
            share.see(Duration::from_secs_f64(at + LOOK), &sense, true, 0.01);
            assert_eq!(share.hurried(), held_hard);
        }
    }

    #[test]
    fn what_was_pushed_out_before_comes_back_by_itself_where_there_is_room() {
        let mut share = Share::default();
        let sense = Sense { refaults: 1000.0, free_memory: 100 * MIB, ..Sense::quiet(2, LOOK) };
        share.see(Duration::from_secs(1), &Sense { background_memory: 900 * MIB, ..sense }, true, 0.01);
        assert_eq!(share.limit(), None);
    }

    #[test]
    fn no_more_is_asked_for_while_what_was_asked_for_is_still_being_taken() {
        let (mut share, mut at) = (Share::default(), 0.0);
        look(&mut share, &mut at, 1000.0, 960 * MIB);
        let limit = share.limit();
        assert_eq!(limit, Some(896 * MIB), "a sixty-fourth of 4 GiB");
        for has in [950, 940, 930, 920] {
            look(&mut share, &mut at, 1000.0, has * MIB);
            assert_eq!(share.limit(), limit);
        }
        look(&mut share, &mut at, 1000.0, 860 * MIB);
        assert!(share.limit() < limit, "that was not enough");
    }

    #[test]
    fn it_comes_back_slowly_and_ever_later() {
        let (mut share, mut at, has) = (Share::default(), 0.0, 900 * MIB);
        let mut times = Vec::new();
        for _ in 0..4 {
            look(&mut share, &mut at, 1000.0, has);
            let (began, limit) = (at, share.limit());
            while share.limit() == limit {
                look(&mut share, &mut at, 0.0, has);
            }
            times.push(at - began);
        }
        assert!(times.windows(2).all(|pair| pair[1] > 1.9 * pair[0]), "{times:?}");
        for _ in 0..((300.0 / LOOK) as usize) {
            look(&mut share, &mut at, 0.0, has);
        }
        assert_eq!(share.limit(), None, "nothing holds it in the end");
    }

    #[test]
    fn what_would_only_swap_stands_still_and_tries_again_ever_later() {
        let (mut share, mut at) = (Share::default(), 0.0);
        let look = |share: &mut Share, at: &mut f64, refaults: f64| {
            *at += LOOK;
            let (refaults, swapping) = if share.still() { (0.0, 0.0) } else { (refaults, 1e5) };
            let sense = Sense {
                refaults,
                background_swapping: swapping,
                background_memory: 900 * MIB,
                free_memory: 0,
                ..Sense::quiet(2, LOOK)
            };
            share.see(Duration::from_secs_f64(*at), &sense, true, 0.01);
        };
        look(&mut share, &mut at, 0.0);
        assert!(!share.still(), "it may swap as it likes where nothing holds it");
        look(&mut share, &mut at, 1000.0);
        let mut still = 0;
        for _ in 0..400 {
            look(&mut share, &mut at, 1000.0);
            still += usize::from(share.still());
        }
        assert!(still > 380, "{still} of 400 looks");
        share.see(Duration::from_secs_f64(at + LOOK), &Sense::quiet(2, LOOK), false, 0.01);
        assert!(!share.still());
    }

    #[test]
    fn what_reads_again_because_of_its_limit_stands_still_while_foreground_work_wants_its_pages_back() {
        let mut at = 0.0;
        let mut look = |share: &mut Share, refaults: f64, theirs: f64| {
            at += LOOK;
            let sense = Sense { refaults, background_refaults: theirs, ..Sense::quiet(2, LOOK) };
            let sense = Sense { background_memory: 900 * MIB, free_memory: 0, ..sense };
            share.see(Duration::from_secs_f64(at), &sense, true, 0.01);
            share.still()
        };
        let mut share = Share::default();
        assert!(!look(&mut share, 1000.0, 1e5), "nothing holds it yet");
        assert!(!look(&mut share, 0.0, 1e5), "foreground work has all that it wants");
        assert!(!look(&mut share, 1000.0, 100.0), "it does not read much");
        assert!(look(&mut share, 1000.0, 1e5));
        let still = (0..60).take_while(|_| look(&mut share, 0.0, 0.0)).count() as f64 * LOOK;
        assert!((9.0..11.0).contains(&still), "{still} s");
    }

    #[test]
    fn way_is_made_for_foreground_work_that_grows_where_memory_is_short() {
        let look = |share: &mut Share, at: f64, foreground: u64, free: u64| {
            let memory = Sense {
                foreground_memory: foreground * MIB,
                free_memory: free * MIB,
                background_memory: 500 * MIB,
                background_floor: 40 * MIB,
                ..Sense::quiet(2, 0.05)
            };
            share.see(Duration::from_secs_f64(at), &memory, true, 0.01);
            share.limit()
        };
        let mut share = Share::default();
        assert_eq!(look(&mut share, 0.05, 300, 10), None, "the first look tells no growth");
        assert_eq!(look(&mut share, 0.10, 301, 10), None);
        assert_eq!(look(&mut share, 0.15, 401, 10), Some(54 * MIB), "what is free is had first");
        assert_eq!(look(&mut share, 0.20, 421, 10), Some(54 * MIB), "never more than before");
        assert_eq!(look(&mut share, 0.25, 821, 10), Some(40 * MIB));
        let mut share = Share::default();
        look(&mut share, 0.05, 300, 10);
        assert_eq!(look(&mut share, 0.10, 400, 1000), None, "there is enough for both");
    }

    #[test]
    fn background_work_that_grows_where_memory_is_short_takes_none_of_foreground_work_s() {
        let look = |share: &mut Share, at: f64, has: u64, short: bool, kept: u64| {
            let memory = Sense {
                foreground_memory: 600 * MIB,
                free_memory: (1024 - 600 - has) * MIB,
                all_memory: 1024 * MIB,
                short_memory: short,
                background_memory: has * MIB,
                background_kept: kept * MIB,
                background_floor: (kept + 16) * MIB,
                ..Sense::quiet(2, 0.05)
            };
            share.see(Duration::from_secs_f64(at), &memory, true, 0.01);
            share.limit()
        };
        let mut share = Share::default();
        assert_eq!(look(&mut share, 0.05, 200, false, 40), None);
        assert_eq!(look(&mut share, 0.10, 250, false, 40), None, "there is enough for both");
        assert_eq!(look(&mut share, 0.15, 320, true, 40), Some(360 * MIB), "a sixteenth is left");
        assert_eq!(look(&mut share, 0.20, 360, true, 40), Some(360 * MIB));
        let mut share = Share::default();
        look(&mut share, 0.05, 320, true, 40);
        assert_eq!(look(&mut share, 0.10, 322, true, 40), None, "it does not grow");
        let mut share = Share::default();
        look(&mut share, 0.05, 320, true, 320);
        assert_eq!(look(&mut share, 0.10, 340, true, 340), None, "it could only be killed");
    }

    #[test]
    fn no_more_is_taken_once_foreground_work_has_what_it_wanted() {
        let look = |share: &mut Share, at: f64, foreground: u64, free: u64, has: u64| {
            let memory = Sense {
                foreground_memory: foreground * MIB,
                free_memory: free * MIB,
                background_memory: has * MIB,
                background_floor: 40 * MIB,
                ..Sense::quiet(2, 0.05)
            };
            share.see(Duration::from_secs_f64(at), &memory, true, 0.01);
            share.limit()
        };
        let mut share = Share::default();
        look(&mut share, 0.05, 300, 10, 500);
        assert_eq!(look(&mut share, 0.10, 400, 10, 500), Some(54 * MIB));
        assert_eq!(look(&mut share, 0.15, 400, 30, 480), Some(54 * MIB), "too little is free");
        assert_eq!(look(&mut share, 0.20, 400, 80, 430), Some(430 * MIB));
        assert_eq!(look(&mut share, 0.25, 400, 80, 430), Some(430 * MIB), "nor does it get any back yet");
    }

    #[test]
    fn foreground_work_that_only_waits_for_its_pages_is_at_work() {
        let (mut share, mut at, mut has) = (Share::default(), 0.0, 900 * MIB);
        let mut look = |refaults: f64, free: u64| {
            at += LOOK;
            let sense = Sense {
                refaults,
                background_memory: has,
                background_floor: 40 * MIB,
                ..Sense::quiet(2, LOOK)
            };
            let sense = Sense { free_memory: free, ..sense };
            share.see(Duration::from_secs_f64(at), &sense, false, 0.01);
            has = has.min(share.limit().unwrap_or(u64::MAX));
            share.limit()
        };
        assert_eq!(look(1000.0, 1 << 30), None, "there is room");
        assert_eq!(look(1.0, 0), None, "it misses nothing");
        let held = look(150.0, 0).expect("is held");
        assert!(look(0.0, 0).is_some(), "a moment without is no end");
        assert!(look(150.0, 0).expect("is held") < held);
        assert_eq!([look(0.0, 0), look(0.0, 0)].last(), Some(&None), "it is over");
    }

    #[test]
    fn without_foreground_work_nothing_is_held() {
        let (mut share, mut at) = (Share::default(), 0.0);
        look(&mut share, &mut at, 1000.0, MIB * 900);
        share.see(Duration::from_secs(9), &Sense::quiet(2, LOOK), false, 0.01);
        assert_eq!(share.limit(), None);
    }

    proptest! {
        #[test]
        fn more_refaults_never_give_more(
            looks in prop::collection::vec((0.0_f64..200.0, 0_u64..2000), 1..60),
            refaults in 0.0_f64..200.0, more in 0.0_f64..1000.0, has in 0_u64..2000,
        ) {
            let (mut share, mut at) = (Share::default(), 0.0);
            for (refaults, has) in looks {
                look(&mut share, &mut at, refaults, has * MIB);
            }
            let (mut less, mut greater, mut again) = (share.clone(), share, at);
            look(&mut less, &mut at, refaults, has * MIB);
            look(&mut greater, &mut again, refaults + more, has * MIB);
            let or_all = |share: &Share| share.limit().unwrap_or(u64::MAX);
            prop_assert!(or_all(&greater) <= or_all(&less).max(40 * MIB));
        }
    }
}
