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

use super::snapshot::Snapshot;
use super::trial::{Background, Backoff, HOLD, LONGEST, SETTLE, TRIAL};

/// How long it is paused to see of foreground work that begins whether it uses nearly all.
const FIRST: Duration = Duration::from_millis(64);
/// Over how long what is seen is averaged, in seconds.
const SMOOTH: f64 = 0.4;
/// The same of waiting: of computing that waits for nobody it is a slice of some milliseconds now and
/// then, of foreground work that is slowed it is more at once.
const SMOOTH_WAITING: f64 = 2.0;
/// Foreground work that uses so much more while background work is paused is slowed: less is chance.
const GAIN: f64 = 0.02;
/// What a trial shows that foreground work leaves of the host, if it is so little, is left to it altogether; so is what
/// is seen without a trial, if it is next to nothing; until it is enough.
const LITTLE: f64 = 0.10;
const NOTHING: f64 = 0.03;
const ENOUGH: f64 = 0.15;
/// Foreground work that uses such a share of the host is tried when it begins: where that has lately shown
/// nothing, and in any case.
const MUCH: [f64; 2] = [0.15, 0.75];
/// The first time between trials of foreground work that begins which show nothing.
const BEGINNINGS: Backoff = Backoff { hold: Duration::from_millis(500), ..Backoff::NONE };
/// How long a ratio is taken for true.
const VALID: Duration = Duration::from_secs(20);

/// Why it is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cause {
    /// Foreground work begins.
    Begins,
    /// It waits for processors, and has used so many.
    Waits { used: f64 },
}

/// A trial: why, since when, since when background work has been paused in it, and the processor seconds that
/// foreground work has used in so many seconds since.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trial {
    cause: Cause,
    began: Duration,
    from: Duration,
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
    /// Whether it was tried since it began.
    tried: bool,
    trial: Option<Trial>,
    /// What one trial has shown that takes another one to say the same.
    once: Option<f64>,
    /// How many times as much it uses without background work, and until when that is taken for true.
    slowed: Option<(f64, Duration)>,
    /// Share of the host that foreground work leaves, averaged; and whether that is so little that background work is
    /// paused.
    room: f64,
    tight: bool,
    /// When foreground work that begins may be tried, which it may do several times a second, and such that waits.
    beginnings: Backoff,
    waits: Backoff,
}

impl Default for Demand {
    fn default() -> Self {
        Demand {
            suspect: 0.0,
            used: 0.0,
            tried: false,
            trial: None,
            once: None,
            slowed: None,
            room: ENOUGH,
            tight: false,
            beginnings: BEGINNINGS,
            waits: Backoff::NONE,
        }
    }
}

/// The part of a new value in an average.
fn weight(snapshot: &Snapshot, over: f64) -> f64 {
    1.0 - (-snapshot.interval / over).exp()
}

impl Demand {
    /// Foreground work begins, or has ended.
    pub fn rewind(&mut self) {
        *self = Demand { beginnings: self.beginnings, ..Demand::default() };
    }

    /// Knows nothing any more of foreground work that goes on; it may be tried from `next`.
    fn forget(&mut self, next: Duration) {
        let waits = Backoff { next, ..Backoff::NONE };
        let (beginnings, room) = (self.beginnings, self.room);
        *self = Demand { tried: true, waits, beginnings, room, ..Demand::default() };
    }

