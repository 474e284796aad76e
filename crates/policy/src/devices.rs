//! What background work costs foreground work at devices.
//!
//! Who waits for a device waits for all that others want of it, whatever processors do, and most devices
//! know no weights. How long requests take is counted for each disk, but neither everywhere whose they are
//! nor what they would take otherwise. So it is tried: background work is paused for a moment, and
//! requests are served faster, or they are not. Foreground work that waits for devices for a share `u` of its
//! time while background work is paused, and whose requests take `r` times as long while it runs, takes
//!
//! ```text
//! 1 + u (r − 1)
//! ```
//!
//! times as long. `r` is that of requests of the kinds that foreground work's are (of a disk; to read, to write, to
//! flush). Within a kind foreground work's is taken for the mean request: where its own are larger than others' it
//! is taken for less slowed than it is, where they are smaller for more.

use std::time::Duration;

use super::snapshot::{Served, Snapshot};
use super::trial::{BEGINS, Background, Backoff, LONGEST, SETTLE, TRIAL};

/// Background work that waits for devices for a smaller share of the time wants nothing of them.
const BACKGROUND: f64 = 0.02;
/// Foreground work that does is not what waits: the host's own logs and the like are.
const FOREGROUND: f64 = 0.02;
/// Foreground work that uses fewer processors is not there.
const AWAKE: f64 = 0.002;
/// Over how long is averaged, in seconds: what is seen while background work runs; the same of the little that
/// it runs where foreground work is slowed; what foreground work uses; for how much of the time it waits.
const SMOOTH: f64 = 1.0;
const SMOOTH_SHORT: f64 = 0.05;
const SMOOTH_USED: f64 = 0.25;
const SMOOTH_WAITS: f64 = 0.25;
/// Foreground work that takes so much longer at least is slowed, and no more once it is by less than half of that.
const LOSS: f64 = 0.02;
/// What is seen for fewer seconds, or of fewer requests, is too little: a trial is prolonged for that.
const LEAST: f64 = 0.15;
const FEW: f64 = 30.0;
/// How long a ratio is taken for true at first, and how often that is doubled where it is found again.
const VALID: Duration = Duration::from_secs(10);
const REPEATS: u32 = 4;
/// What was served beside background work so long ago was beside other work.
const OLD: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Verdict {
    /// Nothing is known, or it loses nothing.
    #[default]
    Open,
    /// Background work is paused since then, to see.
    Trial { began: Duration },
    /// Requests take so many times as long beside background work, which is taken for true until then.
    Slowed { longer: f64, until: Duration },
}

/// The part of a new value in an average.
fn weight(seconds: f64, over: f64) -> f64 {
    1.0 - (-seconds / over).exp()
}

/// Foreground work at devices, with background work and without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Devices {
    /// When the snapshot before was.
    sampled: Duration,
    /// Whether background work is paused, and since when it is or is not; seconds that it has run since what devices
    /// served was last counted.
    paused: bool,
    changed: Duration,
    ran: f64,
    /// What is served while it runs and waits for devices, the latest most, and when that was last; and what was
    /// served in the trial.
    beside: Served,
    beside_at: Duration,
    alone: Served,
    /// Share of the time for which it waits for devices while it runs, and foreground work while it does not.
    background: f64,
    waits: f64,
    /// Processors that foreground work uses.
    used: f64,
    verdict: Verdict,
    /// How often in a row it was found to be slowed.
    repeats: u32,
    backoff: Backoff,
}

impl Devices {
    /// Foreground work begins: it may be tried, whatever others were found to lose.
    pub fn rewind(&mut self) {
        self.backoff.next = Duration::ZERO;
    }

