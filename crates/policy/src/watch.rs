//! The guard's loop, on any host.

use std::time::Duration;

use crosstalk_core::Fault;
use serde::Serialize;

use super::contract::Contract;
use super::decide::Policy;
use super::decision::{Decision, Grade};
use super::host::{Host, Program};
use super::snapshot::Snapshot;

/// What is reported after each snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// Since the beginning.
    pub at: Duration,
    /// What was seen; its processors are averages over a quarter of a second at least, for people.
    pub snapshot: &'a Snapshot,
    /// What was done.
    pub decision: &'a Decision,
    /// The programs of foreground work that used most lately.
    pub largest: &'a [Program],
    /// What people should know, each reported once.
    pub notes: &'a [String],
    /// The sums so far.
    pub sums: &'a Sums,
}

/// What adds up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sums {
    /// Seconds under guard.
    pub seconds: f64,
    /// Seconds of CPU time that foreground work has used.
    pub foreground: f64,
    /// The same of background work.
    pub background: f64,
    /// Seconds for which background work was paused, where there was some.
    pub paused: f64,
    /// Seconds that foreground work was at work.
    pub busy: f64,
    /// Seconds of CPU time that the guard took itself.
    pub cost: f64,
    /// How often the guard sampled.
    pub samples: u64,
    /// The greatest that it went to.
    pub highest: Option<Grade>,
}

impl Sums {
    fn add(&mut self, now: Duration, snapshot: &Snapshot, decision: &Decision, ran: bool) {
        // Snapshots may cover the same time; each moment counts once.
        let passed = (now.as_secs_f64() - self.seconds).max(0.0);
        self.seconds = now.as_secs_f64();
        self.foreground += snapshot.used.foreground;
        self.background += snapshot.used.background;
        let paused = snapshot.background_there && !ran && !snapshot.released;
        self.paused += if paused { passed } else { 0.0 };
        self.busy += if decision.why.busy { passed } else { 0.0 };
        self.cost += snapshot.used.cost;
        self.samples += 1;
        self.highest = self.highest.max(Some(decision.grade));
    }
}

/// Over how many seconds processors are averaged for people, at least: a single snapshot is too short for that.
const SHOWN: f64 = 0.25;

/// Processors for people.
#[derive(Default)]
struct Average {
    /// Seconds since the last average, and CPU time of foreground and of background work in them.
    since: [f64; 3],
    /// Processors of both by then.
    shown: Option<[f64; 2]>,
}

impl Average {
    /// Takes a snapshot in: the same with what was used on average, once there is one.
    fn see(&mut self, snapshot: &Snapshot) -> Snapshot {
        let sampled = [snapshot.covers, snapshot.used.foreground, snapshot.used.background];
        self.since.iter_mut().zip(sampled).for_each(|(sum, one)| *sum += one);
        let [seconds, foreground, background] = self.since;
        if seconds >= SHOWN {
            let processors = |used: f64| (used / seconds).min(snapshot.cores as f64);
            *self = Average { since: [0.0; 3], shown: Some([foreground, background].map(processors)) };
        }
        let [foreground_cpu, background_cpu] =
            self.shown.unwrap_or([snapshot.foreground_cpu, snapshot.background_cpu]);
        Snapshot { foreground_cpu, background_cpu, ..*snapshot }
    }
}

/// The longest sleep: so much later than asked for the guard ends at most.
const NAP: Duration = Duration::from_millis(100);

