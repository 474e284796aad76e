//! Which processors own work leaves: those that did nothing while external work stood still.
//!
//! Where external work is not in the idle class it has half of a processor that it meets own work on. The
//! kernel does not move own work to another one soon where a crowd waits beside it that may not go there:
//! it looks at 32 (`sched_nr_migrate` of `kernel/sched/fair.c`), and then at others later.

use std::cmp::Reverse;
use std::path::Path;
use std::time::Duration;

use super::steady::Steady;
use crate::group::reading::busy_times;
use crate::process::TICK;

/// Standing still for less says nothing: the kernel counts in ticks of some milliseconds.
const LEAST: Duration = Duration::from_millis(40);
/// Of a longer time what counts is its end.
const LATELY: Duration = Duration::from_millis(250);

/// How busy each processor is: CPU time so far, by number.
type Busy = Vec<(usize, Duration)>;

/// What own work used of each processor when that was last seen.
#[derive(Debug)]
pub(super) struct Vacancy {
    stat: Option<Steady>,
    /// What was told since external work stands still, the last two times.
    told: [Option<(Duration, Busy)>; 2],
    /// Halves of each processor that own work used, rounded.
    halves: Vec<(usize, u32)>,
}

impl Vacancy {
    /// Nothing has been seen yet.
    pub(super) fn new() -> Self {
        Vacancy { stat: Steady::open(Path::new("/proc/stat")), told: [None, None], halves: Vec::new() }
    }

    fn busy(&mut self) -> Option<Busy> {
        self.stat.as_mut()?.told(|text| Some(busy_times(text, TICK)))
    }

    /// External work stands still.
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
        let [older, _] = std::mem::take(&mut self.told);
        let Some((at, before)) = older.filter(|(at, _)| now.saturating_sub(*at) >= LEAST) else { return };
        if let Some(busy) = self.busy() {
            self.see(now.saturating_sub(at), &before, &busy);
        }
    }

    fn see(&mut self, passed: Duration, before: &Busy, now: &Busy) {
        let halves = |busy: Duration| (2.0 * busy.as_secs_f64() / passed.as_secs_f64()).round() as u32;
        let since = |(number, busy): &(usize, Duration)| {
            let (_, then) = before.iter().find(|(other, _)| other == number)?;
            Some((*number, halves(busy.saturating_sub(*then))))
        };
        self.halves = now.iter().filter_map(since).collect();
    }

    /// So many of these, at least one: those that own work uses least, and of these the last. (The first
    /// handle most of the interrupts.)
    pub(super) fn choose(&self, count: usize, of: &[usize]) -> Vec<usize> {
        let used =
            |one: usize| self.halves.iter().find(|(number, _)| *number == one).map_or(0, |(_, used)| *used);
        let mut chosen = of.to_vec();
        chosen.sort_by_key(|one| (used(*one), Reverse(*one)));
        chosen.truncate(count.max(1));
        chosen.sort_unstable();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn seen(used: &[u32]) -> Vacancy {
        let mut vacancy = Vacancy::new();
        let before: Busy = (0..used.len()).map(|number| (number, 1000 * MS)).collect();
        let now = used.iter().enumerate().map(|(number, used)| (number, (1000 + used) * MS)).collect();
        vacancy.see(100 * MS, &before, &now);
        vacancy
    }

    #[test]
    fn external_work_goes_where_own_work_does_not_run() {
        let vacancy = seen(&[4, 100, 0, 60]);
        assert_eq!(vacancy.choose(1, &[0, 1, 2, 3]), [2]);
        assert_eq!(vacancy.choose(2, &[0, 1, 2, 3]), [0, 2]);
        assert_eq!(vacancy.choose(3, &[0, 1, 2, 3]), [0, 2, 3]);
        assert_eq!(vacancy.choose(0, &[1]), [1], "at least one, of those that it may have");
        assert_eq!(vacancy.choose(9, &[1, 3]), [1, 3]);
    }

    #[test]
    fn where_nothing_tells_them_apart_it_has_the_last() {
        for vacancy in [Vacancy::new(), seen(&[2, 0, 9]), seen(&[95, 100, 105])] {
            assert_eq!(vacancy.choose(2, &[0, 1, 2]), [1, 2]);
        }
    }

    #[test]
    fn what_counts_is_lately() {
        let mut vacancy = Vacancy::new();
        for (at, busy) in [(0, 0), (250, 250), (500, 250)] {
            vacancy.tell(at * MS, vec![(0, busy * MS)]);
        }
        let [Some((at, _)), Some(_)] = &vacancy.told else { panic!("two times are known") };
        assert_eq!(*at, 250 * MS);
        vacancy.goes_on(510 * MS);
        assert!(matches!(vacancy.told, [None, None]) && !vacancy.halves.is_empty(), "it was long enough");
        let mut brief = Vacancy::new();
        brief.rests(Duration::ZERO);
        brief.goes_on(4 * MS);
        assert!(brief.halves.is_empty(), "a probe's time says nothing");
    }
}
