//! The machine that the guard stands on: whom it guards there, and what it does to them. What it sees is
//! told by its [`Senses`].

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;
use crosstalk_host::ledger::LEASE;
use crosstalk_host::slice::use_short_slice;

use super::client::AskedClient;
use super::place::there;
use super::probe::Prober;
use super::senses::Senses;
use super::targets::{Targets, alone};
use super::tenant::Tenant;
use super::vacancy::Vacancy;
use crosstalk_boinc::client::{NAME, Pauser, RunningClient};
use crosstalk_cgroup::group::{Group, Hierarchy};
use crosstalk_cgroup::process;
use crosstalk_cgroup::resctrl::Partition;
use crosstalk_policy::Host;
use crosstalk_policy::Program;
use crosstalk_policy::{Grant, Offers};
use crosstalk_policy::{Probe, Sense, Stand};

/// Between two looks for groups that have come or gone: most of what the guard costs.
const RENEW: Duration = Duration::from_secs(5);

/// Between two renewals of what holds only while the guard is at work.
const HOLD: Duration = Duration::from_millis(500);

/// This machine, with the background work that is guarded.
#[derive(Debug)]
pub struct Machine {
    began: Instant,
    ledger: Ledger,
    hierarchy: Hierarchy,
    targets: Targets,
    tenants: Vec<Tenant>,
    asked: Option<AskedClient>,
    prober: Option<Prober>,
    partition: Option<Partition>,
    partitioned: BTreeSet<u32>,
    /// Those on which the guard may run.
    processors: Vec<usize>,
    senses: Senses,
    vacancy: Vacancy,
    renewed: Duration,
    /// When it was last said that the guard is at work, and whether it was told that this cannot be.
    held_at: Duration,
    unheld: bool,
    slept_until: Duration,
    /// Some of background work stands still though it may run: memory is being taken from it.
    held: bool,
    /// Some of it runs though it is to stand still: it was told to end.
    let_run: bool,
    /// It runs by turns: a probe is taken at the end of each, and not only for itself.
    by_turns: bool,
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
            senses: Senses::new(&hierarchy, cores),
            vacancy: Vacancy::new(),
            renewed: Duration::ZERO,
            held_at: Duration::ZERO,
            unheld: false,
            slept_until: Duration::ZERO,
            held: false,
            let_run: false,
            by_turns: false,
            notes: Vec::new(),
            tenants: Vec::new(),
            asked: None,
            prober: None,
            partition: None,
            partitioned: BTreeSet::new(),
            hierarchy,
            targets,
            processors,
        };
        ledger.renew()?;
        let named = machine.targets.named(&machine.hierarchy, ledger)?;
        machine.notes.extend(named.iter().map(guarded));
        let unprotected = named.iter().filter(|tenant| !tenant.offers().idle);
        machine.notes.extend(unprotected.map(|tenant| machine.targets.why_not_idle(tenant)));
        machine.tenants = named;
        if let Some((client, why)) = machine.targets.barred() {
            machine.ask_client(&client, &why)?;
        }
        match Partition::new(ledger) {
            Ok(partition) => machine.partition = partition,
            Err(fault) => machine.notes.push(format!("no cache partition: {}", fault.sentence())),
        }
        machine.renew()?;
        if !machine.senses.tell_pressure() {
            machine.notes.push(
                "this kernel tells no pressure: foreground work's waiting for memory and devices is not seen (boot with psi=1)".into(),
            );
        }
        machine.prober = Some(Prober::new()?);
        // Where foreground work is, a probe would else wait for the end of its slice while background work runs on: so it does
        // where this is refused.
        use_short_slice().ok();
        machine.senses.count(machine.began.elapsed(), &mut machine.tenants);
        machine.held_at = machine.now();
        Ok(machine)
    }

    /// Deals with BOINC's client by asking it, where its group cannot be set: `why`. Nothing else is
    /// guarded then.
    ///
    /// # Errors
    /// Where it cannot be asked, or shares its group with others, so that what it uses cannot be
    /// told from foreground work; or where more was named.
    fn ask_client(&mut self, client: &RunningClient, why: &Fault) -> Result<(), Fault> {
        if !self.tenants.is_empty() {
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
        self.tenants = vec![Tenant::watched(NAME, group)?];
        self.asked = Some(AskedClient::new(pauser));
        Ok(())
    }

    fn groups(&self) -> Vec<Group> {
        self.tenants.iter().map(|tenant| tenant.group().clone()).collect()
    }

    /// Finds what has come, and lets go what has gone.
    fn renew(&mut self) -> Result<(), Fault> {
        self.renewed = self.now();
        let mut changed = false;
        // A service that is started again has a new group at the old place.
        let client_ended = self.targets.client_has_ended();
        let ended = |tenant: &mut Tenant| tenant.has_ended() || (client_ended && tenant.name == NAME);
        for tenant in self.tenants.extract_if(.., ended) {
            self.notes.push(format!("{} has ended", tenant.name));
            if tenant.name == NAME {
                self.targets.leave_client();
            }
            changed = true;
        }
        let known: Vec<Group> = self.groups();
        let come: Vec<Tenant> = match &self.asked {
            // A client that is asked is all there is.
            Some(_) => {
                let again = self.targets.client_again();
                again.map(|group| Tenant::watched(NAME, group)).transpose()?.into_iter().collect()
            }
            None => self.targets.come(&self.hierarchy, &known, &self.ledger, &mut self.notes),
        };
        for tenant in come {
            self.notes.push(guarded(&tenant));
            if self.asked.is_none() && !tenant.offers().idle {
                self.notes.push(self.targets.why_not_idle(&tenant));
            }
            self.tenants.push(tenant);
            changed = true;
        }
        self.tenants.iter_mut().for_each(|tenant| tenant.renew(&self.hierarchy));
        self.tell_complaints();
        let background = processes(&self.groups());
        self.senses.renew(self.began.elapsed(), &mut self.tenants, changed, !background.is_empty());
        self.set_apart(&background);
        Ok(())
    }

    /// Says that the guard is at work, without which nothing stands still for long. Whether it was stopped for so
    /// long that background work has run meanwhile.
    fn hold(&mut self) -> bool {
        let now = self.now();
        let silent = now.saturating_sub(self.held_at);
        if silent < HOLD {
            return false;
        }
        self.held_at = now;
        if let Err(fault) = self.ledger.renew()
            && !std::mem::replace(&mut self.unheld, true)
        {
            self.notes.push(format!("should this guard be killed: {}", fault.sentence()));
        }
        self.tenants.iter_mut().for_each(Tenant::rest_again);
        if silent > LEASE {
            self.notes.push(format!(
                "the guard did not run for {:.1} s (stopped, or the machine is too busy): background work was not held back meanwhile",
                silent.as_secs_f64()
            ));
        }
        silent > LEASE
    }

    /// The processors that background work does not get, of which it gets so many.
    fn withheld(&mut self, count: usize) -> Vec<usize> {
        if count >= self.processors.len() {
            return Vec::new();
        }
        let chosen = self.vacancy.choose(count, &self.processors);
        self.processors.iter().filter(|one| chosen.binary_search(one).is_err()).copied().collect()
    }

    /// Takes a probe, if one is asked for: where foreground work runs, or else always on the same processor, since what
    /// the caches of another one hold makes a difference of its own.
    fn probe(&mut self, asked: bool) -> (Option<Probe>, Stand) {
        let Some(prober) = self.prober.as_mut().filter(|_| asked) else {
            return (None, Stand { foreground: self.senses.place().is_known(), ..Stand::default() });
        };
        let foreground =
            self.senses.place().processor().filter(|foreground| self.processors.contains(foreground));
        let on = foreground.or(self.processors.last().copied());
        let taken = on.and_then(|on| there(on, &self.processors, || prober.take()));
        if foreground.is_none() || taken.is_none() {
            self.senses.place().bar();
        }
        match taken {
            Some((probe, time)) => {
                let seconds = foreground.map_or(0.0, |_| time.as_secs_f64());
                (Some(probe), Stand { foreground: foreground.is_some(), on, seconds })
            }
            None => (Some(prober.take()), Stand::default()),
        }
    }

    fn tell_complaints(&mut self) {
        for tenant in &mut self.tenants {
            let complaints = tenant.complaints().into_iter();
            self.notes.extend(complaints.map(|complaint| format!("{}: {complaint}", tenant.name)));
        }
    }

    /// Gives background work its part of the cache. What its tasks start later is there by itself.
    fn set_apart(&mut self, background: &[u32]) {
        let Some(partition) = &self.partition else { return };
        for pid in background.iter().filter(|pid| !self.partitioned.contains(pid)) {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
            numbers.for_each(|task| partition.take_in(task));
        }
        self.partitioned = background.iter().copied().collect();
    }
}

