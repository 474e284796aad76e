//! The machine that the guard stands on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::clock::thread_cpu_ns;
use crosstalk_host::cpu::allowed;

use super::activity::BUSY;
use super::domain::Domain;
use super::leash::Leash;
use super::own::{AllCpu, OwnWaits};
use super::policy::{Grant, Offers};
use super::probe::Prober;
use super::sense::{Sense, Used};
use super::steady::Steady;
use super::targets::{Targets, alone};
use super::tenant::{Memory, Tenant};
use super::world::World;
use crate::boinc::{Found, Led, NAME};
use crate::donor::Donor;
use crate::group::reading::{keyed, pages, pressure, stolen_time};
use crate::group::{Group, Hierarchy};
use crate::process::{self, TICK};
use crate::resctrl::Partition;

/// Between two looks at memory, pressure, devices and waiting, and where memory is short, which goes
/// quickly.
const SLOW: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(50)];
/// Memory is short where so small a share of it is free.
const SHORT: f64 = 0.15;
/// Between two looks for groups that have come or gone: most of what the guard costs.
const RENEW: Duration = Duration::from_secs(5);
/// Between two looks for who own work is, while it is at work.
const CHOOSE: Duration = Duration::from_secs(3);
/// Own work that uses so many processors more than when that was last looked for is somebody new.
const MORE: f64 = 0.25;

/// This machine, with the external work that is guarded.
#[derive(Debug)]
pub struct Machine {
    began: Instant,
    ledger: Ledger,
    hierarchy: Hierarchy,
    targets: Targets,
    tenants: Vec<Tenant>,
    leash: Option<Leash>,
    prober: Option<Prober>,
    partition: Option<Partition>,
    partitioned: BTreeSet<u32>,
    cores: usize,
    all: AllCpu,
    waits: OwnWaits,
    files: Files,
    domain: Option<Domain>,
    counted: Counted,
    sense: Sense,
    renewed: Duration,
    /// When, and of own work that used how much, those were chosen who are watched for waiting.
    chosen: (Duration, f64),
    slow: Duration,
    slept_until: Duration,
    notes: Vec<String>,
}

/// What tells of the whole host.
#[derive(Debug)]
struct Files {
    stat: Option<Steady>,
    vmstat: Option<Steady>,
    memory: Option<Steady>,
    io: Option<Steady>,
    meminfo: Option<Steady>,
}

/// What had been counted at the look before.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    at: Duration,
    own: Duration,
    external: Duration,
    cost: u64,
    stolen: Option<(Duration, Duration)>,
    slow_at: Duration,
    waited: Option<Duration>,
    refaults: u64,
    swapped_in: u64,
    stalls: [Duration; 2],
}

impl Machine {
    /// Takes the external work in hand that `targets` names.
    ///
    /// # Errors
    /// Where none of it can be, or what was named is not there; nothing is changed then.
    pub fn new(targets: Targets, ledger: &Ledger) -> Result<Self, Fault> {
        let hierarchy = Hierarchy::here();
        let open = |path: &str| Steady::open(Path::new(path));
        let cores = allowed().len().max(1);
        let mut machine = Machine {
            began: Instant::now(),
            ledger: ledger.clone(),
            all: AllCpu::Unknown,
            waits: OwnWaits::default(),
            files: Files {
                stat: open("/proc/stat"),
                vmstat: open("/proc/vmstat"),
                memory: open("/proc/pressure/memory"),
                io: open("/proc/pressure/io"),
                meminfo: open("/proc/meminfo"),
            },
            domain: None,
            counted: Counted::default(),
            sense: Sense::quiet(cores, 0.0),
            renewed: Duration::ZERO,
            chosen: (Duration::ZERO, 0.0),
            slow: Duration::ZERO,
            slept_until: Duration::ZERO,
            notes: Vec::new(),
            tenants: Vec::new(),
            leash: None,
            prober: None,
            partition: None,
            partitioned: BTreeSet::new(),
            hierarchy,
            targets,
            cores,
        };
        machine.targets.agree()?;
        let named = machine.targets.named(&machine.hierarchy, ledger)?;
        let unprotected = named.iter().filter(|tenant| !tenant.offers().idle);
        machine.notes.extend(unprotected.map(|tenant| machine.targets.why_not_idle(tenant)));
        machine.tenants = named;
        if let Some((client, why)) = machine.targets.barred() {
            machine.lead_client(&client, &why)?;
        }
        match Partition::new(ledger) {
            Ok(partition) => machine.partition = partition,
            Err(fault) => machine.notes.push(format!("no cache partition: {}", fault.sentence())),
        }
        machine.renew()?;
        if machine.files.memory.is_none() {
            machine.notes.push(
                "this kernel tells no pressure: own work's waiting for memory and devices is not seen (boot with psi=1)".into(),
            );
        }
        machine.all = AllCpu::find(&machine.hierarchy);
        machine.prober = Some(Prober::new()?);
        machine.count();
        Ok(machine)
    }

