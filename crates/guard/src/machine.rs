//! The machine that the guard runs on: which groups it guards there, and what it does to them. Its [`Sampler`] reads.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;
use crosstalk_host::ledger::LEASE;
use crosstalk_host::slice::use_short_slice;

use super::blocked::Blocked;
use super::guarded_group::GuardedGroup;
use super::guarded_groups::GuardedGroups;
use super::place::there;
use super::probe::Prober;
use super::sampler::Sampler;
use super::targets::Targets;
use crosstalk_cgroup::group::Hierarchy;
use crosstalk_cgroup::process;
use crosstalk_policy::{Grant, Host, Offers, Probe, ProbePlace, Program, Snapshot};

/// Time between two searches for groups that have come or gone: most of what the guard costs.
const RENEW: Duration = Duration::from_secs(5);

/// Time between two renewals of what stays set only while the guard is at work.
const HOLD: Duration = Duration::from_millis(500);

/// This machine, with the background work that is guarded.
#[derive(Debug)]
pub struct Machine {
    began: Instant,
    targets: Targets,
    groups: GuardedGroups,
    prober: Prober,
    /// Those on which the guard may run.
    processors: Vec<usize>,
    sampler: Sampler,
    renewed: Duration,
    /// When the lease of pauses was last renewed, and whether it was reported that this cannot be.
    leased_at: Duration,
    unleased: bool,
    slept_until: Duration,
    blocked: Blocked,
    /// Some of background work runs though it is to be paused.
    released: bool,
    /// It runs in a duty cycle: a probe is taken at the end of each part, and not only for itself.
    in_duty_cycle: bool,
}

impl Machine {
    /// Guards the background work that `targets` names.
    ///
    /// # Errors
    /// Where none of it can be, or what was named is not there; nothing is changed then.
    pub fn new(targets: Targets, ledger: &Ledger) -> Result<Self, Fault> {
        let hierarchy = Hierarchy::here();
        let processors = allowed();
        ledger.renew()?;
        let mut machine = Machine {
            began: Instant::now(),
            sampler: Sampler::new(&hierarchy, processors.len().max(1)),
            groups: GuardedGroups::new(hierarchy, ledger),
            prober: Prober::new()?,
            renewed: Duration::ZERO,
            leased_at: Duration::ZERO,
            unleased: false,
            slept_until: Duration::ZERO,
            blocked: Blocked::new(),
            released: false,
            in_duty_cycle: false,
            targets,
            processors,
        };
        machine.targets.add_named(&mut machine.groups)?;
        machine.renew(true);
        if !machine.sampler.has_pressure() {
            machine.groups.notes.push(
                "this kernel does not account for pressure: foreground work that waits for memory and devices is not seen (boot with psi=1)".into(),
            );
        }
        // Where foreground work is, a probe would else wait for the end of its slice while background work runs on: so it does
        // where this is refused.
        use_short_slice().ok();
        machine.sampler.count(machine.began.elapsed(), &mut machine.groups.list);
        machine.leased_at = machine.now();
        Ok(machine)
    }

    /// Finds what has come, and lets go what has gone; `changed` says that something has in any case.
    fn renew(&mut self, changed: bool) {
        self.renewed = self.now();
        let gone = self.targets.remove_ended(&mut self.groups);
        let come = self.targets.add_new(&mut self.groups);
        self.groups.renew();
        let there = !self.groups.processes().is_empty();
        self.sampler.renew(self.began.elapsed(), &mut self.groups.list, changed || gone || come, there);
    }

    /// Renews the lease of pauses, without which none lasts. Returns whether the guard was stopped for so long that
    /// background work has run meanwhile.
    fn renew_lease(&mut self) -> bool {
        let now = self.now();
        let silent = now.saturating_sub(self.leased_at);
        if silent < HOLD {
            return false;
        }
        self.leased_at = now;
        if let Err(fault) = self.groups.ledger.renew()
            && !std::mem::replace(&mut self.unleased, true)
        {
            self.groups.notes.push(format!("should this guard be killed: {}", fault.sentence()));
        }
        self.groups.list.iter_mut().for_each(GuardedGroup::renew_pause);
        if silent > LEASE {
            self.groups.notes.push(format!(
                "the guard did not run for {:.1} s (stopped, or the machine is too busy): background work was not held back meanwhile",
                silent.as_secs_f64()
            ));
        }
        silent > LEASE
    }

