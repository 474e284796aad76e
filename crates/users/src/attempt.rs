//! An attempt: groups and files are made, drivers start, users begin at once and do their jobs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::{Group, reading};
use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;
use crosstalk_host::process::fresh_mark;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_work::peer::Deadline;

use crate::arrangement::Arrangement;
use crate::counts::Counters;
use crate::drivers::Drivers;
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

/// Runs an attempt with temporary files in `scratch`. `seed`: of the users' random numbers. `until`: the deadline of all
/// of it, and how long the users may take once they have begun.
///
/// # Errors
/// If the groups cannot be made, a user fails or is killed, or at the deadline.
pub fn attempt(
    population: &Population,
    arrangement: &Arrangement,
    scratch: &Path,
    seed: u64,
    until: (&Deadline, Option<Seconds>),
) -> Result<Outcome, Failure> {
    let launcher = Launcher::current();
    let ledger = Ledger::open(&launcher)?;
    let folder = Folder::new(scratch)?;
    let orders = orders(population, arrangement, &folder.0, &scratch.join("users"), seed)?;
    let scene = Scene::new(&population.machine, arrangement, &folder.0, &ledger)?;
    let drivers = Drivers::start(&launcher, scene.places(), &orders)?;
    let outcome = drive(drivers, &scene, population, until).map_err(|failure| {
        let group = killed_in(scene.places()).map(|at| arrangement.groups[at].name.clone());
        group.map_or(failure, Failure::OutOfMemory)
    })?;
    scene.remove()?;
    Ok(outcome)
}

/// Lets the users begin, and waits for all of them.
fn drive(
    mut drivers: Drivers,
    scene: &Scene,
    population: &Population,
    (until, most): (&Deadline, Option<Seconds>),
) -> Result<Outcome, Failure> {
    let (count, streamers) = (population.users(), population.streamers());
    let mut ready = 0;
    let mut users = Vec::new();
    let mut left = count - streamers;
    let (mut began, mut end) = (now(), None);
    let places = distinct(scene.places());
    let (mut before, mut machine) = (Vec::new(), Counters::read(scene.machine()));
    while users.len() < count {
        let (group, report) = drivers.next(until, end)?.ok_or(Failure::Late)?;
        match report {
            Report::Ready => {
                ready += 1;
                if ready == drivers.count() {
                    before = places.iter().map(|place| Counters::read(place)).collect();
                    machine = Counters::read(scene.machine());
                    began = now();
                    end = most.map(|most| Instant::now() + Duration::from_secs_f64(most.0));
                    drivers.signal(Signal::Begin)?;
                }
            }
            Report::User { number, done, usage } => {
                let streams = number < streamers;
                users.push(UserOutcome { number, group, streams, done, usage });
                left -= usize::from(!streams);
                if left == 0 && !streams {
                    drivers.signal(Signal::Stop)?;
                }
            }
            Report::Failed { number, fault } => {
                let mut failed = Fault::attempt(format!("user {number} failed: {}", fault.sentence()));
                failed.remedy = fault.remedy;
                return Err(failed.into());
            }
            Report::Killed { number, signal } => {
                let message = format!("user {number} in group {group} was killed by signal {signal}");
                return Err(Fault::attempt(message).into());
            }
            Report::Broken(fault) => return Err(fault.into()),
        }
    }
    let counts = before.iter().zip(&places).map(|(before, place)| before.since(place)).collect();
    Ok(Outcome { began, users, counts, machine: machine.since(scene.machine()) })
}

/// The places, one for several groups that are together.
fn distinct(places: &[Group]) -> Vec<&Group> {
    let mut distinct: Vec<&Group> = Vec::new();
    for place in places {
        if distinct.iter().all(|other| other.paths_by_tree() != place.paths_by_tree()) {
            distinct.push(place);
        }
    }
    distinct
}

/// The first group in which the kernel has killed a process for want of memory.
fn killed_in(places: &[Group]) -> Option<usize> {
    let kills = |place: &Group| {
        let file = place.file(&[("", "memory.events"), ("memory", "memory.oom_control")])?;
        reading::oom_kills(&fs::read_to_string(file).ok()?)
    };
    places.iter().position(|place| kills(place).is_some_and(|count| count > 0))
}

/// A folder of an attempt, removed with the drop.
struct Folder(PathBuf);

impl Folder {
    fn new(scratch: &Path) -> Result<Self, Fault> {
        let path = scratch.join(format!("users-{}", &fresh_mark()?[..8]));
        fs::create_dir_all(&path).map_err(|e| {
            Fault::attempt(format!("cannot create a folder: {e}")).at(path.display().to_string())
        })?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It is in the agent's folder, which goes with it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