/// Guards until `over` says so, which is asked every [`NAP`] at least; calls `report` after each snapshot.
///
/// # Errors
/// Those of [`Host::sample`]. The host's own drop puts everything back.
pub fn watch(
    host: &mut dyn Host,
    contract: Contract,
    over: &dyn Fn(Duration) -> bool,
    report: &mut dyn FnMut(&Report<'_>),
) -> Result<Sums, Fault> {
    let mut policy = Policy::new(contract, host.offers(), host.cores());
    let mut sums = Sums::default();
    let mut average = Average::default();
    let mut last: Option<Decision> = None;
    while !over(host.now()) {
        let snapshot = host.sample(last.as_ref().is_some_and(|last| last.probe))?;
        let now = host.now();
        policy.offer(host.offers());
        let decision = policy.step(now, &snapshot);
        host.apply(&decision.grant, decision.run);
        sums.add(now, &snapshot, &decision, last.as_ref().is_none_or(|last| last.run));
        let notes = host.notes();
        let largest = host.largest();
        report(&Report {
            at: now,
            snapshot: &average.see(&snapshot),
            decision: &decision,
            largest,
            notes: &notes,
            sums: &sums,
        });
        let wake = host.now() + last.insert(decision).wake;
        loop {
            host.sleep(wake.saturating_sub(host.now()).min(NAP));
            if host.now() >= wake || over(host.now()) {
                break;
            }
        }
    }
    // What has been used since the last snapshot counts, too; where nothing can be sampled any more, that is all.
    if let (Some(last), Ok(snapshot)) = (last, host.sample(false)) {
        sums.add(host.now(), &snapshot, &last, last.run);
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::Offers;
    use crate::simulated::Machine;
    use crate::snapshot::Used;

    #[test]
    fn it_guards_until_it_is_over_and_adds_up() {
        let all = Offers { idle: true, duty_cycle: true, pause: true, cores: true };
        let mut machine = Machine::new(2, all);
        machine.foreground = Box::new(|time| if time < 10.0 { 1.0 } else { 0.0 });
        machine.ratio = Box::new(|_| 1.5);
        let contract = Contract { slowdown: 0.01, busy: 0.05 };
        let mut reported = 0;
        let over = |now| now >= Duration::from_secs(20);
        let sums = watch(&mut machine, contract, &over, &mut |report| {
            reported += u64::from(report.at > Duration::ZERO)
        })
        .expect("guards");
        assert_eq!(sums.samples, reported + 2, "the first, and one at the end");
        assert!((20.0..21.0).contains(&sums.seconds) && (sums.foreground - 10.0).abs() < 0.5, "{sums:?}");
        assert!((sums.busy - 10.7).abs() < 1.0 && sums.paused > 7.0, "{sums:?}");
        assert_eq!(sums.highest, Some(Grade::Paused), "it is tried when foreground work begins");
        assert!(machine.running(), "it is back");
    }

    #[test]
    fn snapshots_are_averaged_by_how_long_they_are() {
        let mut average = Average::default();
        let mut shown = |covers: f64, foreground: f64| {
            let used = Used { foreground: foreground * covers, ..Used::default() };
            let quiet = Snapshot::quiet(2, covers);
            average.see(&Snapshot { foreground_cpu: foreground, used, ..quiet }).foreground_cpu
        };
        assert_eq!(shown(0.0625, 2.0), 2.0, "there is no other yet");
        assert_eq!(
            (shown(0.1875, 0.0), shown(0.125, 2.0)),
            (0.5, 0.5),
            "a snapshot is too short for another"
        );
        assert_eq!((shown(0.0, 7.0), shown(0.125, 2.0)), (0.5, 2.0));
        assert_eq!(shown(0.25, 9.0), 2.0, "there are no more");
    }

    #[test]
    fn it_ends_in_time_however_seldom_it_looks() {
        // Where there is no background work it samples four times a second.
        for end in (1..10).map(|part| Duration::from_millis(1000 + 37 * part)) {
            let none = Offers { idle: false, duty_cycle: false, pause: false, cores: false };
            let mut alone = Machine::new(2, none);
            alone.there = false;
            let contract = Contract { slowdown: 0.01, busy: 0.05 };
            let sums = watch(&mut alone, contract, &|now| now >= end, &mut |_| ()).expect("guards");
            assert!(sums.seconds <= (end + NAP).as_secs_f64(), "{end:?}: {sums:?}");
        }
    }
}