    /// Takes a snapshot in.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot, background: Background) {
        let paused = background == Background::Paused;
        self.used += weight(snapshot.interval, SMOOTH_USED) * (snapshot.foreground_cpu - self.used);
        if paused != self.paused {
            (self.paused, self.changed) = (paused, self.sampled);
        }
        if !paused {
            self.ran += now.saturating_sub(self.sampled).as_secs_f64();
        }
        self.sampled = now;
        // Where the kernel does not count whether background work waits, its cost is unknown.
        if let Some((served, background)) =
            snapshot.served.as_ref().and_then(|all| Some((all, all.background?)))
        {
            self.take(now, served, background);
        }
        self.conclude(now);
    }

    /// Adds to what is known with background work, or without; `background` are the seconds for which that
    /// waited.
    fn take(&mut self, now: Duration, served: &Served, background: f64) {
        let began = now.saturating_sub(Duration::from_secs_f64(served.seconds));
        let settled = began >= self.changed + if self.paused { SETTLE } else { BEGINS };
        let waits = background >= BACKGROUND * served.seconds;
        let ran = std::mem::take(&mut self.ran);
        if ran > 0.0 {
            let slowed = matches!(self.verdict, Verdict::Slowed { .. });
            let over = if slowed { SMOOTH_SHORT } else { SMOOTH };
            self.background += weight(ran, over) * ((background / ran).min(1.0) - self.background);
        }
        // Something else may pause it.
        if !self.paused && settled && waits {
            self.beside.fade(1.0 - weight(served.seconds, SMOOTH));
            self.beside.add(served);
            self.beside_at = now;
        }
        // What it had begun may not be over.
        if self.paused && settled && !waits {
            self.waits += weight(served.seconds, SMOOTH_WAITS) * (served.waits() - self.waits);
            self.alone.add(served);
        }
    }

    /// Concludes from what has been seen.
    fn conclude(&mut self, now: Duration) {
        match self.verdict {
            Verdict::Trial { began } => {
                let alone = &self.alone;
                let seen =
                    alone.seconds >= LEAST && (alone.waits() < FOREGROUND || alone.requests.count() >= FEW);
                if now >= began + TRIAL && seen || now >= began + LONGEST {
                    self.judge(now);
                }
            }
            Verdict::Slowed { until, .. } if now >= until => self.open(),
            Verdict::Slowed { .. } => {
                // One of both wants nothing of devices any more.
                if self.ratio() <= 1.0 + LOSS / 2.0 || self.background < BACKGROUND {
                    self.open();
                    (self.repeats, self.backoff) = (0, Backoff::NONE);
                }
            }
            Verdict::Open => {
                if now > self.beside_at + OLD {
                    self.beside = Served::default();
                }
            }
        }
    }

    /// Begins a trial where there is reason to.
    pub fn consider(&mut self, now: Duration) {
        let seen = self.beside.seconds >= LEAST && self.beside.requests.count() >= 1.0;
        let due = !self.paused && now >= self.backoff.next;
        if self.verdict == Verdict::Open && self.is_suspect() && seen && due {
            (self.verdict, self.alone) = (Verdict::Trial { began: now }, Served::default());
        }
    }

    /// What was known holds no more.
    fn open(&mut self) {
        self.verdict = Verdict::Open;
        self.beside = Served::default();
    }

    fn judge(&mut self, now: Duration) {
        self.waits = self.alone.waits();
        let longer = self.alone.requests.slowed_among(&self.beside.requests);
        let loses = |least: f64| self.waits >= FOREGROUND && self.waits * (least - 1.0) > LOSS;
        match longer {
            Some([longer, least]) if loses(least) => {
                let until = now + VALID * 2_u32.pow(self.repeats);
                self.verdict = Verdict::Slowed { longer, until };
                (self.repeats, self.backoff) = ((self.repeats + 1).min(REPEATS), Backoff::NONE);
            }
            _ => {
                (self.verdict, self.repeats) = (Verdict::Open, 0);
                self.backoff.longer(now);
            }
        }
    }

    /// Whether it is being tried, for which background work has to be paused.
    pub fn is_in_trial(&self) -> bool {
        matches!(self.verdict, Verdict::Trial { .. })
    }

    /// How many times as long foreground work takes while background work runs.
    pub fn ratio(&self) -> f64 {
        match self.verdict {
            Verdict::Slowed { longer, .. } => 1.0 + self.waits * (longer - 1.0).max(0.0),
            _ => 1.0,
        }
    }

    /// Whether background work wants devices, and no trial has shown yet that foreground work loses nothing by that: it
    /// would do more without background work, and use more processors' time for it.
    pub fn may_explain(&self) -> bool {
        let nothing = self.verdict == Verdict::Open && self.backoff != Backoff::NONE;
        self.is_suspect() && !nothing
    }

    /// Whether both are there, and background work wants devices.
    fn is_suspect(&self) -> bool {
        self.used >= AWAKE && self.background >= BACKGROUND
    }
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
