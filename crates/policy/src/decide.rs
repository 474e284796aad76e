//! What background work is granted, from what is seen: pure, driven by a clock that is told.

use std::time::Duration;

use serde::Serialize;

use super::activity::Activity;
use super::contract::Contract;
use super::demand::Demand;
use super::devices::Devices;
use super::duty::{Rhythm, share};
use super::menu::Menu;
use super::pages::Share;
use super::sense::{Probe, Sense};

/// What can be done to background work here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offers {
    /// It is in the idle class where it meets foreground work: it never takes a processor from that.
    pub idle: bool,
    /// It can stand still and go on within milliseconds.
    pub turns: bool,
    /// It can stand still.
    pub still: bool,
    /// Its processors can be chosen.
    pub cores: bool,
    /// Its memory can be limited.
    pub memory: bool,
    /// Devices have weights.
    pub io: bool,
}

/// What background work is granted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Grant {
    /// For which share of the time it may run.
    pub share: f64,
    /// On how many processors.
    pub cores: usize,
    /// How many bytes of memory it may have; all where `None`.
    pub memory: Option<u64>,
    /// Whether it has the least weight at devices.
    pub least_io: bool,
}

/// How far the guard goes, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Idle class, or the least weight: always.
    Base,
    /// Fewer processors.
    Cores,
    /// Less memory.
    Memory,
    /// The least weight at devices.
    Io,
    /// Running for a part of the time.
    Turns,
    /// Standing still.
    Still,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is granted.
    pub grant: Grant,
    /// Whether background work runs at this moment.
    pub run: bool,
    /// How far that goes.
    pub grade: Grade,
    /// When to look again.
    pub wake: Duration,
    /// Whether to take a probe then, before anything is changed.
    pub probe: bool,
    /// What it follows from.
    pub why: Why,
}

/// Why background work stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Still {
    /// Foreground work leaves no room.
    Full,
    /// To see whether foreground work would use more processors.
    Trial,
    /// To see whether devices would serve foreground work faster.
    Devices,
    /// It would only swap.
    Swapping,
}

/// What a decision follows from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Why {
    /// Foreground work is at work.
    pub busy: bool,
    /// Background work is in the idle class where it meets foreground work: it gives processors back by itself.
    pub yields: bool,
    /// Why background work stands still, if it has to.
    pub still: Option<Still>,
    /// How many times as long a probe of each kind takes while background work runs.
    pub ratios: [f64; 3],
    /// How many pairs of probes say so.
    pub pairs: usize,
    /// By how much foreground work is slower by waiting for processors while background work has them.
    pub waiting: f64,
    /// By how much it is slower by waiting for devices while background work runs.
    pub devices: f64,
    /// Foreground work's slowdown that is to be expected of all this.
    pub expected: f64,
}

/// Of the slowdown agreed on, what is planned with: the rest is for what is not seen. What probes take from foreground
/// work is, and goes off it, up to half.
const PLANNED: f64 = 0.8;
/// Looks: while foreground work is quiet (it must be seen soon when it begins or goes on), while it is not, and where
/// there is no background work.
const LOOK: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(250)];
/// Where foreground work has only begun: the look that saw it may have seen no more than its first moment.
const BEGINS: Duration = Duration::from_millis(16);
/// Between two pairs where background work always runs: while little is known or the last pair says much
/// more than that, beside foreground work where more pairs may show what matters, otherwise while it is at work, and
/// while it is quiet. The first pairs are quick: what they cost foreground work is not held back yet.
const SURVEY: [Duration; 4] =
    [Duration::from_millis(40), Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(5)];
