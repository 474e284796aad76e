//! The machine that the guard runs on: which groups it guards there, and what it does to them. Its [`Sampler`] reads.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;
use crosstalk_host::ledger::LEASE;
use crosstalk_host::slice::use_short_slice;

use super::blocked::Blocked;
use super::client::AskedClient;
use super::guarded_group::GuardedGroup;
use super::place::there;
use super::probe::Prober;
use super::sampler::Sampler;
use super::targets::{Targets, alone};
use crosstalk_boinc::client::{NAME, Pauser, RunningClient};
use crosstalk_cgroup::group::{Group, Hierarchy};
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
    ledger: Ledger,
    hierarchy: Hierarchy,
    targets: Targets,
    groups: Vec<GuardedGroup>,
    asked: Option<AskedClient>,
    prober: Option<Prober>,
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
    notes: Vec<String>,
}

impl Machine {
    /// Takes the background work in hand that `targets` names.
    ///
    /// # Errors
    /// Where none of it can be, or what was named is not there; nothing is changed then.
    pub fn new(targets: Targets, ledger: &Ledger) -> Result<Self, Fault> {
        let hierarchy = Hierarchy::here();
        let processors = allowed();
        let cores = processors.len().max(1);
        let mut machine = Machine {
            began: Instant::now(),
            ledger: ledger.clone(),
            sampler: Sampler::new(&hierarchy, cores),
            renewed: Duration::ZERO,
            leased_at: Duration::ZERO,
            unleased: false,
            slept_until: Duration::ZERO,
            blocked: Blocked::new(),
            released: false,
            in_duty_cycle: false,
            notes: Vec::new(),
            groups: Vec::new(),
            asked: None,
            prober: None,
            hierarchy,
            targets,
            processors,
        };
        ledger.renew()?;
        let named = machine.targets.named(&machine.hierarchy, ledger)?;
        machine.notes.extend(named.iter().map(guarded));
        let unprotected = named.iter().filter(|group| !group.offers().idle);
        machine.notes.extend(unprotected.map(|group| machine.targets.why_not_idle(group)));
        machine.groups = named;
        if let Some((client, why)) = machine.targets.barred() {
            machine.ask_client(&client, &why)?;
        }
        machine.renew()?;
        if !machine.sampler.has_pressure() {
            machine.notes.push(
                "this kernel does not account for pressure: foreground work that waits for memory and devices is not seen (boot with psi=1)".into(),
            );
        }
        machine.prober = Some(Prober::new()?);
        // Where foreground work is, a probe would else wait for the end of its slice while background work runs on: so it does
        // where this is refused.
        use_short_slice().ok();
        machine.sampler.count(machine.began.elapsed(), &mut machine.groups);
        machine.leased_at = machine.now();
        Ok(machine)
    }

    /// Deals with BOINC's client by asking it, where its group cannot be set: `why`. Nothing else is
    /// guarded then.
    ///
    /// # Errors
    /// Where it cannot be asked, or shares its group with others, so that what it uses cannot be
    /// told apart from foreground work; or where more was named.
    fn ask_client(&mut self, client: &RunningClient, why: &Fault) -> Result<(), Fault> {
        if !self.groups.is_empty() {
            return Err(Fault::usage("BOINC's client can only be asked here, and is then guarded alone")
                .remedy("have another guard for the rest"));
        }
        let barred = |fault: Fault| {
            let message = format!(
                "BOINC's group cannot be set ({}), and it cannot be asked to pause: {}",
                why.message, fault.message
            );
            Fault { message, ..fault }
        };
        let group = alone(client.pid).map_err(barred)?;
        let way = self.targets.way().cloned().unwrap_or_default();
        let pauser = Pauser::new(client, &way).map_err(barred)?;
        self.notes.push(format!(
            "BOINC's client is asked to pause, which protects foreground work less: its group cannot be set: {}",
            why.sentence()
        ));
        self.groups = vec![GuardedGroup::watched(NAME, group)?];
        self.asked = Some(AskedClient::new(pauser));
        Ok(())
    }

    fn groups(&self) -> Vec<Group> {
        self.groups.iter().map(|group| group.group().clone()).collect()
    }

