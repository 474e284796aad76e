//! What background work is granted, from what is seen: driven by the times that it is given.

use std::time::Duration;

use super::activity::Activity;
use super::contract::Contract;
use super::decision::{Decision, Grant, Offers, Pause, Why};
use super::demand::Demand;
use super::devices::Devices;
use super::duty::{DutyCycle, share};
use super::memory::Memory;
use super::probing::Probing;
use super::snapshot::Snapshot;
use super::trial::Background;

/// Of the slowdown agreed on, what is planned with: the rest is for what is not seen. What probes take from foreground
/// work is, and goes off it, up to half.
const PLANNED: f64 = 0.8;
/// Time between snapshots: while foreground work is quiet (it must be seen soon when it begins or goes on), while it
/// is active, and where there is no background work.
const SAMPLE: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(250)];
/// Where foreground work has only begun: the snapshot that saw it may have seen no more than its first moment.
const BEGINS: Duration = Duration::from_millis(16);
/// Waiting for memory that is nobody's fault, as a share of the time.
const NOISE: f64 = 0.02;
/// Over how long waiting is averaged, in seconds.
const SMOOTH: f64 = 1.0;
/// What sampling costs, in processors, above which it is done more rarely, and below which more often.
const COST: [f64; 2] = [0.0045, 0.0025];
/// Over how long that is averaged, in seconds: a probe costs as much as a hundred snapshots.
const SMOOTH_COST: f64 = 3.0;
/// How much more rarely at most.
const SLOWEST: f64 = 6.0;