/// What each may have of so many bytes, where it is known what each has and what of that cannot be taken:
/// that, and of the rest a part as it has of it now.
fn parts(bytes: u64, has: &[Option<(u64, u64)>]) -> Vec<Option<u64>> {
    let known = || has.iter().flatten();
    let floors: u64 = known().map(|(_, floor)| floor).sum();
    let above = |(has, floor): &(u64, u64)| has.saturating_sub(*floor) as f64;
    let all: f64 = known().map(above).sum();
    let rest = bytes.saturating_sub(floors) as f64;
    let share = |one: &(u64, u64)| if all > 0.0 { above(one) / all } else { 1.0 / known().count() as f64 };
    has.iter().map(|one| one.as_ref().map(|one| one.1 + (rest * share(one)) as u64)).collect()
}

fn guarded(tenant: &Tenant) -> String {
    format!("{} is guarded from now on", tenant.name)
}

/// All that is in these groups, in order.
fn processes(groups: &[Group]) -> Vec<u32> {
    let mut all: Vec<u32> = groups.iter().flat_map(Group::processes).collect();
    all.sort_unstable();
    all
}

impl Host for Machine {
    fn offers(&self) -> Offers {
        if self.asked.is_some() {
            return AskedClient::offers();
        }
        let offers = || self.tenants.iter().map(Tenant::offers);
        // What processors are protected by cannot be relied on where it cannot be done to one of them. What
        // one holds of memory and devices can be taken back whoever else holds some.
        Offers {
            idle: offers().all(|one| one.idle),
            turns: offers().all(|one| one.turns),
            still: offers().all(|one| one.still),
            cores: offers().all(|one| one.cores),
            memory: offers().any(|one| one.memory),
            io: offers().any(|one| one.io),
        }
    }

