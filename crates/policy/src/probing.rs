//! What probes show of contention: in foreground work's place, and elsewhere.

use std::time::Duration;

use super::activity::Activity;
use super::contention::Contention;
use super::duty::DutyCycle;
use super::snapshot::{Probe, Snapshot};

/// Time between pairs where background work always runs: while little is known or the last pair says much more than
/// that; while foreground work is active and more pairs may show what matters; otherwise while it is active; and while
/// it is quiet. The first pairs are quick: what they cost foreground work is not held back yet.
const SURVEY: [Duration; 4] =
    [Duration::from_millis(40), Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(5)];
/// So many pairs make that known.
const KNOWN: usize = 8;
/// Two probes this far apart say nothing about each other.
const APART: Duration = Duration::from_millis(500);
/// Over how long is averaged what probes take from foreground work, in seconds.
const SMOOTH: f64 = 3.0;

/// A probe: whether background work ran, where it was taken (in foreground work's place, and on which processor), and
/// when.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Taken {
    running: bool,
    place: (bool, Option<usize>),
    probe: Probe,
    at: Duration,
}

/// Probes, and the pairs that they make.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probing {
    /// Contention while foreground work is quiet, or where it is not known on which processors it runs: a first guess.
    guess: Contention,
    /// Contention in foreground work's place.
    known: Contention,
    /// Probes are taken there.
    placed: bool,
    /// The probe before.
    last: Option<Taken>,
    /// For which share of the time the guard itself runs in foreground work's place.
    displaced: f64,
}

impl Probing {
    /// Foreground work has begun or ended: the probe before makes no pair with the next.
    pub fn rewind(&mut self) {
        self.last = None;
    }

    /// Takes a snapshot in. `pace` says how many times as rarely as usual they come.
    pub fn see(
        &mut self,
        now: Duration,
        snapshot: &Snapshot,
        cycle: &DutyCycle,
        foreground: &Activity,
        pace: f64,
    ) {
        let place = snapshot.probe_place;
        let weight = 1.0 - (-snapshot.interval / SMOOTH).exp();
        self.displaced += weight * (place.seconds / snapshot.interval.max(1e-4) - self.displaced);
        self.placed = foreground.busy() && place.foreground;
        let Some(probe) = snapshot.probe else { return };
        if snapshot.released {
            // It was taken while some of background work ran that was to be paused.
            self.last = None;
            return;
        }
        let taken = Taken { running: cycle.running(), place: (self.placed, place.on), probe, at: now };
        let Some(before) = self.last.replace(taken) else { return };
        let apart = now.saturating_sub(before.at) > APART.mul_f64(pace);
        if before.running == taken.running || before.place != taken.place || apart {
            return;
        }
        let (running, paused) = if taken.running { (probe, before.probe) } else { (before.probe, probe) };
        let contention = if self.placed { &mut self.known } else { &mut self.guess };
        contention.add(&running, &paused);
    }

    /// How many times as long a probe of each kind takes while background work runs: in foreground work's place once
    /// that is known, before that the worse of both.
    pub fn ratios(&self) -> [f64; 3] {
        let (mut ratios, guess) = (self.known.ratios(), self.guess.ratios());
        let known = self.known.pairs() >= KNOWN;
        for (ratio, guess) in ratios.iter_mut().zip(guess) {
            *ratio = if known { *ratio } else { ratio.max(guess) };
        }
        ratios
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.known.pairs().max(self.guess.pairs())
    }

    /// Whether these are the first, which follow each other more quickly than any later.
    pub fn begins(&self) -> bool {
        self.pairs() < KNOWN
    }

    /// For which share of the time the guard itself runs in foreground work's place.
    pub fn displaced(&self) -> f64 {
        self.displaced
    }

    /// Time between pairs where background work always runs, and a slowdown that large `matters`.
    pub fn survey(&self, foreground: &Activity, matters: f64) -> Duration {
        let contention = if self.placed { &self.known } else { &self.guess };
        match (contention.pairs() < KNOWN || contention.is_doubted(), foreground.busy()) {
            (true, _) => SURVEY[0],
            (false, true) if contention.is_open(matters) => SURVEY[1],
            (false, true) => SURVEY[2],
            (false, false) => SURVEY[3],
        }
    }
}