    /// Deals with BOINC's client by asking it, where its group cannot be set: `why`. Nothing else is
    /// guarded then.
    ///
    /// # Errors
    /// Where it cannot be asked, or shares its group with others, so that what it uses cannot be
    /// told from own work; or where more was named.
    fn lead_client(&mut self, client: &Found, why: &Fault) -> Result<(), Fault> {
        if !self.tenants.is_empty() {
            return Err(Fault::usage("BOINC's client can only be asked here, and is then guarded alone")
                .remedy("have another guard for the rest"));
        }
        let barred = |fault: Fault| {
            let message = format!(
                "BOINC's group cannot be set ({}), and it cannot be led: {}",
                why.message, fault.message
            );
            Fault { message, ..fault }
        };
        let group = alone(client.pid).map_err(barred)?;
        let way = self.targets.way().cloned().unwrap_or_default();
        let led = Led::new(client, &way, &self.ledger).map_err(barred)?;
        self.notes.push(format!(
            "BOINC's client is asked to give way, which protects own work less: its group cannot be set: {}",
            why.sentence()
        ));
        self.lead(Box::new(led), group)
    }

    /// Deals with a donor by asking it; its group is only looked at.
    fn lead(&mut self, donor: Box<dyn Donor>, group: Group) -> Result<(), Fault> {
        let leash = Leash::new(donor, self.cores);
        self.tenants = vec![Tenant::watched(leash.name(), group)?];
        self.leash = Some(leash);
        Ok(())
    }

    fn groups(&self) -> Vec<Group> {
        self.tenants.iter().map(|tenant| tenant.group().clone()).collect()
    }

    /// Finds what has come, and lets go what has gone.
    fn renew(&mut self) -> Result<(), Fault> {
        self.renewed = self.now();
        self.look_at_the_host();
        let mut changed = false;
        // A service that is started again has a new group at the old place.
        let client_ended = self.targets.client_has_ended();
        let ended = |tenant: &mut Tenant| tenant.gone() || (client_ended && tenant.name == NAME);
        for tenant in self.tenants.extract_if(.., ended) {
            self.notes.push(format!("{} has ended", tenant.name));
            if tenant.name == NAME {
                self.targets.leave_client();
            }
            changed = true;
        }
        let known: Vec<Group> = self.groups();
        let come: Vec<Tenant> = match &self.leash {
            // Who is led is all there is.
            Some(leash) => {
                let again = self.targets.client_again();
                again.map(|group| Tenant::watched(leash.name(), group)).transpose()?.into_iter().collect()
            }
            None => self.targets.come(&self.hierarchy, &known, &self.ledger, &mut self.notes),
        };
        for tenant in come {
            self.notes.push(format!("{} is guarded from now on", tenant.name));
            if self.leash.is_none() && !tenant.offers().idle {
                self.notes.push(self.targets.why_not_idle(&tenant));
            }
            self.tenants.push(tenant);
            changed = true;
        }
        let groups = self.groups();
        self.all.renew();
        if changed {
            self.count();
            self.counted.slow_at = Duration::ZERO;
        }
        let external = processes(&groups);
        self.sense.external_there = !external.is_empty();
        self.set_apart(&external);
        self.domain = self.tenants.first().and_then(|tenant| Domain::of(tenant.group()));
        Ok(())
    }

