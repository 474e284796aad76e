//! An attempt: groups and files are made, drivers start, users begin at once and do their jobs.

use std::fs;
use std::path::{Path, PathBuf};

use crosstalk_cgroup::group::{Group, reading};
use crosstalk_core::Fault;
use crosstalk_core::scene::Sink;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::fresh_mark;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_work::peer::Deadline;

use crate::common::CommonFiles;
use crate::counts::Counter;
use crate::deal::deal;
use crate::drivers::Drivers;
use crate::files::{block_file, create};
use crate::isolation::View;
use crate::mix::Mix;
use crate::orders::{Orders, Overlay, Report, Signal, Task, UserOrders};
use crate::outcome::{Outcome, UserOutcome};
use crate::reread::BLOCK;
use crate::scene::Scene;
use crate::spec::{Load, Reread, Spec};
use crate::work::now;

/// The blocks of a slow reader's job, at a `work` of 1: 0.1 s of pauses.
const BLOCKS: f64 = 20.0;

/// Runs an attempt with temporary files in `scratch`.
///
/// # Errors
/// If the groups cannot be made, a user fails or is killed, or at the deadline.
pub fn run(
    spec: &Spec,
    scratch: &Path,
    seed: u64,
    out: &mut dyn Sink,
    until: &Deadline,
) -> Result<(), Fault> {
    let ledger = Ledger::open(&Launcher::current())?;
    let apart = matches!(&spec.load, Load::Reread(reread) if reread.apart);
    let dealt = deal(spec.users, spec.groups, spec.streamers(), apart);
    let shares: Vec<f64> = dealt.iter().map(|group| group.len() as f64 / spec.users as f64).collect();
    let folder = Folder::new(scratch)?;
    let orders = orders(spec, &dealt, &folder.0, &scratch.join("users"), seed)?;
    let scene = Scene::new(&spec.machine, spec.isolation, &shares, &folder.0, &ledger, until)?;
    let drivers = Drivers::start(&orders, |at, orders| scene.driver(at, orders))?;
    let outcome = drive(drivers, &scene, spec, until)?;
    scene.remove()?;
    outcome.report(out)
}

/// The drivers' orders: one for each group of users.
fn orders(
    spec: &Spec,
    dealt: &[Vec<usize>],
    folder: &Path,
    files: &Path,
    seed: u64,
) -> Result<Vec<Orders>, Fault> {
    let folders = folders(spec, dealt.len(), folder)?;
    // Over the files that users read, or those that they make.
    let overlay = |at: usize, made: &Path| {
        let over = if matches!(spec.load, Load::Reread(_)) { files } else { made };
        let own = folder.join(format!("overlay-{at}"));
        (spec.isolation.view == View::Overlay).then(|| Overlay { over: over.into(), own })
    };
    let tasks: Vec<Vec<Task>> = match &spec.load {
        Load::Mix(name) => mix_tasks(spec, name, dealt, &folders, seed)?,
        Load::Reread(reread) => {
            let tasks = reread_tasks(spec, reread, files)?;
            dealt.iter().map(|users| users.iter().map(|user| tasks[*user].clone()).collect()).collect()
        }
    };
    let mut all = Vec::new();
    for (at, (users, tasks)) in dealt.iter().zip(tasks).enumerate() {
        let user = |(number, task): (&usize, Task)| UserOrders {
            number: *number,
            folder: folders[at].clone(),
            seed,
            task,
        };
        let users = users.iter().zip(tasks).map(user).collect();
        all.push(Orders { overlay: overlay(at, &folders[at]), users });
    }
    Ok(all)
}

/// The folder of each group: one for all, or one for each.
fn folders(spec: &Spec, groups: usize, folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let name =
        |at| if spec.isolation.folders { folder.join(format!("group-{at}")) } else { folder.join("all") };
    let folders: Vec<PathBuf> = (0..groups).map(name).collect();
    folders.iter().try_for_each(|folder| create(folder))?;
    Ok(folders)
}