/// So many pairs make that known.
const KNOWN: usize = 8;
/// Two probes this far apart say nothing about each other.
const APART: Duration = Duration::from_millis(500);
/// Waiting for memory that is nobody's fault.
const NOISE: f64 = 0.02;
/// Over how long waiting is averaged, in seconds.
const SMOOTH: f64 = 1.0;
/// What looking costs, in processors, above which it is done more rarely, and below which more often.
const COST: [f64; 2] = [0.0045, 0.0025];
/// Over how long that is averaged, in seconds: a probe costs as much as a hundred looks.
const SMOOTH_COST: f64 = 3.0;
/// How much more rarely at most.
const SLOWEST: f64 = 6.0;

/// A probe: whether background work ran, where the guard stood (in foreground work's place, and on which processor), and
/// when.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Taken {
    running: bool,
    place: (bool, Option<usize>),
    probe: Probe,
    at: Duration,
}

/// The policy, and what it remembers.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    contract: Contract,
    offers: Offers,
    foreground: Activity,
    /// Contention while foreground work is quiet, or where it is not known on which processors it runs: a first guess.
    guess: Menu,
    /// Contention in foreground work's place.
    menu: Menu,
    rhythm: Rhythm,
    /// A probe was asked for, since the rhythm turns at the next look: it does, although what that
    /// follows from may have changed a little by then.
    turns: bool,
    /// Whether it stands still for no longer than a probe takes: to devices that is nothing.
    briefly: bool,
    demand: Demand,
    devices: Devices,
    pages: Share,
    waiting: f64,
    /// The probe before.
    last: Option<Taken>,
    /// Probes are taken in foreground work's place.
    placed: bool,
    /// For which share of the time the guard stands in foreground work's place itself.
    displaced: f64,
    there: bool,
    cost: f64,
    pace: f64,
}

impl Policy {
    /// Nothing has been seen yet.
    pub fn new(contract: Contract, offers: Offers, cores: usize) -> Self {
        Policy {
            contract,
            offers,
            foreground: Activity::new(contract.busy, cores),
            guess: Menu::new(cores, false),
            menu: Menu::new(cores, offers.cores),
            rhythm: Rhythm::new(Duration::ZERO),
            turns: false,
            briefly: false,
            demand: Demand::default(),
            devices: Devices::default(),
            pages: Share::default(),
            waiting: 0.0,
            last: None,
            placed: false,
            displaced: 0.0,
            there: false,
            cost: 0.0,
            pace: 1.0,
        }
    }

    /// Takes a look in, and says what follows.
    pub fn step(&mut self, now: Duration, sense: &Sense) -> Decision {
        if sense.background_there && !self.there {
            // Whatever was known is of other work.
            self.guess = Menu::new(sense.cores, false);
            self.menu = Menu::new(sense.cores, self.offers.cores);
            self.devices = Devices::default();
            self.last = None;
        }
        self.there = sense.background_there;
        let was_busy = self.foreground.busy();
        self.foreground.see(now, sense);
        if self.foreground.busy() != was_busy {
            self.last = None;
            self.menu.rewind();
            self.demand.rewind();
        }
        self.placed = self.foreground.busy() && sense.stand.foreground;
        let runs = (self.rhythm.running() && !sense.held) || sense.let_run;
        self.wait(sense, runs);
        self.pair(now, sense);
        let weight = 1.0 - (-sense.interval / SMOOTH_COST).exp();
        self.displaced += weight * (sense.stand.seconds / sense.interval.max(1e-4) - self.displaced);
        let planned = self.contract.slowdown * PLANNED;
        // Who is only asked takes too long for a trial.
        let tries = self.offers.still && (self.offers.idle || self.offers.turns);
        if self.foreground.busy() && !self.foreground.full() && tries {
            let runs = runs && !self.devices.may_explain();
            self.demand.see(now, sense, runs, planned, !self.offers.idle);
        }
        if self.there {
            let tries = self.offers.turns && !self.foreground.full() && !self.demand.tries();
            self.devices.see(now, sense, runs || self.briefly, tries);
        }
        self.pages.see(now, sense, self.foreground.busy(), planned.max(NOISE));
        self.keep_pace(sense);
        self.decide(now, sense)
    }