    /// Chooses whom of own work to watch, if it is time.
    fn choose(&mut self) {
        let (now, (at, before)) = (self.now(), self.chosen);
        let passed = now.saturating_sub(at);
        let used = self.sense.own_cpu;
        let new = used > before + MORE && passed >= SLOW[0];
        if !self.sense.external_there || !(new || used >= BUSY && passed >= CHOOSE) {
            return;
        }
        self.chosen = (now, used);
        // As they are now: what external work has started since would wait as if it were own.
        let external = processes(&self.groups());
        let mut own = process::all();
        own.retain(|process| {
            external.binary_search(&process.pid).is_err() && process.pid != std::process::id()
        });
        self.waits.choose(&own);
    }

    /// Gives external work its part of the cache. What its tasks start later is there by itself.
    fn set_apart(&mut self, external: &[u32]) {
        let Some(partition) = &self.partition else { return };
        for pid in external.iter().filter(|pid| !self.partitioned.contains(pid)) {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
            numbers.for_each(|task| partition.take_in(task));
        }
        self.partitioned = external.iter().copied().collect();
    }

    fn external_cpu(&mut self) -> Duration {
        self.tenants.iter_mut().map(Tenant::cpu).sum()
    }

    /// Begins to count anew.
    fn count(&mut self) {
        let all = self.all.read().unwrap_or_default();
        self.counted.external = self.external_cpu();
        self.counted.own = all.saturating_sub(self.counted.external);
        self.counted.cost = thread_cpu_ns();
        self.counted.at = self.now();
    }

    /// What was used since the look before, if that is long enough ago to tell.
    fn look_at_processors(&mut self) {
        let before = self.counted;
        self.sense.used = Used::default();
        let passed = self.now().saturating_sub(before.at);
        if passed < self.all.resolution() {
            return;
        }
        self.count();
        let seconds = self.counted.at.saturating_sub(before.at).as_secs_f64();
        let passed = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64();
        let cost = self.counted.cost.saturating_sub(before.cost) as f64 * 1e-9;
        let this = if self.all.has_this(&self.hierarchy) { cost } else { 0.0 };
        let own = (passed(self.counted.own, before.own) - this).max(0.0);
        let used = Used { own, external: passed(self.counted.external, before.external), cost };
        let cores = self.cores as f64;
        self.sense.cost = used.cost / seconds;
        self.sense.external_cpu = (used.external / seconds).min(cores);
        self.sense.own_cpu = (used.own / seconds).min(cores);
        self.sense.used = used;
    }

    /// What other machines take, which changes slowly, and costs more to read the more processors
    /// there are.
    fn look_at_the_host(&mut self) {
        let stolen = self.files.stat.as_mut().and_then(|file| file.told(|text| stolen_time(text, TICK)));
        let now = self.now();
        if let (Some(stolen), Some((at, before))) = (stolen, self.counted.stolen) {
            let passed = now.saturating_sub(at).as_secs_f64().max(1e-3);
            self.sense.stolen = stolen.saturating_sub(before).as_secs_f64() / passed;
        }
        self.counted.stolen = stolen.map(|stolen| (now, stolen));
    }

