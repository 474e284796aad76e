//! An attempt: groups and files are made, drivers start, users begin at once and do their jobs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_host::process::fresh_mark;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_work::peer::Deadline;

use crate::arrangement::Arrangement;
use crate::counts::{Counters, Counting};
use crate::drivers::Drivers;
use crate::files::create;
use crate::orders::{Report, Signal};
use crate::outcome::{Outcome, UserOutcome};
use crate::population::Population;
use crate::scene::Scene;
use crate::tasks::orders;
use crate::work::now;

/// Why an attempt has no outcome.
#[derive(Debug)]
pub enum Failure {
    /// The kernel killed a process in this group for want of memory.
    OutOfMemory(String),
    /// The users took longer than they might.
    Late,
    /// Anything else.
    Other(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::Other(fault)
    }
}

impl Failure {
    /// The fault.
    pub fn fault(self) -> Fault {
        match self {
            Failure::OutOfMemory(group) => {
                Fault::attempt(format!("group `{group}` is out of memory: the kernel killed a process in it"))
                    .remedy("give more `memory`, or fewer `users` or less `work` to a group")
            }
            Failure::Late => Fault::attempt("the users took longer than they might"),
            Failure::Other(fault) => fault,
        }
    }
}

/// How an attempt is conducted.
#[derive(Debug, Clone, Copy)]
pub struct Conduct<'a> {
    /// The deadline of all of it.
    pub until: &'a Deadline<'a>,
    /// How long the users may take once they have begun.
    pub most: Option<Seconds>,
    /// Whether the kernel's tracepoints count what groups wait for.
    pub waits: bool,
}

/// Runs an attempt with temporary files in `scratch`. `seed`: of the users' random numbers.
///
/// # Errors
/// If the groups cannot be made, a user fails or is killed, or at the deadline.
pub fn attempt(
    population: &Population,
    arrangement: &Arrangement,
    scratch: &Path,
    seed: u64,
    conduct: &Conduct,
) -> Result<Outcome, Failure> {
    let ledger = Ledger::open(&Launcher::current())?;
    let folder = Folder::new(scratch)?;
    let orders = orders(population, arrangement, &folder.0, &scratch.join("users"), seed, conduct.until)?;
    let scene = Scene::new(&population.machine, arrangement, &folder.0, &ledger, conduct.until)?;
    let mut drivers = Drivers::start(&orders, |at, orders| scene.driver(at, orders))?;
    let outcome = drive(&mut drivers, &scene, population, conduct).map_err(|failure| {
        let group = scene.out_of_memory().map(|at| {
            match arrangement.memory_is_apart() || arrangement.groups.len() == 1 {
                true => arrangement.groups[at].name.clone(),
                false => "all users together".into(),
            }
        });
        group.map_or(failure, Failure::OutOfMemory)
    });
    // Containers end with their drivers, and with them what was counted in them.
    drop(drivers);
    // Also where it failed: pages that stay would serve later attempts for nothing.
    let removed = scene.remove();
    let outcome = outcome?;
    removed?;
    Ok(outcome)
}

/// Lets the users begin, and waits for all of them.
fn drive(
    drivers: &mut Drivers,
    scene: &Scene,
    population: &Population,
    &Conduct { until, most, waits }: &Conduct,
) -> Result<Outcome, Failure> {
    let (count, streamers) = (population.users(), population.streamers());
    let mut ready = 0;
    let mut users = Vec::new();
    let mut left = count - streamers;
    let (mut began, mut end) = (now(), None);
    let (mut counting, mut machine) = (None, Counters::read(scene.machine()));
    while users.len() < count {
        let (group, report) = drivers.next(until, end)?.ok_or(Failure::Late)?;
        match report {
            Report::Ready => {
                ready += 1;
                if ready == drivers.count() {
                    counting = Some(Counting::begin(&scene.places(), waits)?);
                    machine = Counters::read(scene.machine());
                    began = now();
                    end = most.map(|most| Instant::now() + Duration::from_secs_f64(most.0));
                    drivers.signal(Signal::Begin)?;
                }
            }
            Report::User { number, done, device_reads } => {
                let streams = number < streamers;
                users.push(UserOutcome { number, group, streams, done, device_reads });
                left -= usize::from(!streams);
                if left == 0 && !streams {
                    drivers.signal(Signal::Stop)?;
                }
            }
            Report::Failed { number, fault } => {
                let place = fault.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
                let message = format!("user {} failed: {place}{}", number + 1, fault.message);
                return Err(Fault { remedy: fault.remedy, ..Fault::attempt(message) }.into());
            }
            Report::Killed { number, signal } => {
                let message = format!("user {} in group {group} was killed by signal {signal}", number + 1);
                return Err(Fault::attempt(message).into());
            }
            Report::Broken(fault) => return Err(fault.into()),
        }
    }
    let counts = counting.map_or(Ok(Vec::new()), |counting| counting.counts())?;
    Ok(Outcome { began, users, counts, machine: machine.since(scene.machine()) })
}

/// A folder of an attempt, removed with the drop.
struct Folder(PathBuf);

impl Folder {
    fn new(scratch: &Path) -> Result<Self, Fault> {
        let path = scratch.join(format!("users-{}", &fresh_mark()?[..8]));
        create(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the agent's folder, which goes with it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
