//! Which processors foreground work leaves: those that did nothing while background work stood still.
//!
//! Where background work is not in the idle class it has half of a processor that it meets foreground work on. The
//! kernel does not move foreground work to another one soon where a crowd waits beside it that may not go there:
//! it looks at 32 (`sched_nr_migrate` of `kernel/sched/fair.c`), and then at others later.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::steady::Steady;
use crosstalk_cgroup::group::reading::busy_times;
use crosstalk_cgroup::process::TICK;

/// Standing still for less says nothing: the kernel counts in ticks of some milliseconds.
const LEAST: Duration = Duration::from_millis(40);
/// Of a longer time what counts is its end.
const LATELY: Duration = Duration::from_millis(250);
/// Background work is moved where that leaves so many halves of processors more to foreground work: less is chance.
const WORTH: u32 = 2;
/// Of a processor about which nothing is told: it may not be there.
const UNTOLD: u32 = 1000;

/// How busy each processor is: CPU time so far, by number.
type Busy = Vec<(usize, Duration)>;

/// What foreground work used of each processor when that was last seen.
#[derive(Debug)]
pub(super) struct Vacancy {
    stat: Option<Steady>,
    /// What was told since background work stands still, the last two times.
    told: [Option<(Duration, Busy)>; 2],
    /// Halves of each processor that foreground work used, rounded, by number.
    halves: BTreeMap<usize, u32>,
    /// What was chosen last.
    chosen: Vec<usize>,
}

impl Vacancy {
    /// Nothing has been seen yet.
    pub(super) fn new() -> Self {
        Vacancy {
            stat: Steady::open(Path::new("/proc/stat")),
            told: [None, None],
            halves: BTreeMap::new(),
            chosen: Vec::new(),
        }
    }

    fn busy(&mut self) -> Option<Busy> {
        self.stat.as_mut()?.told(|text| Some(busy_times(text, TICK)))
    }

    /// Background work stands still.
    pub(super) fn rests(&mut self, now: Duration) {
        let [older, newer] = &self.told;
        let last = newer.as_ref().or(older.as_ref());
        if last.is_some_and(|(at, _)| now.saturating_sub(*at) < LATELY) {
            return;
        }
        if let Some(busy) = self.busy() {
            self.tell(now, busy);
        }
    }

    fn tell(&mut self, now: Duration, busy: Busy) {
        match &mut self.told {
            [older @ None, _] => *older = Some((now, busy)),
            [_, newer @ None] => *newer = Some((now, busy)),
            [older, newer] => *older = newer.replace((now, busy)),
        }
    }

    /// It is about to go on.
    pub(super) fn goes_on(&mut self, now: Duration) {
        let [older, newer] = std::mem::take(&mut self.told);
        let long = |told: &(Duration, Busy)| now.saturating_sub(told.0) >= LEAST;
        let Some((at, before)) = newer.filter(long).or(older.filter(long)) else { return };
        if let Some(busy) = self.busy() {
            self.see(now.saturating_sub(at), &before, &busy);
        }
    }

    fn see(&mut self, passed: Duration, before: &Busy, now: &Busy) {
        let halves = |busy: Duration| (2.0 * busy.as_secs_f64() / passed.as_secs_f64()).round() as u32;
        let before: BTreeMap<usize, Duration> = before.iter().copied().collect();
        let since = |(number, busy): &(usize, Duration)| {
            Some((*number, halves(busy.saturating_sub(*before.get(number)?))))
        };
        self.halves = now.iter().filter_map(since).collect();
    }

    fn used(&self, one: usize) -> u32 {
        self.halves.get(&one).copied().unwrap_or(UNTOLD)
    }