    /// Takes a snapshot in.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot, background: Background) {
        let room = snapshot.room() / snapshot.cores as f64;
        self.room += weight(snapshot, SMOOTH) * (room - self.room);
        if let Some(trial) = &mut self.trial {
            // What covers another time says nothing about that in which background work is paused.
            if background == Background::Ran {
                trial.from = now;
            } else if now >= trial.from + SETTLE.max(Duration::from_secs_f64(snapshot.covers)) {
                trial.used += snapshot.foreground_cpu * snapshot.covers;
                trial.seconds += snapshot.covers;
            }
            let time = if matches!(trial.cause, Cause::Waits { .. }) { TRIAL } else { FIRST };
            let passed = now.saturating_sub(trial.began);
            if passed >= time && trial.seconds > 0.0 || passed >= LONGEST {
                let trial = *trial;
                self.trial = None;
                self.judge(now, snapshot, &trial);
            }
        } else if self.tight && self.room > ENOUGH {
            self.forget(now + HOLD[0]);
        } else if self.room < NOTHING {
            self.tight = true;
        } else if self.slowed.is_some_and(|(_, until)| now >= until) {
            self.forget(now);
        }
    }

    /// Begins a trial where the snapshot, over which background work ran, gives reason to: foreground work waits for
    /// more than a `tolerated` share of its time, or begins.
    pub fn consider(&mut self, now: Duration, snapshot: &Snapshot, tolerated: f64) {
        if self.is_in_trial() || self.tight() || self.slowed.is_some() {
            return;
        }
        let used = snapshot.foreground_cpu;
        let waited = snapshot.foreground_wait.unwrap_or(0.0).min(snapshot.background_cpu) / used.max(0.05);
        self.suspect += weight(snapshot, SMOOTH_WAITING) * (waited - self.suspect);
        self.used += if self.used == 0.0 { 1.0 } else { weight(snapshot, SMOOTH) } * (used - self.used);
        let much = MUCH[usize::from(now < self.beginnings.next)] * snapshot.cores as f64;
        let cause = if !self.tried && used >= much {
            Some(Cause::Begins)
        } else {
            let waits = self.suspect > tolerated && now >= self.waits.next;
            waits.then_some(Cause::Waits { used: self.used })
        };
        self.trial = cause.map(|cause| Trial { cause, began: now, from: now, used: 0.0, seconds: 0.0 });
    }

    fn judge(&mut self, now: Duration, snapshot: &Snapshot, trial: &Trial) {
        let Trial { cause, used, seconds, .. } = *trial;
        // Where nothing was seen, nothing is shown.
        let without = if seconds > 0.0 { used / seconds } else { 0.0 };
        (self.tried, self.suspect, self.used) = (true, 0.0, 0.0);
        let cores = snapshot.cores as f64;
        if without > (1.0 - LITTLE) * cores - snapshot.stolen {
            (self.tight, self.room) = (true, 1.0 - without / cores);
            if cause == Cause::Begins {
                self.beginnings = BEGINNINGS;
            }
            return;
        }
        let Cause::Waits { used } = cause else { return self.beginnings.longer(now) };
        let ratio = without / used.max(1e-6);
        match self.once.take() {
            _ if ratio <= 1.0 + GAIN => self.waits.longer(now),
            Some(other) => self.slowed = Some(((ratio * other).sqrt(), now + VALID)),
            // It may be chance, where foreground work leaves more than a little.
            None => (self.once, self.waits.next) = (Some(ratio), now + TRIAL),
        }
    }

    /// Whether it is being tried, for which background work has to be paused.
    pub fn is_in_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether foreground work leaves next to nothing.
    pub fn tight(&self) -> bool {
        self.tight
    }

    /// How many times as much foreground work does while background work is paused.
    pub fn ratio(&self) -> f64 {
        self.slowed.map_or(1.0, |(ratio, _)| ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: f64 = 0.05;

    /// Foreground work on two processors that waits so much, and uses so many beside background work and without.
    #[derive(Default)]
    struct Scene {
        demand: Demand,
        at: f64,
    }

    impl Scene {
        fn see(&mut self, snapshot: &Snapshot, background: Background) {
            let now = Duration::from_secs_f64(self.at);
            self.demand.see(now, snapshot, background);
            if background == Background::Ran {
                self.demand.consider(now, snapshot, 0.004);
            }
        }

        /// Watches it for so long; the share of the time for which background work ran.
        fn watch(&mut self, seconds: f64, waits: f64, used: [f64; 2]) -> f64 {
            let (mut ran, samples) = (0, (seconds / SAMPLE).round() as usize);
            for _ in 0..samples {
                self.at += SAMPLE;
                let runs = !self.demand.is_in_trial() && !self.demand.tight();
                ran += usize::from(runs);
                let (foreground_cpu, background) =
                    if runs { (used[0], Background::Ran) } else { (used[1], Background::Paused) };
                let snapshot = Snapshot {
                    foreground_cpu,
                    background_cpu: if runs { 2.0 - foreground_cpu } else { 0.0 },
                    foreground_wait: Some(waits),
                    ..Snapshot::quiet(2, SAMPLE)
                };
                self.see(&snapshot, background);
            }
            ran as f64 / samples as f64
        }
    }

    #[test]
    fn foreground_work_that_would_use_all_has_it() {
        let mut scene = Scene::default();
        scene.watch(1.0, 6.0, [1.7, 2.0]);
        assert_eq!(scene.watch(10.0, 6.0, [1.7, 2.0]), 0.0);
        assert!(scene.watch(2.0, 0.0, [0.5, 0.5]) > 0.5, "there is room again");
    }

    #[test]
    fn foreground_work_that_is_seen_to_use_all_needs_no_trial() {
        let mut demand = Demand::default();
        let mut see = |samples: u64, foreground_cpu: f64| {
            let snapshot = Snapshot { foreground_cpu, ..Snapshot::quiet(2, SAMPLE) };
            (0..samples).for_each(|_| demand.see(Duration::ZERO, &snapshot, Background::Ran));
            (demand.tight(), demand.is_in_trial())
        };
        assert_eq!(see(2, 2.0), (false, false), "that is a moment");
        assert_eq!(see(20, 2.0), (true, false));
        assert_eq!(see(40, 1.9), (true, false), "what it leaves is too little");
        assert_eq!(see(40, 1.5), (false, false));
    }

    #[test]
    fn foreground_work_that_begins_with_all_has_all_at_once() {
        for beside in [1.95, 0.98] {
            let mut scene = Scene::default();
            assert!(scene.watch(0.5, 0.0, [beside, 2.0]) < 0.2);
            assert!(scene.demand.tight(), "{beside} beside background work");
        }
        let mut scene = Scene::default();
        scene.watch(0.5, 0.0, [1.0, 1.0]);
        assert!(scene.watch(60.0, 0.0, [1.0, 1.0]) == 1.0, "once is enough");
    }

    #[test]
    fn what_was_used_while_background_work_ran_is_no_part_of_a_trial() {
        let mut scene = Scene::default();
        let sample = |foreground_cpu| Snapshot { foreground_cpu, ..Snapshot::quiet(2, 0.02) };
        scene.see(&sample(1.0), Background::Ran);
        assert!(scene.demand.is_in_trial());
        // It is released, since foreground work waits for it, and that uses all meanwhile.
        for _ in 0..20 {
            scene.at += 0.02;
            scene.see(&sample(2.0), Background::Ran);
        }
        while scene.demand.is_in_trial() {
            scene.at += 0.02;
            scene.see(&sample(1.0), Background::Paused);
        }
        assert!(!scene.demand.tight() && scene.at < 0.5, "{} s", scene.at);
    }

    #[test]
    fn a_trial_in_which_background_work_is_never_paused_ends_and_shows_nothing() {
        let mut scene = Scene::default();
        let snapshot = Snapshot { foreground_cpu: 1.0, ..Snapshot::quiet(2, SAMPLE) };
        for _ in 0..40 {
            scene.at += SAMPLE;
            scene.see(&snapshot, Background::Ran);
        }
        assert!(!scene.demand.is_in_trial() && !scene.demand.tight());
    }

    #[test]
    fn what_was_used_before_a_trial_is_no_part_of_it() {
        // Counted in ticks: counted every 100 ms, and in between as before.
        let mut scene = Scene::default();
        let (mut counted, mut from) = (0.5, 0);
        for at in (0_u32..1000).step_by(20) {
            let fresh = at - from >= 100;
            let covers = if fresh { f64::from(at - from) * 1e-3 } else { 0.0 };
            let tries = scene.demand.is_in_trial();
            if fresh {
                // All its threads have had a processor each since background work is paused.
                (counted, from) = (if tries { 2.0 } else { 1.0 }, at);
            }
            scene.at = f64::from(at) * 1e-3;
            let background = if tries { Background::Paused } else { Background::Ran };
            let snapshot = Snapshot { foreground_cpu: counted, covers, ..Snapshot::quiet(2, 0.02) };
            scene.see(&snapshot, background);
            if scene.demand.tight() {
                return;
            }
        }
        panic!("it uses all");
    }

    #[test]
    fn foreground_work_that_often_begins_and_leaves_room_costs_little() {
        let (mut scene, mut ran) = (Scene::default(), 0.0);
        for _ in 0..100 {
            scene.demand.rewind();
            ran += scene.watch(1.0, 0.0, [1.0, 1.0]);
        }
        assert!(ran > 99.0, "{ran} s of 100");
        scene.demand.rewind();
        assert!(scene.watch(0.5, 0.0, [1.9, 2.0]) < 0.2, "one that takes all has all");
        scene.demand.rewind();
        assert!(
            scene.watch(0.5, 0.0, [0.8, 2.0]) < 0.2,
            "and so has the next, however little it gets at first"
        );
    }

    #[test]
    fn foreground_work_that_waits_for_itself_is_left_as_it_is() {
        let mut scene = Scene::default();
        assert!(scene.watch(100.0, 3.0, [1.2, 1.2]) > 0.97);
        assert_eq!(scene.demand.ratio(), 1.0);
    }

    #[test]
    fn foreground_work_that_hardly_waits_is_tried_only_when_it_begins() {
        let mut scene = Scene::default();
        scene.watch(0.5, 0.001, [0.9, 1.5]);
        assert_eq!(scene.watch(60.0, 0.001, [0.9, 1.5]), 1.0);
        for _ in 0..20 {
            // 3 ms in one snapshot.
            assert_eq!(scene.watch(SAMPLE, 0.06, [0.9, 0.9]), 1.0);
            assert_eq!(scene.watch(2.0, 0.0, [0.9, 0.9]), 1.0);
        }
    }

    #[test]
    fn how_much_more_it_does_is_known_after_two_trials() {
        let mut scene = Scene::default();
        scene.watch(0.5, 3.0, [1.0, 1.3]);
        assert_eq!(scene.demand.ratio(), 1.0);
        scene.watch(2.0, 3.0, [1.0, 1.3]);
        assert!((scene.demand.ratio() - 1.3).abs() < 0.01 && !scene.demand.tight());
        scene.watch(60.0, 0.0, [1.0, 1.0]);
        assert_eq!(scene.demand.ratio(), 1.0, "it does not hold for ever");
    }
}
