//! Whether foreground work would use more processors if background work was paused, although that is in the
//! idle class: found out by pausing it for a moment.
//!
//! A processor that runs idle-class work is not idle to the kernel: foreground work that waits on another
//! one is not pulled over at once (`sched_balance_newidle` in `kernel/sched/fair.c` runs where there
//! is nothing to run), but at the next balancing, milliseconds later. Foreground work whose threads sleep and
//! wake up often, a database's, loses by that. It shows where foreground work waits for a
//! processor while background work has one; but it may as well wait for itself. So it is tried:
//! background work is paused, and foreground work uses more, or it does not. Foreground work that begins is tried
//! at once, since its threads may all have begun on one processor: if it uses nearly all of them, it
//! has them from the beginning.

use std::time::Duration;

use super::activity::MORE;
use super::snapshot::Snapshot;
use super::trial::{Backoff, HOLD, SETTLE, TRIAL};

/// How long it is paused to see of foreground work that begins whether it uses nearly all.
const FIRST: Duration = Duration::from_millis(64);
/// Over how long what is seen is averaged, in seconds.
const SMOOTH: f64 = 0.4;
/// The same of waiting: of computing that waits for nobody it is a slice of some milliseconds now and
/// then, of foreground work that is slowed it is more at once.
const SMOOTH_WAITING: f64 = 2.0;
/// Foreground work that uses so much more while background work is paused is slowed: less is chance.
const GAIN: f64 = 0.02;
/// A share of the host that is so small is left to foreground work altogether, and when it is no more.
const LITTLE: f64 = 0.10;
const ENOUGH: f64 = 0.15;
/// Foreground work that uses such a share of the host is tried when it begins: where that has lately shown
/// nothing, and in any case.
const MUCH: [f64; 2] = [0.15, 0.75];
/// So many trials in a row must say that foreground work is slowed, where it leaves more than a little.
const TRIALS: u32 = 2;
/// Over how long what foreground work uses is averaged to say that other joins it, in seconds.
const SMOOTH_LATELY: f64 = 0.1;
/// The first time between trials of foreground work that begins which show nothing.
const HOLD_OF_FIRST: Duration = Duration::from_millis(500);
/// How long a ratio is taken for true.
const VALID: Duration = Duration::from_secs(20);

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Nothing, or that it loses nothing.
    Open,
    /// It has used so many times as much in so many trials; `until` then.
    Slowed { ratio: f64, trials: u32, until: Duration },
    /// It uses all but a little: background work is paused.
    Tight { room: f64 },
}

/// A trial: since when, how many processors foreground work used before, where that is known, and the
/// processor seconds that it has used in so many seconds of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trial {
    began: Duration,
    before: Option<f64>,
    used: f64,
    seconds: f64,
}

/// What foreground work uses with background work and without.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Share of its processor time that foreground work waited while background work had a processor.
    suspect: f64,
    /// Processors that it used meanwhile.
    used: f64,
    trial: Option<Trial>,
    /// The least that foreground work has used since it was last tried, if it was since it began, in processors.
    tried: Option<f64>,
    /// That it has used lately.
    lately: f64,
    verdict: Verdict,
    rest: Backoff,
    /// The same of trials of foreground work that begins, and, whatever they show, of foreground work that joins other: it
    /// may do so, and leave it, several times a second.
    rest_of_first: Backoff,
    rest_of_joining: Backoff,
}

const NONE_OF_FIRST: Backoff = Backoff { hold: HOLD_OF_FIRST, ..Backoff::NONE };

impl Default for Demand {
    fn default() -> Self {
        Demand {
            suspect: 0.0,
            used: 0.0,
            trial: None,
            tried: None,
            lately: 0.0,
            verdict: Verdict::Open,
            rest: Backoff::NONE,
            rest_of_first: NONE_OF_FIRST,
            rest_of_joining: NONE_OF_FIRST,
        }
    }
}

impl Demand {
    /// Foreground work begins, or has ended.
    pub fn rewind(&mut self) {
        *self = Demand { rest_of_first: self.rest_of_first, ..Demand::default() };
    }