    fn cores(&self) -> usize {
        self.processors.len().max(1)
    }

    fn look(&mut self, probe: bool) -> Result<Sense, Fault> {
        // What was to stand still may have run.
        self.let_run |= self.hold();
        let lateness = self.now().saturating_sub(self.slept_until);
        let (probe, stand) = self.probe(probe);
        let now = self.now();
        self.senses.look(now, self.by_turns && probe.is_some(), &mut self.tenants);
        if now.saturating_sub(self.renewed) >= RENEW {
            self.renew()?;
        }
        if self.senses.has_to_choose(self.now()) {
            // As they are now: what background work has started since would wait as if it were foreground work.
            let background = processes(&self.groups());
            let mut foreground = process::all();
            foreground.retain(|process| {
                background.binary_search(&process.pid).is_err() && process.pid != std::process::id()
            });
            self.senses.choose(self.now(), &foreground);
        }
        let (lateness, held, let_run) = (lateness.as_secs_f64(), self.held, self.let_run);
        Ok(Sense { lateness, probe, stand, held, let_run, ..self.senses.sense() })
    }

    fn apply(&mut self, grant: &Grant, run: bool) {
        let now = self.began.elapsed();
        if let Some(client) = &mut self.asked {
            self.senses.turn(now, run, false);
            client.apply(now, run);
            self.notes.extend(client.complaint());
            return;
        }
        let has: Vec<Option<(u64, u64)>> = self.tenants.iter().map(Tenant::has).collect();
        let parts = grant.memory.map(|bytes| parts(bytes, &has));
        // In the idle class it yields to foreground work wherever that runs.
        let by_halves = self.tenants.iter().map(Tenant::offers).any(|offers| !offers.idle && offers.cores);
        if run {
            self.vacancy.goes_on(now);
        }
        let withheld = self.withheld(grant.cores);
        (self.let_run, self.held, self.by_turns) = (false, false, grant.share < 1.0);
        let mut rests = false;
        for (at, tenant) in self.tenants.iter_mut().enumerate() {
            let memory = parts.as_ref().and_then(|parts| parts[at]);
            let tenant_rests = tenant.apply(now, &Grant { memory, ..*grant }, run, &withheld);
            rests |= tenant_rests;
            self.held |= run && tenant_rests;
            self.let_run |= !run && !tenant_rests && tenant.is_let_run();
        }
        if self.let_run {
            // What it uses would be taken for foreground work's.
            self.vacancy.goes_on(now);
        }
        // For as long as a probe takes says nothing.
        if !run && !self.let_run && by_halves && grant.share < 1.0 {
            self.vacancy.rests(now);
        }
        self.senses.turn(now, !rests, !self.held && grant.share >= 1.0);
        self.tell_complaints();
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn largest(&self) -> &[Program] {
        self.senses.largest()
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        self.slept_until = self.now() + time;
        std::thread::sleep(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_left_to_each_as_it_has_it() {
        let has = [Some((900, 100)), Some((20, 20)), Some((220, 20)), None];
        assert_eq!(parts(640, &has), [Some(500), Some(20), Some(120), None], "half of what can be taken");
        assert_eq!(parts(100, &has), [Some(100), Some(20), Some(20), None], "what cannot be taken stays");
        assert_eq!(parts(60, &[Some((0, 10)), Some((0, 10))]), [Some(30), Some(30)]);
    }
}