    /// So many of these, at least one: those that it has where that is as good, else those that foreground work uses
    /// least, and of these the last. (The first handle most of the interrupts.)
    pub(super) fn choose(&mut self, count: usize, of: &[usize]) -> &[usize] {
        let mut best = of.to_vec();
        best.sort_by_cached_key(|one| (self.used(*one), Reverse(*one)));
        best.truncate(count.max(1));
        let used = |all: &[usize]| all.iter().map(|one| self.used(*one)).sum::<u32>();
        if best.len() != self.chosen.len() || used(&self.chosen) >= used(&best) + WORTH {
            best.sort_unstable();
            self.chosen = best;
        }
        &self.chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Foreground work uses so many milliseconds of 100 of each processor.
    fn see(vacancy: &mut Vacancy, used: &[u32]) {
        let now: Busy = used.iter().enumerate().map(|(number, used)| (number, *used * MS)).collect();
        let before = now.iter().map(|(number, _)| (*number, Duration::ZERO)).collect();
        vacancy.see(100 * MS, &before, &now);
    }

    fn seen(used: &[u32]) -> Vacancy {
        let mut vacancy = Vacancy::new();
        see(&mut vacancy, used);
        vacancy
    }

    #[test]
    fn background_work_goes_where_foreground_work_does_not_run() {
        let mut vacancy = seen(&[4, 100, 0, 60]);
        assert_eq!(vacancy.choose(1, &[0, 1, 2, 3]), [2]);
        assert_eq!(vacancy.choose(2, &[0, 1, 2, 3]), [0, 2]);
        assert_eq!(vacancy.choose(3, &[0, 1, 2, 3]), [0, 2, 3]);
        assert_eq!(vacancy.choose(0, &[1]), [1], "at least one");
        assert_eq!(vacancy.choose(9, &[1, 3]), [1, 3]);
    }

    #[test]
    fn where_nothing_tells_them_apart_it_has_the_last() {
        for mut vacancy in [Vacancy::new(), seen(&[2, 0, 9]), seen(&[95, 100, 105])] {
            assert_eq!(vacancy.choose(2, &[0, 1, 2]), [1, 2]);
        }
    }

    #[test]
    fn a_processor_that_is_not_told_of_may_not_be_there() {
        assert_eq!(seen(&[0, 100]).choose(1, &[0, 1, 2]), [0]);
        assert_eq!(seen(&[100, 100]).choose(1, &[0, 1, 2]), [1]);
    }

    #[test]
    fn it_stays_where_it_is_unless_that_is_worth_something() {
        let mut vacancy = seen(&[100, 0]);
        assert_eq!(vacancy.choose(1, &[0, 1]), [1]);
        for used in [[0, 0], [60, 60], [0, 60], [60, 0]] {
            see(&mut vacancy, &used);
            assert_eq!(vacancy.choose(1, &[0, 1]), [1], "{used:?}");
        }
        see(&mut vacancy, &[0, 100]);
        assert_eq!(vacancy.choose(1, &[0, 1]), [0]);
    }

    #[test]
    fn what_counts_is_lately() {
        let told = |times: &[u32]| {
            let mut vacancy = Vacancy::new();
            times.iter().for_each(|at| vacancy.tell(*at * MS, vec![(0, *at * MS)]));
            vacancy.told.map(|told| told.map(|(at, _)| at))
        };
        assert_eq!(told(&[0]), [Some(Duration::ZERO), None]);
        assert_eq!(told(&[0, 250, 500, 750]), [Some(500 * MS), Some(750 * MS)]);
        let mut brief = Vacancy::new();
        brief.rests(Duration::ZERO);
        brief.goes_on(4 * MS);
        assert!(brief.halves.is_empty(), "a probe's time says nothing");
        let since = |now: u32| {
            let mut vacancy = Vacancy::new();
            let busy = vacancy.busy()?;
            // In a second before the last quarter of one all processors were used.
            let earlier =
                busy.iter().map(|(number, busy)| (*number, busy.saturating_sub(1000 * MS))).collect();
            vacancy.tell(Duration::ZERO, earlier);
            vacancy.tell(1000 * MS, busy);
            vacancy.goes_on(now * MS);
            vacancy.halves.values().copied().max()
        };
        // What this machine does meanwhile is next to no time, and none of it is that second.
        assert!(since(1250).is_none_or(|most| most < 2) && since(1010).is_none_or(|most| most >= 1));
    }
}
