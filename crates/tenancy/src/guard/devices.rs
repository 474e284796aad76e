//! What external work costs own work at devices.
//!
//! Who waits for a device waits for all that others want of it, whatever processors do, and most devices
//! know no weights. How long requests take is told of each device, but neither everywhere whose they are
//! nor what they would take otherwise. So it is tried: external work stands still for a moment, and
//! requests are served faster, or they are not. Own work that waits for devices for a share `u` of its
//! time while external work stands still, and whose requests take `r` times as long while it runs, takes
//!
//! ```text
//! 1 + u (r − 1)
//! ```
//!
//! times as long. It is taken for as sensitive as the mean request: one that waits for large ones of
//! others loses more, one whose own are the large ones less.

use std::time::Duration;

use super::rest::{Rest, SETTLE, TRIAL};
use super::sense::{Sense, Served};

/// Of the time, what waiting for devices is nobody's fault: the host's own, of logs and the like.
const NOISE: f64 = 0.02;
/// Own work that uses fewer processors does nothing that could wait.
const AWAKE: f64 = 0.01;
/// Over how long requests and what own work uses are averaged, in seconds.
const SMOOTH: f64 = 1.0;
const SMOOTH_OWN: f64 = 0.25;
/// Own work that takes so much longer is slowed: less is chance.
const LOSS: f64 = 0.05;
/// Fewer requests tell nothing.
const FEW: f64 = 5.0;
/// How long a ratio is taken for true: at first, and where it has been found again and again.
const VALID: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(160)];
/// Own work that does so many times as much as at the last trial is another one, and may be tried so long
/// after that.
const OTHER: f64 = 2.0;
const SOON: Duration = Duration::from_secs(2);
/// How long the devices must not have been shared until external work has its weight again.
const CALM: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Nothing is known, or it loses nothing.
    Open,
    /// External work stands still since then, to see; what was served in it.
    Trial { began: Duration, served: Served },
    /// Own work takes so many times as long beside it; `until` then.
    Slowed { ratio: f64, until: Duration },
}

/// Own work at devices, with external work and without.
#[derive(Debug, Clone, PartialEq)]
pub struct Devices {
    /// What is served while external work runs, the latest most.
    beside: Served,
    /// Share of the time for which own work waits while external work stands still.
    waits: f64,
    /// Since when that does.
    still: Option<Duration>,
    /// Processors that own work uses, and that it used at the last trial; when that was.
    used: [f64; 2],
    tried: Option<Duration>,
    verdict: Verdict,
    rest: Rest,
    valid: Duration,
    /// Until when both count as using the same devices.
    shared: Option<Duration>,
}

impl Default for Devices {
    fn default() -> Self {
        Devices {
            beside: Served::default(),
            waits: 0.0,
            still: None,
            used: [0.0; 2],
            tried: None,
            verdict: Verdict::Open,
            rest: Rest::NONE,
            valid: VALID[0],
            shared: None,
        }
    }
}

impl Devices {
    /// Takes a look in. `runs` says whether external work ran meanwhile, `tries` whether it may be made
    /// to stand still to see.
    pub fn see(&mut self, now: Duration, sense: &Sense, runs: bool, tries: bool) {
        self.used[0] += (1.0 - (-sense.interval / SMOOTH_OWN).exp()) * (sense.own_cpu - self.used[0]);
        self.still = if runs {
            None
        } else {
            self.still.or(Some(now.saturating_sub(Duration::from_secs_f64(sense.interval))))
        };
        let Some(served) = sense.served else { return };
        if runs {
            self.beside = self.beside.faded((-served.seconds / SMOOTH).exp()).and(&served);
        }
        let began = now.saturating_sub(Duration::from_secs_f64(served.seconds));
        let alone = self.still.is_some_and(|since| began >= since + SETTLE);
        if alone {
            let weight = 1.0 - (-served.seconds / SMOOTH_OWN).exp();
            self.waits += weight * (served.waits() - self.waits);
        }
        match &mut self.verdict {
            Verdict::Trial { began, served: sum } => {
                if alone {
                    *sum = sum.and(&served);
                }
                if now >= *began + TRIAL {
                    let alone = *sum;
                    self.judge(now, &alone);
                }
            }
            Verdict::Slowed { until, .. } => {
                self.shared = Some(now + CALM);
                if now >= *until {
                    self.verdict = Verdict::Open;
                    self.beside = Served::default();
                } else if alone && self.waits < NOISE / 2.0 {
                    // It wants nothing of them any more.
                    *self = Devices { shared: self.shared, used: self.used, ..Devices::default() };
                }
            }
            Verdict::Open if runs => self.suspect(now, tries),
            Verdict::Open => {}
        }
        self.shared = self.shared.filter(|until| now < *until);
    }

