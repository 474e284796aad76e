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

use super::snapshot::{Requests, Served, Snapshot};
use super::trial::{BEGINS, Backoff, Background, LONGEST, SETTLE, TRIAL};

/// Background work that waits for devices for a smaller share of the time wants nothing of them.
const BACKGROUND: f64 = 0.02;
/// Foreground work that does is not what waits: the host's own logs and the like are.
const FOREGROUND: f64 = 0.02;
/// Foreground work that uses fewer processors is not there.
const AWAKE: f64 = 0.002;
/// Over how long is averaged, in seconds: what is seen while background work runs; the same of the little that
/// it runs where foreground work is slowed; what foreground work uses; for how much of the time it waits.
const SMOOTH: f64 = 1.0;
const SMOOTH_TURNS: f64 = 0.05;
const SMOOTH_USED: f64 = 0.25;
const SMOOTH_WAITS: f64 = 0.25;
/// Foreground work that takes so much longer at least is slowed, and no more once it is by less than half of that.
const LOSS: f64 = 0.02;
/// What is seen for fewer seconds, or of fewer requests, is too little: a trial is prolonged for that.
const LEAST: f64 = 0.15;
const FEW: f64 = 30.0;
/// How long a ratio is taken for true: at first, and where it has been found again and again.
const VALID: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(160)];
/// Foreground work that was slowed for a shorter time may have been taken for that only.
const BRIEF: Duration = Duration::from_secs(3);
/// What was served beside background work so long ago was beside other work.
const OLD: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Nothing is known, or it loses nothing.
    Open,
    /// Background work is paused since then, to see.
    Trial { began: Duration },
    /// Requests take so many times as long beside background work, known since then and taken for true until
    /// then.
    Slowed { longer: f64, since: Duration, until: Duration },
}

/// The part of a new value in an average.
fn weight(seconds: f64, over: f64) -> f64 {
    1.0 - (-seconds / over).exp()
}

/// Foreground work at devices, with background work and without.
#[derive(Debug, Clone, PartialEq)]
pub struct Devices {
    /// When the snapshot before was.
    sampled: Duration,
    /// Whether background work runs, and since when it does or does not; seconds that it has run since what
    /// devices served was last counted.
    runs: bool,
    changed: Duration,
    ran: f64,
    /// What is served while it runs and waits for devices, the latest most; in so many seconds, and when last.
    beside: Requests,
    beside_for: f64,
    beside_at: Duration,
    /// Share of the time for which it waits for devices while it runs, and foreground work while it does not.
    background: f64,
    waits: f64,
    /// Processors that foreground work uses.
    used: f64,
    verdict: Verdict,
    /// What was served in the trial.
    alone: Served,
    backoff: Backoff,
    valid: Duration,
}

impl Default for Devices {
    fn default() -> Self {
        Devices {
            sampled: Duration::ZERO,
            runs: true,
            changed: Duration::ZERO,
            ran: 0.0,
            beside: Requests::default(),
            beside_for: 0.0,
            beside_at: Duration::ZERO,
            background: 0.0,
            waits: 0.0,
            used: 0.0,
            verdict: Verdict::Open,
            alone: Served::default(),
            backoff: Backoff::NONE,
            valid: VALID[0],
        }
    }
}

impl Devices {
    /// Foreground work begins: it may be tried, whatever others were found to lose.
    pub fn rewind(&mut self) {
        self.backoff.next = Duration::ZERO;
    }

    /// Takes a snapshot in.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot, background: Background) {
        let runs = background != Background::Paused;
        self.used += weight(snapshot.interval, SMOOTH_USED) * (snapshot.foreground_cpu - self.used);
        if runs != self.runs {
            (self.runs, self.changed) = (runs, self.sampled);
        }
        if runs {
            self.ran += now.saturating_sub(self.sampled).as_secs_f64();
        }
        self.sampled = now;
        // Where the kernel does not count whether background work waits, its cost is unknown.
        if let Some((served, background)) = snapshot.served.as_ref().and_then(|all| Some((all, all.background?))) {
            self.take(now, served, background);
        }
        self.conclude(now);
    }

    /// Adds to what is known with background work, or without; `background` are the seconds for which that
    /// waited.
    fn take(&mut self, now: Duration, served: &Served, background: f64) {
        let began = now.saturating_sub(Duration::from_secs_f64(served.seconds));
        let settled = began >= self.changed + if self.runs { BEGINS } else { SETTLE };
        let waits = background >= BACKGROUND * served.seconds;
        let ran = std::mem::take(&mut self.ran);
        if ran > 0.0 {
            let slowed = matches!(self.verdict, Verdict::Slowed { .. });
            let over = if slowed { SMOOTH_TURNS } else { SMOOTH };
            self.background += weight(ran, over) * ((background / ran).min(1.0) - self.background);
        }
        // Something else may pause it.
        if self.runs && settled && waits {
            let kept = 1.0 - weight(served.seconds, SMOOTH);
            self.beside.fade(kept);
            self.beside.add(&served.requests);
            (self.beside_for, self.beside_at) = (kept * self.beside_for + served.seconds, now);
        }
        // What it had begun may not be over.
        if !self.runs && settled && !waits {
            self.waits += weight(served.seconds, SMOOTH_WAITS) * (served.waits() - self.waits);
            if self.tries() {
                self.alone.seconds += served.seconds;
                self.alone.waited += served.waited;
                self.alone.requests.add(&served.requests);
            }
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
            Verdict::Slowed { since, .. } => {
                // One of both wants nothing of devices any more.
                if self.ratio() <= 1.0 + LOSS / 2.0 || self.background < BACKGROUND {
                    self.open();
                    (self.valid, self.backoff) = (VALID[0], Backoff::NONE);
                    if now < since + BRIEF {
                        self.backoff.longer(now);
                    }
                }
            }
            Verdict::Open => {
                if now > self.beside_at + OLD {
                    (self.beside, self.beside_for) = (Requests::default(), 0.0);
                }
            }
        }
    }

    /// Begins a trial where there is reason to.
    pub fn consider(&mut self, now: Duration) {
        let seen = self.beside_for >= LEAST && self.beside.count() >= 1.0;
        if self.verdict == Verdict::Open && self.runs && self.is_suspect() && seen && now >= self.backoff.next {
            (self.verdict, self.alone) = (Verdict::Trial { began: now }, Served::default());
        }
    }

    /// What was known holds no more.
    fn open(&mut self) {
        self.verdict = Verdict::Open;
        (self.beside, self.beside_for) = (Requests::default(), 0.0);
    }

    fn judge(&mut self, now: Duration) {
        self.waits = self.alone.waits();
        let longer = self.alone.requests.slowed_among(&self.beside);
        let loses = |least: f64| self.waits >= FOREGROUND && self.waits * (least - 1.0) > LOSS;
        match longer {
            Some([longer, least]) if loses(least) => {
                self.verdict = Verdict::Slowed { longer, since: now, until: now + self.valid };
                self.valid = (self.valid * 2).min(VALID[1]);
                self.backoff = Backoff::NONE;
            }
            _ => {
                self.verdict = Verdict::Open;
                self.valid = VALID[0];
                self.backoff.longer(now);
            }
        }
    }

    /// Whether it is being tried, for which background work has to be paused.
    pub fn tries(&self) -> bool {
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