    /// Knows nothing any more, of foreground work that goes on and uses so much; it may be tried from `next`.
    fn forget(&mut self, used: f64, next: Duration) {
        *self = Demand {
            tried: Some(used),
            lately: used,
            rest: Backoff { next, ..Backoff::NONE },
            rest_of_first: self.rest_of_first,
            rest_of_joining: self.rest_of_joining,
            ..Demand::default()
        };
    }

    /// Takes a snapshot in. `runs` says whether background work ran meanwhile, `tolerated` which share of
    /// its time foreground work may wait, `joins` whether foreground work that joins other is tried at once: background work
    /// would have its half of each processor beside it.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot, runs: bool, tolerated: f64, joins: bool) {
        let weight = 1.0 - (-snapshot.interval / SMOOTH).exp();
        if let Some(trial) = &mut self.trial {
            // What covers a time before the trial says nothing about it.
            if now >= trial.began + SETTLE && now >= trial.began + Duration::from_secs_f64(snapshot.covers) {
                trial.used += snapshot.foreground_cpu * snapshot.covers;
                trial.seconds += snapshot.covers;
            }
            let time = if trial.before.is_some() { TRIAL } else { FIRST };
            if now >= trial.began + time && trial.seconds > 0.0 {
                let trial = *trial;
                self.trial = None;
                self.judge(now, snapshot, &trial);
            }
            return;
        }
        match &mut self.verdict {
            Verdict::Tight { room } => {
                *room += weight * (snapshot.room() - *room);
                if *room > ENOUGH * snapshot.cores as f64 {
                    let used = snapshot.cores as f64 - *room;
                    self.forget(used, now + HOLD[0]);
                }
                return;
            }
            Verdict::Slowed { trials: TRIALS, until, .. } => {
                if now >= *until {
                    self.forget(snapshot.foreground_cpu, now);
                }
                return;
            }
            Verdict::Slowed { .. } | Verdict::Open => {}
        }
        if !runs {
            return;
        }
        let waited = snapshot.foreground_wait.unwrap_or(0.0).min(snapshot.background_cpu)
            / snapshot.foreground_cpu.max(0.05);
        self.suspect += (1.0 - (-snapshot.interval / SMOOTH_WAITING).exp()) * (waited - self.suspect);
        self.used += if self.used == 0.0 { 1.0 } else { weight } * (snapshot.foreground_cpu - self.used);
        self.lately +=
            (1.0 - (-snapshot.interval / SMOOTH_LATELY).exp()) * (snapshot.foreground_cpu - self.lately);
        let least = MUCH[usize::from(now < self.rest_of_first.next)];
        self.tried = self.tried.map(|used| used.min(self.lately));
        let more = self.tried.is_some_and(|used| self.lately > used + MORE);
        let joins = joins && more && now >= self.rest_of_joining.next;
        let begins =
            (self.tried.is_none() || joins) && snapshot.foreground_cpu >= least * snapshot.cores as f64;
        if begins && joins {
            self.rest_of_joining.longer(now);
        }
        if begins || self.suspect > tolerated && now >= self.rest.next {
            let before = (!begins).then_some(self.used);
            self.trial = Some(Trial { began: now, before, used: 0.0, seconds: 0.0 });
        }
    }

    fn judge(&mut self, now: Duration, snapshot: &Snapshot, trial: &Trial) {
        let without = trial.used / trial.seconds.max(1e-6);
        (self.tried, self.lately) = (Some(without), without);
        let cores = snapshot.cores as f64;
        let tight = without > (1.0 - LITTLE) * cores - snapshot.stolen;
        // Of foreground work that has only begun nothing is known but what it leaves.
        let ratio = trial.before.map(|used| without / used.max(1e-6));
        self.verdict = match (self.verdict, ratio) {
            (_, None) if !tight => {
                self.rest_of_first.longer(now);
                Verdict::Open
            }
            (_, Some(ratio)) if ratio <= 1.0 + GAIN => {
                self.rest.longer(now);
                Verdict::Open
            }
            (_, None) => {
                self.rest_of_first = NONE_OF_FIRST;
                Verdict::Tight { room: cores - without }
            }
            _ if tight => Verdict::Tight { room: cores - without },
            (Verdict::Slowed { ratio: other, trials, .. }, Some(ratio)) => {
                Verdict::Slowed { ratio: (ratio * other).sqrt(), trials: trials + 1, until: now + VALID }
            }
            (_, Some(ratio)) => {
                self.rest.next = now + TRIAL;
                Verdict::Slowed { ratio, trials: 1, until: now + VALID }
            }
        };
        self.suspect = 0.0;
        self.used = 0.0;
    }

    /// Whether it is being tried, for which background work has to be paused.
    pub fn tries(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether foreground work leaves next to nothing.
    pub fn tight(&self) -> bool {
        matches!(self.verdict, Verdict::Tight { .. })
    }

    /// How many times as much foreground work does while background work is paused.
    pub fn ratio(&self) -> f64 {
        match self.verdict {
            Verdict::Slowed { ratio, trials: TRIALS, .. } => ratio,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: f64 = 0.05;

    /// Looks for so long at foreground work that waits so much, and uses so many of two processors beside
    /// background work and without; the share of the time for which that ran.
    fn watch(demand: &mut Demand, at: &mut f64, seconds: f64, waits: f64, used: [f64; 2]) -> f64 {
        let (mut ran, samples) = (0, (seconds / SAMPLE).round() as usize);
        for _ in 0..samples {
            *at += SAMPLE;
            let runs = !demand.tries() && !demand.tight();
            ran += usize::from(runs);
            let foreground_cpu = if runs { used[0] } else { used[1] };
            let background_cpu = if runs { 2.0 - foreground_cpu } else { 0.0 };
            let snapshot = Snapshot {
                foreground_cpu,
                background_cpu,
                foreground_wait: Some(waits),
                ..Snapshot::quiet(2, SAMPLE)
            };
            demand.see(Duration::from_secs_f64(*at), &snapshot, runs, 0.004, true);
        }
        ran as f64 / samples as f64
    }

    #[test]
    fn foreground_work_that_would_use_all_has_it() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        watch(&mut demand, &mut at, 1.0, 6.0, [1.7, 2.0]);
        assert_eq!(watch(&mut demand, &mut at, 10.0, 6.0, [1.7, 2.0]), 0.0);
        assert!(watch(&mut demand, &mut at, 2.0, 0.0, [0.5, 0.5]) > 0.5, "there is room again");
    }

    #[test]
    fn foreground_work_that_begins_with_all_has_all_at_once() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        assert!(watch(&mut demand, &mut at, 0.5, 0.0, [1.95, 2.0]) < 0.2);
        assert!(demand.tight());
        let (mut demand, mut at) = (Demand::default(), 0.0);
        watch(&mut demand, &mut at, 0.5, 0.0, [1.0, 1.0]);
        assert!(watch(&mut demand, &mut at, 60.0, 0.0, [1.0, 1.0]) == 1.0, "once is enough");
    }

    #[test]
    fn what_was_used_before_a_trial_is_no_part_of_it() {
        // Counted in ticks: counted every 100 ms, and in between as before.
        let mut demand = Demand::default();
        let (mut counted, mut from) = (0.5, 0);
        for at in (0_u32..1000).step_by(20) {
            let fresh = at - from >= 100;
            let covers = if fresh { f64::from(at - from) * 1e-3 } else { 0.0 };
            if fresh {
                // All its threads have had a processor each since background work is paused.
                (counted, from) = (if demand.tries() { 2.0 } else { 1.0 }, at);
            }
            let now = Duration::from_millis(at.into());
            let runs = !demand.tries();
            demand.see(
                now,
                &Snapshot { foreground_cpu: counted, covers, ..Snapshot::quiet(2, 0.02) },
                runs,
                0.004,
                true,
            );
            if demand.tight() {
                return;
            }
        }
        panic!("it uses all");
    }

    #[test]
    fn foreground_work_that_begins_on_one_processor_has_all_at_once() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        assert!(watch(&mut demand, &mut at, 0.5, 0.0, [0.98, 2.0]) < 0.2);
        assert!(demand.tight());
    }

    #[test]
    fn foreground_work_that_often_begins_and_leaves_room_costs_little() {
        let (mut demand, mut at, mut ran) = (Demand::default(), 0.0, 0.0);
        for _ in 0..100 {
            demand.rewind();
            ran += watch(&mut demand, &mut at, 1.0, 0.0, [1.0, 1.0]);
        }
        assert!(ran > 99.0, "{ran} s of 100");
        demand.rewind();
        assert!(watch(&mut demand, &mut at, 0.5, 0.0, [1.9, 2.0]) < 0.2, "one that takes all has all");
    }

    #[test]
    fn foreground_work_that_begins_beside_other_is_tried_too() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        // A spike, a little, and then all there is: half of that beside background work.
        watch(&mut demand, &mut at, 0.2, 0.0, [1.2, 1.2]);
        watch(&mut demand, &mut at, 2.0, 0.0, [0.1, 0.1]);
        assert_eq!(watch(&mut demand, &mut at, 2.0, 0.0, [0.1, 0.1]), 1.0);
        assert!(watch(&mut demand, &mut at, 0.5, 0.0, [1.0, 2.0]) < 0.4);
        assert!(demand.tight());
    }

    #[test]
    fn foreground_work_that_uses_more_and_less_is_rarely_tried() {
        let (mut demand, mut at, mut ran) = (Demand::default(), 0.0, 0.0);
        for _ in 0..60 {
            ran += watch(&mut demand, &mut at, 0.5, 0.0, [0.3, 0.3]);
            ran += watch(&mut demand, &mut at, 0.5, 0.0, [1.6, 1.6]);
        }
        assert!(ran / 120.0 > 0.98, "{}", ran / 120.0);
    }

    #[test]
    fn foreground_work_that_uses_all_now_and_then_does_not_keep_background_work_from_the_rest() {
        let (mut demand, mut at, mut ran) = (Demand::default(), 0.0, 0.0);
        for _ in 0..600 {
            ran += watch(&mut demand, &mut at, 0.1, 0.0, [2.0, 2.0]);
            ran += watch(&mut demand, &mut at, 0.1, 0.0, [0.5, 0.5]);
        }
        assert!(ran / 1200.0 > 0.9, "{}", ran / 1200.0);
    }

    #[test]
    fn foreground_work_that_waits_for_itself_is_left_as_it_is() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        assert!(watch(&mut demand, &mut at, 100.0, 3.0, [1.2, 1.2]) > 0.97);
        assert_eq!(demand.ratio(), 1.0);
    }

    #[test]
    fn a_slice_of_waiting_now_and_then_is_no_reason_to_try() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        // But once, when it begins.
        watch(&mut demand, &mut at, 0.5, 0.0, [1.0, 1.0]);
        for _ in 0..20 {
            // 3 ms in one snapshot.
            assert_eq!(watch(&mut demand, &mut at, SAMPLE, 0.06, [1.0, 1.0]), 1.0);
            assert_eq!(watch(&mut demand, &mut at, 2.0, 0.0, [1.0, 1.0]), 1.0);
        }
    }

    #[test]
    fn how_much_more_it_does_is_known_after_two_trials() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        watch(&mut demand, &mut at, 0.5, 3.0, [1.0, 1.3]);
        assert_eq!(demand.ratio(), 1.0);
        watch(&mut demand, &mut at, 2.0, 3.0, [1.0, 1.3]);
        assert!((demand.ratio() - 1.3).abs() < 0.01 && !demand.tight());
        watch(&mut demand, &mut at, 60.0, 0.0, [1.0, 1.0]);
        assert_eq!(demand.ratio(), 1.0, "it does not hold for ever");
    }

    #[test]
    fn foreground_work_that_never_waits_is_never_disturbed_by_a_trial() {
        let (mut demand, mut at) = (Demand::default(), 0.0);
        // But once, when it begins.
        watch(&mut demand, &mut at, 0.5, 0.001, [0.9, 1.5]);
        assert_eq!(watch(&mut demand, &mut at, 60.0, 0.001, [0.9, 1.5]), 1.0);
    }
}