    /// Memory, devices and waiting for processors, which are looked at more rarely.
    fn look_at_the_rest(&mut self) {
        let now = self.now();
        let swap = self
            .files
            .meminfo
            .as_mut()
            .and_then(|file| file.told(|text| keyed(text, "SwapFree")))
            .unwrap_or(0)
            > 0;
        let mut memory = Memory::default();
        let mut theirs = [Duration::ZERO; 2];
        for tenant in &mut self.tenants {
            let one = tenant.memory(swap);
            memory.has += one.has;
            memory.floor += one.floor;
            memory.refaults += one.refaults;
            memory.swapped_in += one.swapped_in;
            theirs.iter_mut().zip(tenant.stalls()).for_each(|(sum, stall)| *sum += stall);
        }
        let host = self.files.vmstat.as_mut().and_then(|file| file.told(|text| Some(pages(text).refaults)));
        let told =
            |file: &mut Option<Steady>| file.as_mut().and_then(|file| file.told(pressure)).map(|p| p.some);
        let all = [told(&mut self.files.memory), told(&mut self.files.io)].map(Option::unwrap_or_default);
        // Somebody waited for at least as long as both did, less external work's part.
        let own = [0, 1].map(|kind| all[kind].saturating_sub(theirs[kind]));
        let own_refaults = host.unwrap_or(memory.refaults).saturating_sub(memory.refaults);
        let seconds = now.saturating_sub(self.counted.slow_at).as_secs_f64();
        if self.counted.slow_at > Duration::ZERO && seconds > 0.0 {
            let share =
                |kind: usize| own[kind].saturating_sub(self.counted.stalls[kind]).as_secs_f64() / seconds;
            self.sense.memory_stall = share(0).min(1.0);
            self.sense.io_stall = share(1).min(1.0);
            self.sense.refaults = own_refaults.saturating_sub(self.counted.refaults) as f64 / seconds;
            let swapped_in = memory.swapped_in.saturating_sub(self.counted.swapped_in);
            self.sense.external_swapping = swapped_in as f64 / seconds;
        }
        (self.sense.external_memory, self.sense.external_floor) = (memory.has, memory.floor);
        self.counted.swapped_in = memory.swapped_in;
        if let Some([used, available, all]) = self.domain.as_mut().and_then(Domain::look) {
            self.sense.own_memory = used.0.saturating_sub(memory.has);
            self.sense.free_memory = all.0.saturating_sub(used.0);
            self.sense.short_memory = (available.0 as f64) < SHORT * all.0 as f64;
        }
        let waited = self.waits.read();
        self.sense.own_wait = waited
            .filter(|_| seconds > 0.0)
            .map(|now| now.saturating_sub(self.counted.waited.unwrap_or(now)).as_secs_f64() / seconds);
        self.counted.waited = waited;
        (self.counted.slow_at, self.counted.refaults, self.counted.stalls) = (now, own_refaults, own);
        self.slow = now;
    }
}

/// All that is in these groups, in order.
fn processes(groups: &[Group]) -> Vec<u32> {
    let mut all: Vec<u32> = groups.iter().flat_map(Group::processes).collect();
    all.sort_unstable();
    all
}

impl World for Machine {
    fn offers(&self) -> Offers {
        if self.leash.is_some() {
            return Leash::offers();
        }
        let all = Offers { idle: true, turns: true, still: true, cores: true, memory: true, io: true };
        // What cannot be done to one of them cannot be relied on.
        self.tenants.iter().map(Tenant::offers).fold(all, |all, one| Offers {
            idle: all.idle && one.idle,
            turns: all.turns && one.turns,
            still: all.still && one.still,
            cores: all.cores && one.cores,
            memory: all.memory && one.memory,
            io: all.io && one.io,
        })
    }

    fn cores(&self) -> usize {
        self.cores
    }

    fn look(&mut self, probe: bool) -> Result<Sense, Fault> {
        self.sense.lateness = self.now().saturating_sub(self.slept_until).as_secs_f64();
        self.sense.probe = match &mut self.prober {
            Some(prober) if probe => Some(prober.take()),
            _ => None,
        };
        let now = self.now();
        let before = self.counted.at;
        self.look_at_processors();
        self.sense.interval = now.saturating_sub(before).as_secs_f64().max(1e-4);
        if now.saturating_sub(self.slow) >= SLOW[usize::from(self.sense.short_memory)] {
            self.look_at_the_rest();
        }
        if now.saturating_sub(self.renewed) >= RENEW {
            self.renew()?;
        }
        self.choose();
        Ok(self.sense)
    }

    fn apply(&mut self, grant: &Grant, run: bool) {
        if let Some(leash) = &mut self.leash {
            leash.apply(self.began.elapsed(), grant, run);
            self.notes.extend(leash.complaint());
            return;
        }
        let count = self.tenants.len().max(1) as u64;
        let floors: u64 = self.tenants.iter().filter_map(Tenant::floor).sum();
        for tenant in &mut self.tenants {
            // Each keeps what cannot be taken from it, and gets its part of the rest.
            let rest = grant.memory.map(|bytes| bytes.saturating_sub(floors) / count);
            let memory = rest.zip(tenant.floor()).map(|(rest, floor)| floor + rest);
            tenant.apply(&Grant { memory, ..*grant }, run);
            let complaints = tenant.complaints().into_iter();
            self.notes.extend(complaints.map(|complaint| format!("{}: {complaint}", tenant.name)));
        }
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&mut self, time: Duration) {
        self.slept_until = self.now() + time;
        std::thread::sleep(time);
    }
}