    /// Begins a trial, if own work may be losing anything.
    fn suspect(&mut self, now: Duration, tries: bool) {
        let both = self.used[0] >= AWAKE
            && self.beside.time >= NOISE * self.beside.seconds
            && self.beside.external.is_none_or(|waited| waited >= NOISE * self.beside.seconds);
        if !both {
            return;
        }
        self.shared = Some(now + CALM);
        let other = self.used[0] > OTHER * self.used[1] && self.tried.is_none_or(|tried| now >= tried + SOON);
        if tries && (now >= self.rest.next || other) && self.beside.requests >= FEW {
            self.verdict = Verdict::Trial { began: now, served: Served::default() };
            (self.used[1], self.tried) = (self.used[0], Some(now));
        }
    }

    fn judge(&mut self, now: Duration, alone: &Served) {
        let longer = self.beside.each() / alone.each().max(1e-9);
        self.waits = alone.waits();
        let ratio = 1.0 + self.waits * (longer - 1.0);
        if alone.requests < FEW || self.waits < NOISE || ratio <= 1.0 + LOSS {
            self.verdict = Verdict::Open;
            self.valid = VALID[0];
            self.rest.longer(now);
            return;
        }
        self.verdict = Verdict::Slowed { ratio, until: now + self.valid };
        self.valid = (self.valid * 2).min(VALID[1]);
        self.rest = Rest::NONE;
    }

    /// Whether it is being tried, for which external work has to stand still.
    pub fn tries(&self) -> bool {
        matches!(self.verdict, Verdict::Trial { .. })
    }

    /// How many times as long own work takes while external work runs.
    pub fn ratio(&self) -> f64 {
        match self.verdict {
            Verdict::Slowed { ratio, .. } => ratio,
            _ => 1.0,
        }
    }