/// The policy, and what it remembers.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    contract: Contract,
    offers: Offers,
    foreground: Activity,
    probing: Probing,
    cycle: DutyCycle,
    /// A probe was asked for, since the cycle switches at the next snapshot: it does, although what that follows from may
    /// have changed a little by then.
    switches: bool,
    /// Whether it is paused for no longer than a probe takes: to devices that is nothing.
    briefly: bool,
    demand: Demand,
    devices: Devices,
    memory: Memory,
    waiting: f64,
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
            probing: Probing::default(),
            cycle: DutyCycle::new(Duration::ZERO),
            switches: false,
            briefly: false,
            demand: Demand::default(),
            devices: Devices::default(),
            memory: Memory::default(),
            waiting: 0.0,
            there: false,
            cost: 0.0,
            pace: 1.0,
        }
    }

    /// Takes a snapshot in, and says what follows.
    pub fn step(&mut self, now: Duration, snapshot: &Snapshot) -> Decision {
        if snapshot.background_there && !self.there {
            // Whatever was known is of other work.
            (self.probing, self.devices) = (Probing::default(), Devices::default());
            self.demand.rewind();
        }
        self.there = snapshot.background_there;
        let was_busy = self.foreground.busy();
        self.foreground.see(now, snapshot);
        if self.foreground.busy() != was_busy {
            self.probing.rewind();
            self.demand.rewind();
            self.devices.rewind();
        }
        let background = match self.cycle.running() || snapshot.released {
            true => Background::Ran,
            false if self.briefly => Background::Probed,
            false => Background::Paused,
        };
        self.wait(snapshot, background);
        self.probing.see(now, snapshot, &self.cycle, &self.foreground, self.pace);
        if self.there {
            self.try_out(now, snapshot, background);
        }
        self.memory.see(now, snapshot, self.foreground.busy(), self.planned().max(NOISE));
        self.keep_pace(snapshot);
        self.decide(now, snapshot)
    }

    /// Sees what trials show, and begins one where there is reason to.
    fn try_out(&mut self, now: Duration, snapshot: &Snapshot, background: Background) {
        let Offers { idle, duty_cycle, pause, .. } = self.offers;
        if self.foreground.busy() {
            self.demand.see(now, snapshot, background);
            // A client that is only asked takes too long for a trial.
            let may = background == Background::Ran && pause && (idle || duty_cycle);
            if may && !self.devices.may_explain() {
                self.demand.consider(now, snapshot, self.planned());
            }
        }
        self.devices.see(now, snapshot, background);
        if duty_cycle && !self.demand.is_in_trial() && !self.demand.tight() {
            self.devices.consider(now);
        }
    }

    /// Another way for background work to be dealt with, found meanwhile.
    pub fn offer(&mut self, offers: Offers) {
        self.offers = offers;
    }

    /// What waiting for processors costs foreground work.
    fn wait(&mut self, snapshot: &Snapshot, background: Background) {
        let weight = 1.0 - (-snapshot.interval / SMOOTH).exp();
        // In the idle class it takes no processor from foreground work; what foreground work waits for is itself.
        let waited = if self.offers.idle { 0.0 } else { snapshot.foreground_wait.unwrap_or(0.0) };
        if background == Background::Ran {
            let taken = waited.min(snapshot.background_cpu) / snapshot.foreground_cpu.max(self.contract.busy);
            self.waiting += weight * (taken - self.waiting);
        }
    }

    /// The slowdown that is planned with.
    fn planned(&self) -> f64 {
        self.contract.slowdown * PLANNED
    }

    /// By how much background work may slow foreground work.
    fn budget(&self) -> f64 {
        (self.planned() - self.probing.displaced()).max(self.planned() / 2.0)
    }

    fn extra(&self) -> f64 {
        // What foreground work gains at devices, or by not waiting, it gains in processors' time, too.
        (1.0 + self.waiting).max(self.demand.ratio()).max(self.devices.ratio())
    }

    /// How many times as long foreground work takes while background work runs. While it is quiet, what still counts
    /// is work that waits for devices.
    fn ratio(&self) -> f64 {
        if self.foreground.busy() {
            self.probing.ratios().into_iter().fold(1.0, f64::max) * self.extra()
        } else {
            self.devices.ratio()
        }
    }

    fn keep_pace(&mut self, snapshot: &Snapshot) {
        if snapshot.probe.is_some() && self.probing.begins() {
            return;
        }
        let weight = 1.0 - (-snapshot.interval / SMOOTH_COST).exp();
        self.cost += weight * (snapshot.sampling - self.cost);
        let change = (snapshot.interval / SMOOTH).min(1.0);
        if self.cost > COST[0] {
            self.pace = (self.pace * (1.0 + change)).min(SLOWEST);
        } else if self.cost < COST[1] {
            self.pace = (self.pace / (1.0 + change)).max(1.0);
        }
    }

    fn decide(&mut self, now: Duration, snapshot: &Snapshot) -> Decision {
        let busy = self.foreground.busy();
        let pause = self.pause().filter(|_| self.offers.pause && self.there);
        let ratio = self.ratio();
        let allowed = if self.offers.duty_cycle { share(self.budget(), ratio) } else { 1.0 };
        let end = self.switch(now, allowed, pause);
        let pace = if self.memory.hurried() { 1.0 } else { self.pace };
        let sample = match (self.there, busy) {
            (true, true) if self.foreground.begins(now) => BEGINS,
            (false, _) => SAMPLE[2].mul_f64(pace),
            (true, true) if snapshot.foreground_cpu >= self.contract.busy => SAMPLE[1].mul_f64(pace),
            (true, _) => SAMPLE[0].mul_f64(pace),
        };
        // Whether foreground work waits for what is paused must be seen soon.
        let sample = if self.cycle.running() { sample } else { sample.min(SAMPLE[1]) };
        let left = end.saturating_sub(now);
        let switching = self.there && self.offers.duty_cycle && pause.is_none() && left <= sample;
        self.switches = switching;
        self.briefly = pause.is_none() && allowed >= 1.0 && !self.cycle.running();
        let grant = self.grant(snapshot, if pause.is_some() { 0.0 } else { allowed });
        let why = Why {
            busy,
            yields: self.offers.idle,
            pause,
            shortage: self.memory.paused(),
            ratios: self.probing.ratios(),
            pairs: self.probing.pairs(),
            waiting: self.waiting.max(self.demand.ratio() - 1.0),
            devices: self.devices.ratio() - 1.0,
            expected: super::duty::slowdown(grant.share, ratio),
        };
        Decision {
            run: self.cycle.running(),
            grade: grant.grade(snapshot.cores),
            wake: if switching { left } else { sample },
            probe: switching,
            grant,
            why,
        }
    }

    fn pause(&self) -> Option<Pause> {
        let causes = [
            (self.memory.paused().is_some(), Pause::Memory),
            (self.demand.tight(), Pause::Full),
            (self.demand.is_in_trial(), Pause::Trial),
            (self.devices.is_in_trial(), Pause::Devices),
        ];
        causes.into_iter().find_map(|(holds, pause)| holds.then_some(pause))
    }

    /// Switches if it is time to; when it is time next.
    fn switch(&mut self, now: Duration, allowed: f64, pause: Option<Pause>) -> Duration {
        let survey = self.probing.survey(&self.foreground, self.planned());
        let announced = std::mem::take(&mut self.switches);
        if pause.is_some() || !self.there || !self.offers.duty_cycle {
            // Nothing to be measured, or nothing to be measured by.
            if self.cycle.running() == pause.is_some() {
                self.cycle.switch(now);
            }
            return now + survey;
        }
        if announced || now >= self.cycle.next_switch(allowed, survey, self.pace) {
            self.cycle.switch(now);
        }
        self.cycle.next_switch(allowed, survey, self.pace)
    }

    fn grant(&self, snapshot: &Snapshot, share: f64) -> Grant {
        let mut cores = snapshot.cores;
        if self.foreground.busy() && self.offers.cores && !self.offers.idle {
            // It would take foreground work's processors from it: those that are left must do.
            cores = cores.min(self.foreground.left()).max(1);
        }
        Grant { share, cores }
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