    /// Finds what has come, and lets go what has gone.
    fn renew(&mut self) -> Result<(), Fault> {
        self.renewed = self.now();
        let mut changed = false;
        // A service that is started again has a new group at the old place.
        let client_ended = self.targets.client_has_ended();
        let ended = |group: &mut GuardedGroup| group.has_ended() || (client_ended && group.name == NAME);
        for group in self.groups.extract_if(.., ended) {
            self.notes.push(format!("{} has ended", group.name));
            if group.name == NAME {
                self.targets.leave_client();
            }
            changed = true;
        }
        let known: Vec<Group> = self.groups();
        let come: Vec<GuardedGroup> = match &self.asked {
            // A client that is asked is all there is.
            Some(_) => {
                let again = self.targets.client_again();
                again.map(|group| GuardedGroup::watched(NAME, group)).transpose()?.into_iter().collect()
            }
            None => self.targets.come(&self.hierarchy, &known, &self.ledger, &mut self.notes),
        };
        for group in come {
            self.notes.push(guarded(&group));
            if self.asked.is_none() && !group.offers().idle {
                self.notes.push(self.targets.why_not_idle(&group));
            }
            self.groups.push(group);
            changed = true;
        }
        self.groups.iter_mut().for_each(|group| group.renew(&self.hierarchy));
        self.collect_complaints();
        let background = processes(self.groups.iter().map(GuardedGroup::group));
        self.sampler.renew(self.began.elapsed(), &mut self.groups, changed, !background.is_empty());
        Ok(())
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
        if let Err(fault) = self.ledger.renew()
            && !std::mem::replace(&mut self.unleased, true)
        {
            self.notes.push(format!("should this guard be killed: {}", fault.sentence()));
        }
        self.groups.iter_mut().for_each(GuardedGroup::renew_pause);
        if silent > LEASE {
            self.notes.push(format!(
                "the guard did not run for {:.1} s (stopped, or the machine is too busy): background work was not held back meanwhile",
                silent.as_secs_f64()
            ));
        }
        silent > LEASE
    }

    /// Takes a probe, if one is asked for: where foreground work runs, or else always on the same processor, since what
    /// the caches of another one hold makes a difference of its own.
    fn probe(&mut self, asked: bool) -> (Option<Probe>, ProbePlace) {
        let Some(prober) = self.prober.as_mut().filter(|_| asked) else {
            return (
                None,
                ProbePlace { foreground: self.sampler.place().is_known(), ..ProbePlace::default() },
            );
        };
        let foreground =
            self.sampler.place().processor().filter(|foreground| self.processors.contains(foreground));
        let on = foreground.or(self.processors.last().copied());
        let taken = on.and_then(|on| there(on, &self.processors, || prober.take()));
        if foreground.is_none() || taken.is_none() {
            self.sampler.place().bar();
        }
        match taken {
            Some((probe, time)) => {
                let seconds = foreground.map_or(0.0, |_| time.as_secs_f64());
                (Some(probe), ProbePlace { foreground: foreground.is_some(), on, seconds })
            }
            None => (Some(prober.take()), ProbePlace::default()),
        }
    }

    /// Whether foreground work waits for background work that is to be paused.
    fn is_waited_for(&mut self, now: Duration) -> bool {
        let background = || processes(self.groups.iter().map(GuardedGroup::group));
        self.blocked.is_released(now, background, || self.sampler.asleep(), &mut self.notes)
    }

    fn collect_complaints(&mut self) {
        for group in &mut self.groups {
            let complaints = group.complaints().into_iter();
            self.notes.extend(complaints.map(|complaint| format!("{}: {complaint}", group.name)));
        }
    }
}

fn guarded(group: &GuardedGroup) -> String {
    format!("{} is guarded from now on", group.name)
}

/// All processes of these groups, in order.
fn processes<'a>(groups: impl Iterator<Item = &'a Group>) -> Vec<u32> {
    let mut all: Vec<u32> = groups.flat_map(Group::processes).collect();
    all.sort_unstable();
    all
}

impl Host for Machine {
    fn offers(&self) -> Offers {
        if self.asked.is_some() {
            return AskedClient::offers();
        }
        let offers = || self.groups.iter().map(GuardedGroup::offers);
        // What cannot be done to one of them cannot be relied on.
        Offers {
            idle: offers().all(|one| one.idle),
            duty_cycle: offers().all(|one| one.duty_cycle),
            pause: offers().all(|one| one.pause),
            cores: offers().all(|one| one.cores),
        }
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
        self.sampler.sample(now, self.in_duty_cycle && probe.is_some(), &mut self.groups);
        if now.saturating_sub(self.renewed) >= RENEW {
            self.renew()?;
        }
        if self.sampler.has_to_choose(self.now()) {
            // As they are now: what background work has started since would wait as if it were foreground work.
            let background = processes(self.groups.iter().map(GuardedGroup::group));
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
        let now = self.began.elapsed();
        self.released = false;
        if let Some(client) = &mut self.asked {
            self.sampler.turn(now, run, false);
            client.apply(now, run);
            self.notes.extend(client.complaint());
            return;
        }
        if run {
            self.blocked.runs();
        }
        let waited_for = !run && self.is_waited_for(now);
        let run = run || waited_for;
        self.released = waited_for;
        let mut paused = false;
        self.in_duty_cycle = grant.share < 1.0;
        for group in &mut self.groups {
            let group_paused = group.apply(now, grant, run, waited_for);
            paused |= group_paused;
            self.released |= !run && !group_paused && group.is_ending();
        }
        self.sampler.turn(now, !paused, grant.share >= 1.0);
        self.collect_complaints();
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
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