    /// Another way for background work to be dealt with, found meanwhile.
    pub fn offer(&mut self, offers: Offers) {
        self.offers = offers;
    }

    /// What waiting for processors costs foreground work.
    fn wait(&mut self, sense: &Sense, runs: bool) {
        let weight = 1.0 - (-sense.interval / SMOOTH).exp();
        // In the idle class it takes no processor from foreground work; what foreground work waits for is itself.
        let waited = if self.offers.idle { 0.0 } else { sense.foreground_wait.unwrap_or(0.0) };
        if runs {
            let taken = waited.min(sense.background_cpu) / sense.foreground_cpu.max(self.contract.busy);
            self.waiting += weight * (taken - self.waiting);
        }
    }

    /// Puts the probe beside the one before, if that was taken in the other state.
    fn pair(&mut self, now: Duration, sense: &Sense) {
        let Some(probe) = sense.probe else { return };
        let running = self.rhythm.running();
        if (running && sense.held) || sense.let_run {
            // It was taken beside nobody, or beside who was to stand still.
            self.last = None;
            return;
        }
        let taken = Taken { running, place: (self.placed, sense.stand.on), probe, at: now };
        let Some(before) = self.last.replace(taken) else { return };
        let apart = now.saturating_sub(before.at) > APART.mul_f64(self.pace);
        if before.running == running || before.place != taken.place || apart {
            return;
        }
        let (running, still) = if running { (probe, before.probe) } else { (before.probe, probe) };
        let (extra, budget) = (self.extra(), self.budget());
        let menu = if self.placed { &mut self.menu } else { &mut self.guess };
        menu.add(&running, &still, extra, self.foreground.room(), budget);
    }

    /// By how much background work may slow foreground work.
    fn budget(&self) -> f64 {
        let planned = self.contract.slowdown * PLANNED;
        (planned - self.displaced).max(planned / 2.0)
    }

    fn extra(&self) -> f64 {
        // What foreground work gains at devices, or by not waiting, it gains in processors' time, too.
        (1.0 + self.waiting).max(self.demand.ratio()).max(self.devices.ratio())
    }

    /// How many times as long foreground work takes while background work runs. While it is quiet, what still counts
    /// is who waits for devices.
    fn ratio(&self) -> f64 {
        if self.foreground.busy() {
            self.ratios().into_iter().fold(1.0, f64::max) * self.extra()
        } else {
            self.devices.ratio()
        }
    }

    /// The ratio of each kind: in foreground work's place once that is known, before that the worse one.
    fn ratios(&self) -> [f64; 3] {
        let (mut ratios, guess) = (self.menu.ratios(), self.guess.ratios());
        let known = self.menu.contention().pairs() >= KNOWN;
        for (ratio, guess) in ratios.iter_mut().zip(guess) {
            *ratio = if known { *ratio } else { ratio.max(guess) };
        }
        ratios
    }

    fn keep_pace(&mut self, sense: &Sense) {
        if sense.probe.is_some() && self.known() < KNOWN {
            // The first probes follow each other more quickly than any later, once.
            return;
        }
        let weight = 1.0 - (-sense.interval / SMOOTH_COST).exp();
        self.cost += weight * (sense.looking - self.cost);
        let change = (sense.interval / SMOOTH).min(1.0);
        if self.cost > COST[0] {
            self.pace = (self.pace * (1.0 + change)).min(SLOWEST);
        } else if self.cost < COST[1] {
            self.pace = (self.pace / (1.0 + change)).max(1.0);
        }
    }