    /// Whether both may be using the same devices, or have lately.
    pub fn shared(&self) -> bool {
        self.shared.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: f64 = 0.05;

    /// A device and own work at it: that waits for so much of its time alone; the mean request takes so
    /// long, without external work and beside it.
    #[derive(Clone, Copy)]
    struct Truth {
        waits: f64,
        each: [f64; 2],
        own_cpu: f64,
    }

    const SLOWED: Truth = Truth { waits: 0.9, each: [0.001, 0.003], own_cpu: 0.1 };

    /// Looks for so long; the share of the time for which external work ran.
    fn watch(devices: &mut Devices, at: &mut f64, seconds: f64, truth: Truth) -> f64 {
        let (mut ran, looks) = (0, (seconds / LOOK).round() as usize);
        for look in 0..looks {
            *at += LOOK;
            // Where own work is slowed, external work runs by turns.
            let runs = !devices.tries() && (devices.ratio() == 1.0 || look % 8 == 0);
            ran += usize::from(runs);
            let each = truth.each[usize::from(runs)];
            let in_flight = if runs { 1.0 } else { truth.waits };
            let served = Served {
                seconds: LOOK,
                requests: in_flight * LOOK / each,
                time: in_flight * LOOK,
                stalled: Some(in_flight * LOOK),
                external: Some(if runs { LOOK } else { 0.0 }),
            };
            let sense = Sense { own_cpu: truth.own_cpu, served: Some(served), ..Sense::quiet(2, LOOK) };
            devices.see(Duration::from_secs_f64(*at), &sense, runs, true);
        }
        ran as f64 / looks as f64
    }

    #[test]
    fn how_much_longer_own_work_takes_is_known_within_half_a_second() {
        let (mut devices, mut at) = (Devices::default(), 0.0);
        watch(&mut devices, &mut at, 0.5, SLOWED);
        // 1 + 0.9 × (3 − 1).
        assert!((devices.ratio() - 2.8).abs() < 0.01, "{}", devices.ratio());
        assert!(devices.shared());
    }

    #[test]
    fn what_own_work_seldom_waits_for_hardly_slows_it() {
        let (mut devices, mut at) = (Devices::default(), 0.0);
        watch(&mut devices, &mut at, 0.5, Truth { waits: 0.1, ..SLOWED });
        assert!((devices.ratio() - 1.2).abs() < 0.01, "{}", devices.ratio());
    }

    #[test]
    fn external_work_alone_at_a_device_is_hardly_ever_disturbed() {
        for waits in [0.0, 0.01] {
            let (mut devices, mut at) = (Devices::default(), 0.0);
            let ran = watch(&mut devices, &mut at, 200.0, Truth { waits, ..SLOWED });
            assert!(ran > 0.98 && devices.ratio() == 1.0, "{ran}");
        }
        let (mut devices, mut at) = (Devices::default(), 0.0);
        let ran = watch(&mut devices, &mut at, 200.0, Truth { own_cpu: 0.002, ..SLOWED });
        assert!(ran == 1.0 && !devices.shared(), "nobody is awake: {ran}");
    }

    #[test]
    fn a_device_that_serves_both_as_fast_is_left_to_both() {
        let (mut devices, mut at) = (Devices::default(), 0.0);
        let ran = watch(&mut devices, &mut at, 200.0, Truth { each: [0.001, 0.00103], ..SLOWED });
        assert!(ran > 0.98 && devices.ratio() == 1.0, "{ran}");
    }

    #[test]
    fn it_is_tried_again_after_ever_longer_times_while_it_stays_true() {
        let (mut devices, mut at, mut open) = (Devices::default(), 0.0, 0);
        for _ in 0..6000 {
            watch(&mut devices, &mut at, LOOK, SLOWED);
            open += usize::from(devices.ratio() == 1.0);
        }
        assert!(open < 60, "{open} of 6000 looks");
    }

    #[test]
    fn when_own_work_wants_nothing_any_more_external_work_is_back_at_once() {
        let (mut devices, mut at) = (Devices::default(), 0.0);
        watch(&mut devices, &mut at, 5.0, SLOWED);
        assert!(devices.ratio() > 2.0);
        watch(&mut devices, &mut at, 1.8, Truth { waits: 0.0, own_cpu: 0.001, ..SLOWED });
        assert_eq!(devices.ratio(), 1.0);
        watch(&mut devices, &mut at, 6.0, Truth { waits: 0.0, own_cpu: 0.001, ..SLOWED });
        assert!(!devices.shared());
    }

    #[test]
    fn own_work_that_begins_is_tried_although_nothing_was_found_before() {
        let (mut devices, mut at) = (Devices::default(), 0.0);
        watch(&mut devices, &mut at, 100.0, Truth { waits: 0.0, own_cpu: 0.015, ..SLOWED });
        assert_eq!(devices.ratio(), 1.0);
        watch(&mut devices, &mut at, 1.0, SLOWED);
        assert!(devices.ratio() > 2.0);
    }

    #[test]
    fn where_nothing_can_stand_still_nothing_is_tried() {
        let mut devices = Devices::default();
        let served = Served { seconds: LOOK, requests: 50.0, time: LOOK, stalled: None, external: None };
        for look in 1..100 {
            let sense = Sense { own_cpu: 0.1, served: Some(served), ..Sense::quiet(2, LOOK) };
            devices.see(Duration::from_secs_f64(LOOK * f64::from(look)), &sense, true, false);
            assert!(!devices.tries() && devices.ratio() == 1.0);
        }
        assert!(devices.shared(), "weights do not need it");
    }
}