/// The tasks of a mix's users, by group.
fn mix_tasks(
    spec: &Spec,
    name: &str,
    dealt: &[Vec<usize>],
    folders: &[PathBuf],
    seed: u64,
) -> Result<Vec<Vec<Task>>, Fault> {
    let mix = Mix::find(name)?;
    let file_size = mix.file_size(spec.users);
    let mut made: Vec<&PathBuf> = Vec::new();
    let of_group = |(users, folder): (&Vec<usize>, &PathBuf)| {
        let common = folder.join("common");
        let task = |user: &usize| {
            let jobs = mix.jobs(spec.jobs, seed, *user as u64);
            let jobs = jobs.iter().map(|test| test.name.to_string()).collect();
            Task::Mix { jobs, common: common.clone(), work: spec.work, file_size }
        };
        users.iter().map(task).collect()
    };
    for folder in folders {
        if !made.contains(&folder) {
            made.push(folder);
            create(&folder.join("common"))?;
            CommonFiles::make(&folder.join("common"), file_size, spec.work)?;
        }
    }
    Ok(dealt.iter().zip(folders).map(of_group).collect())
}

/// The task of each user that reads files: first those that stream.
fn reread_tasks(spec: &Spec, reread: &Reread, files: &Path) -> Result<Vec<Task>, Fault> {
    let blocks = (BLOCKS * spec.work).round().max(1.0) as usize;
    let sizes = reread.sizes(spec.users - reread.streamers, BLOCK as u64);
    let mut tasks = Vec::new();
    if reread.streamers > 0 {
        let file = block_file(files, "stream", reread.stream.0 / BLOCK as u64 * BLOCK as u64)?;
        tasks.resize(reread.streamers, Task::Stream { file });
    }
    for (reader, size) in sizes.into_iter().enumerate() {
        let file = block_file(files, &format!("reader-{reader}"), size)?;
        tasks.push(Task::Reread { file, size: Bytes(size), jobs: spec.jobs, blocks });
    }
    Ok(tasks)
}

/// Lets the users begin, and waits for all of them.
fn drive(mut drivers: Drivers, scene: &Scene, spec: &Spec, until: &Deadline) -> Result<Outcome, Fault> {
    let mut ready = 0;
    let mut users = Vec::new();
    let mut left = spec.users - spec.streamers();
    let mut began = now();
    let mut counter = None;
    while users.len() < spec.users {
        let next = drivers.next(until);
        let (group, report) = next.map_err(|fault| out_of_memory(&scene.places()).unwrap_or(fault))?;
        match report {
            Report::Ready => {
                ready += 1;
                if ready == drivers.count() {
                    counter = Some(Counter::begin(&scene.places(), spec.waits)?);
                    began = now();
                    drivers.signal(Signal::Begin)?;
                }
            }
            Report::User { number, done, user_time, system_time } => {
                let streams = number < spec.streamers();
                users.push(UserOutcome {
                    group,
                    streams,
                    done,
                    cpu_user: user_time,
                    cpu_system: system_time,
                });
                left -= usize::from(!streams);
                if left == 0 && !streams {
                    drivers.signal(Signal::Stop)?;
                }
            }
            Report::Failed { number, fault } => {
                return Err(Fault::attempt(format!("user {number} failed: {}", fault.sentence())));
            }
            Report::Killed { number, signal } => {
                let fault =
                    Fault::attempt(format!("user {number} in group {group} was killed by signal {signal}"));
                return Err(out_of_memory(&scene.places()).unwrap_or(fault));
            }
            Report::Broken(fault) => return Err(fault),
        }
    }
    let counts = counter.map_or(Ok(Vec::new()), |counter| counter.counts())?;
    Ok(Outcome { began, users, counts })
}

/// The fault of the first group in which the kernel has killed a process for want of memory.
fn out_of_memory(places: &[Group]) -> Option<Fault> {
    let kills = |place: &Group| {
        let file = place.file(&[("", "memory.events"), ("memory", "memory.oom_control")])?;
        reading::keyed(&fs::read_to_string(file).ok()?, "oom_kill")
    };
    let group = places.iter().position(|place| kills(place).is_some_and(|count| count > 0))?;
    Some(
        Fault::attempt(format!("group {group} is out of memory: the kernel killed a process in it"))
            .remedy("give more `memory`, or fewer `users` or less `work` to a group"),
    )
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