    /// Takes a probe, if one is asked for: where foreground work runs, or else always on the same processor, since what
    /// the caches of another one hold makes a difference of its own.
    fn probe(&mut self, asked: bool) -> (Option<Probe>, ProbePlace) {
        if !asked {
            let foreground = self.sampler.place().is_known();
            return (None, ProbePlace { foreground, ..ProbePlace::default() });
        }
        let foreground =
            self.sampler.place().processor().filter(|foreground| self.processors.contains(foreground));
        let on = foreground.or(self.processors.last().copied());
        let taken = on.and_then(|on| there(on, &self.processors, || self.prober.take()));
        if foreground.is_none() || taken.is_none() {
            self.sampler.place().bar();
        }
        match taken {
            Some((probe, time)) => {
                let seconds = foreground.map_or(0.0, |_| time.as_secs_f64());
                (Some(probe), ProbePlace { foreground: foreground.is_some(), on, seconds })
            }
            None => (Some(self.prober.take()), ProbePlace::default()),
        }
    }

    /// Whether foreground work waits for each group although it is to be paused, unless all are to `run`.
    fn waited_for(&mut self, now: Duration, run: bool) -> Vec<bool> {
        let all = self.sampler.background_cpu();
        let (groups, sampler) = (&self.groups, &mut self.sampler);
        let used = |holder: Option<u32>| holder.map_or(all, |pid| groups.cpu_of(pid));
        if run {
            self.blocked.runs(now, &used);
            return vec![false; groups.list.len()];
        }
        let mut notes = Vec::new();
        self.blocked.check(now, &used, || groups.processes_of_each(), || sampler.asleep(), &mut notes);
        let each = groups.list.iter().map(|group| group.group());
        let waited_for = each.map(|group| self.blocked.releases(now, &used, || group.processes())).collect();
        self.groups.notes.extend(notes);
        waited_for
    }
}

impl Host for Machine {
    fn offers(&self) -> Offers {
        self.groups.offers()
    }

    fn cores(&self) -> usize {
        self.processors.len().max(1)
    }

    fn sample(&mut self, probe: bool) -> Result<Snapshot, Fault> {
        // What was to be paused may have run.
        self.released |= self.renew_lease();
        let lateness = self.now().saturating_sub(self.slept_until);
        let (probe, probe_place) = self.probe(probe);
        let now = self.now();
        self.sampler.sample(now, self.in_duty_cycle && probe.is_some(), &mut self.groups.list);
        if now.saturating_sub(self.renewed) >= RENEW {
            self.renew(false);
        }
        if self.sampler.has_to_choose(self.now()) {
            // As they are now: what background work has started since would wait as if it were foreground work.
            let background = self.groups.processes();
            let mut foreground = process::all();
            foreground.retain(|process| {
                background.binary_search(&process.pid).is_err() && process.pid != std::process::id()
            });
            self.sampler.choose(self.now(), &foreground);
        }
        let (lateness, released) = (lateness.as_secs_f64(), self.released);
        Ok(Snapshot { lateness, probe, probe_place, released, ..self.sampler.snapshot() })
    }

    fn apply(&mut self, grant: &Grant, run: bool) {
        let now = self.now();
        let waited_for = self.waited_for(now, run);
        self.in_duty_cycle = grant.share < 1.0;
        self.released = false;
        let mut paused = false;
        for (group, waited_for) in self.groups.list.iter_mut().zip(waited_for) {
            let group_paused = group.apply(now, grant, run || waited_for, waited_for);
            paused |= group_paused;
            self.released |= !group_paused && (waited_for || !run && group.is_ending());
        }
        self.sampler.switch(now, !paused, grant.share >= 1.0);
        self.groups.collect_complaints();
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.groups.notes)
    }

    fn largest(&self) -> &[Program] {
        self.sampler.largest()
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        self.slept_until = self.now() + time;
        std::thread::sleep(time);
    }
}