    fn decide(&mut self, now: Duration, sense: &Sense) -> Decision {
        let busy = self.foreground.busy();
        let still = self.still().filter(|_| self.offers.still && self.there);
        let full = still.is_some();
        let ratio = self.ratio();
        let allowed = if self.offers.turns { share(self.budget(), ratio) } else { 1.0 };
        let end = self.turn(now, allowed, full);
        let pace = if self.pages.hurried() { 1.0 } else { self.pace };
        let look = match (self.there, busy) {
            (true, true) if self.foreground.begins(now) => BEGINS,
            (false, _) => LOOK[2].mul_f64(pace),
            (true, true) if sense.foreground_cpu >= self.contract.busy => LOOK[1].mul_f64(pace),
            (true, _) => LOOK[0].mul_f64(pace),
        };
        let left = end.saturating_sub(now);
        let turning = self.there && self.offers.turns && !full && left <= look;
        self.turns = turning;
        self.briefly = !full && allowed >= 1.0 && !self.rhythm.running();
        let grant = self.grant(sense, busy, if full { 0.0 } else { allowed });
        let why = Why {
            busy,
            yields: self.offers.idle,
            still,
            ratios: self.ratios(),
            pairs: self.known(),
            waiting: self.waiting.max(self.demand.ratio() - 1.0),
            devices: self.devices.ratio() - 1.0,
            expected: super::duty::slowdown(grant.share, ratio),
        };
        Decision {
            run: self.rhythm.running(),
            grade: grade(&grant, sense.cores),
            wake: if turning { left } else { look },
            probe: turning,
            grant,
            why,
        }
    }

    fn still(&self) -> Option<Still> {
        if self.pages.still() {
            return Some(Still::Swapping);
        }
        if self.foreground.full() || self.demand.tight() {
            return Some(Still::Full);
        }
        let trials = [(self.demand.tries(), Still::Trial), (self.devices.tries(), Still::Devices)];
        trials.into_iter().find_map(|(tries, still)| tries.then_some(still))
    }

    fn known(&self) -> usize {
        self.menu.contention().pairs().max(self.guess.contention().pairs())
    }

    /// Turns if it is time to; when it is time next.
    fn turn(&mut self, now: Duration, allowed: f64, full: bool) -> Duration {
        let survey = self.survey();
        let announced = std::mem::take(&mut self.turns);
        if full || !self.there || !self.offers.turns {
            // Nothing to be measured, or nothing to be measured by.
            if self.rhythm.running() == full {
                self.rhythm.turn(now);
            }
            return now + survey;
        }
        if announced || now >= self.rhythm.turns(allowed, survey, self.pace) {
            self.rhythm.turn(now);
        }
        self.rhythm.turns(allowed, survey, self.pace)
    }

    fn survey(&self) -> Duration {
        let menu = if self.placed { &self.menu } else { &self.guess };
        let contention = menu.contention();
        let matters = self.contract.slowdown * PLANNED;
        let guessed = self.guess.contention().worst() > 1.0 + matters;
        let open = self.foreground.busy() && (contention.is_open(matters) || guessed);
        match (contention.pairs() < KNOWN || contention.is_doubted(), self.foreground.busy()) {
            (true, _) => SURVEY[0],
            (false, true) if open => SURVEY[1],
            (false, true) => SURVEY[2],
            (false, false) => SURVEY[3],
        }
    }

    fn grant(&self, sense: &Sense, busy: bool, share: f64) -> Grant {
        let mut cores = sense.cores;
        if busy && self.offers.cores {
            cores = self.menu.cores();
            if !self.offers.idle {
                // It would take foreground work's processors from it: those that are left must do.
                cores = cores.min(self.foreground.room() as usize).max(1);
            }
        }
        Grant {
            share,
            cores,
            memory: self.pages.limit().filter(|_| self.offers.memory),
            least_io: self.devices.shared() && self.offers.io,
        }
    }
}

fn grade(grant: &Grant, cores: usize) -> Grade {
    let grades = [
        (grant.share <= 0.0, Grade::Still),
        (grant.share < 1.0, Grade::Turns),
        (grant.least_io, Grade::Io),
        (grant.memory.is_some(), Grade::Memory),
        (grant.cores < cores, Grade::Cores),
    ];
    grades.into_iter().find(|(holds, _)| *holds).map_or(Grade::Base, |(_, grade)| grade)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
