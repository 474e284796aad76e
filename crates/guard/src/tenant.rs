//! One group of background work: its knobs, taken from the undo ledger, and what it uses.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::{allowed, parse_list};

use super::control::Control;
use super::farewell::Farewell;
use super::floor::{Floor, Readers, floor, is_hard, on_its_way};
use super::limit::Limit;
use super::lock::Lock;
use super::steady::Steady;
use super::swaps::Swaps;
use crosstalk_cgroup::exec::{USAGE, list};
use crosstalk_cgroup::group::reading::{cpu_time, number, pages, pressure};
use crosstalk_cgroup::group::{Dial, Group, Hierarchy, Made, Setting};
use crosstalk_policy::PAGE;
use crosstalk_policy::{Grant, Offers};

/// Where the memory that it has is told.
const MEMORY_USAGE: [(&str, &str); 2] = [("", "memory.current"), ("memory", "memory.usage_in_bytes")];

/// The group while it is guarded. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) name: String,
    group: Group,
    idle_reaches: bool,
    /// What could not be done, each once.
    complaints: Vec<String>,
    /// Whether its idle class was gone when it was last looked for, with the controller's.
    lost: bool,
    /// How many of its directories are there.
    there: usize,
    counted: Counted,
    usage: Option<Steady>,
    memory_usage: Option<Steady>,
    memory_stat: Option<Steady>,
    memory_swap: Option<Steady>,
    swaps: Swaps,
    pressures: Pressures,
    rest: Option<Rest>,
    cores: Option<Control<Vec<usize>>>,
    /// The processors that it has been given, in order.
    may_have: Vec<usize>,
    memory: Option<Limit>,
    /// Bytes that a thread of it may have on their way.
    on_its_way: u64,
    io: Option<Control<()>>,
    // The idle class is put back before the weight, which it would take with it.
    idle: Option<Dial>,
    weight: Option<Dial>,
    farewell: Farewell,
    // The group goes last, if it is ours.
    made: Option<Made>,
    lock: Option<Lock>,
}

/// Where it is told how long some of it waits for what.
#[derive(Debug, Default)]
struct Pressures {
    memory: Option<Steady>,
    devices: Option<Steady>,
}

/// How long that has been, if it is told.
fn stall(file: &mut Option<Steady>) -> Option<Duration> {
    Some(file.as_mut()?.told(pressure)?.some)
}

/// How it is made to stand still.
#[derive(Debug)]
enum Rest {
    /// At once, and for milliseconds.
    Freezer(Control<()>),
    /// Nearly, and within a tenth of a second: by the least quota.
    Quota(Control<()>),
}

impl Rest {
    /// Its knob, and what has it stand still.
    fn how(&mut self) -> (&mut Control<()>, Setting) {
        match self {
            Rest::Freezer(control) => (control, Setting::Frozen(true)),
            Rest::Quota(control) => (control, Setting::Quota(Some(0.0))),
        }
    }

    fn set(&mut self, rests: bool) -> Result<(), Fault> {
        let (control, still) = self.how();
        control.set(rests.then_some(()), |()| still)
    }
}

/// What it had come to when it was last looked at. It stays where the group is gone, until that is let
/// go: else all of it would be foreground work's at once.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    cpu: Duration,
    /// Bytes that it had.
    memory: u64,
    refaults: u64,
    /// Pages that it had swapped out and needed again, and that it had others swapped out for.
    swapped_in: u64,
    swapped_out: u64,
    /// Bytes that were swapped out when that was last looked at, if nothing was being taken from it.
    swap: Option<u64>,
    memory_stall: Duration,
    device_stall: Option<Duration>,
    /// What cannot be taken from it, once that was looked at.
    floor: Option<Floor>,
    /// Bytes of it that can be swapped out.
    swap_left: u64,
}

/// What a group has of memory: bytes, those of them that cannot be taken from it, how many pages it has
/// had to fetch again from wherever, and how many it has swapped in or out without being made to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub(super) has: u64,
    pub(super) floor: Floor,
    pub(super) refaults: u64,
    pub(super) swapped: u64,
}

/// Whether work in the group yields to all others once the group itself does: no group above it
/// competes in its stead, unless that yields, too.
pub(super) fn reaches(group: &Group, hierarchy: &Hierarchy) -> bool {
    let tree =
        hierarchy.v1.get("cpu").map(|tree| ("cpu", tree)).or(hierarchy.v2.as_ref().map(|tree| ("", tree)));
    let Some((controller, tree)) = tree else { return false };
    let Some(dir) = group.dir(controller) else { return false };
    let above =
        dir.ancestors().skip(1).take_while(|above| **above != tree.mount && above.starts_with(&tree.mount));
    let top: Option<&Path> = above.last();
    top.is_none_or(|top| fs::read_to_string(top.join("cpu.idle")).is_ok_and(|text| text.trim() == "1"))
}

impl Tenant {
    /// Takes the group in hand, and sets what always holds: the idle class, or the least weight.
    /// `made` is it, where it is ours.
    ///
    /// # Errors
    /// Where another guard has it, or the kernel refuses; everything is put back then.
    pub(super) fn new(
        name: &str,
        group: Group,
        made: Option<Made>,
        hierarchy: &Hierarchy,
        ledger: &Ledger,
    ) -> Result<Tenant, Fault> {
        let lock = Lock::take(name, &group)?;
        may_be_set(&group)?;
        // A guard that was killed is no longer in the way, and what it set may still be there.
        ledger.undo_abandoned();
        let has = |setting: &Setting| group.place(setting).is_some();
        let take = |setting: Setting| has(&setting).then(|| group.knob(&setting, ledger)).transpose();
        // Nobody is left standing still by a guard that has ended or is stopped.
        let leased = |setting: Setting| has(&setting).then(|| group.leased(&setting, ledger)).transpose();
        let freezer = leased(Setting::Frozen(true))?.map(|dial| Rest::Freezer(Control::new(dial)));
        let rest = match freezer {
            None => leased(Setting::Quota(None))?.map(|dial| Rest::Quota(Control::new(dial))),
            freezer => freezer,
        };
        let cores = take(Setting::Cores(String::new()))?.map(Control::new);
        let was_idle = group
            .place(&Setting::Idle(true))
            .is_some_and(|path| fs::read_to_string(path).is_ok_and(|text| text.trim() == "1"));
        // A group that is idle already has no weight to be put back.
        let weight = if was_idle { None } else { take(Setting::Weight(1))? };
        let idle = take(Setting::Idle(true))?;
        let soft = has(&Setting::MemoryHigh(None));
        let memory = if soft { Setting::MemoryHigh(None) } else { Setting::MemoryMax(None) };
        let mut tenant = Tenant {
            name: name.into(),
            idle_reaches: idle.is_some() && reaches(&group, hierarchy),
            complaints: Vec::new(),
            lost: false,
            there: group.paths().len(),
            counted: Counted::default(),
            usage: group.file(&USAGE).and_then(|path| Steady::open(&path)),
            memory_usage: open(&group, &MEMORY_USAGE),
            memory_stat: open(&group, &[("", "memory.stat"), ("memory", "memory.stat")]),
            memory_swap: open(&group, &[("", "memory.swap.current")]),
            swaps: if soft { Swaps::slowed(&group) } else { Swaps::killed(&group) },
            pressures: Pressures {
                memory: open(&group, &[("", "memory.pressure")]),
                devices: open(&group, &[("", "io.pressure")]),
            },
            rest,
            may_have: cores.as_ref().map_or_else(Vec::new, |cores| may_have(cores.was())),
            cores,
            memory: take(memory)?
                .map(|dial| Limit::new(dial, open(&group, &MEMORY_USAGE), soft))
                .transpose()?,
            on_its_way: on_its_way(),
            io: take(Setting::IoWeight(1))?.map(Control::new),
            idle,
            weight,
            farewell: Farewell::default(),
            made,
            lock,
            group,
        };
        match (&mut tenant.idle, &mut tenant.weight) {
            (Some(idle), weight) => {
                // The kernel forgets the weight of who leaves the idle class.
                weight.iter_mut().try_for_each(Dial::keep)?;
                idle.set(&Setting::Idle(true))?;
            }
            (None, Some(weight)) => weight.set(&Setting::Weight(1))?,
            (None, None) => {}
        }
        Ok(tenant)
    }

    /// The group is only looked at: what it does is asked of its program.
    ///
    /// # Errors
    /// Where another guard has it.
    pub(super) fn watched(name: &str, group: Group) -> Result<Tenant, Fault> {
        let lock = Lock::take(name, &group)?;
        Ok(Tenant {
            name: name.into(),
            idle_reaches: false,
            complaints: Vec::new(),
            lost: false,
            there: group.paths().len(),
            counted: Counted::default(),
            usage: group.file(&USAGE).and_then(|path| Steady::open(&path)),
            memory_usage: None,
            memory_stat: None,
            memory_swap: None,
            swaps: Swaps::unknown(),
            pressures: Pressures::default(),
            rest: None,
            cores: None,
            may_have: Vec::new(),
            memory: None,
            on_its_way: 0,
            io: None,
            idle: None,
            weight: None,
            farewell: Farewell::default(),
            made: None,
            lock,
            group,
        })
    }

    /// Looks whether what always holds still does: controllers come and go, and take with them what
    /// was set.
    pub(super) fn renew(&mut self, hierarchy: &Hierarchy) {
        let there = self.group.paths().iter().filter(|path| path.exists()).count();
        if there < self.there && there > 0 {
            self.complaints.push("a part of its group is gone, and what was held by it with that".into());
        }
        self.there = there;
        let Some(idle) = &mut self.idle else { return };
        let offered = self.group.place(&Setting::Idle(true)).is_some();
        if !offered && !self.lost && there > 0 {
            self.complaints.push(
                "the cpu controller was taken from its group: it yields no more by the idle class".into(),
            );
        }
        if offered && self.lost {
            self.complaints.extend(idle.set(&Setting::Idle(true)).err().map(|fault| fault.to_string()));
        }
        self.lost = !offered;
        self.idle_reaches = offered && reaches(&self.group, hierarchy);
    }

    /// What can be done to it.
    pub(super) fn offers(&self) -> Offers {
        Offers {
            idle: self.idle_reaches,
            turns: matches!(self.rest, Some(Rest::Freezer(_))),
            still: self.rest.is_some(),
            cores: self.cores.is_some(),
            memory: self.memory.is_some(),
            io: self.io.is_some(),
        }
    }

    /// Its group.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Does as granted, and never gives it more than its owner did: where nothing holds it, all is as
    /// it was found. Of its processors it has those that are not `withheld`, in order, and one at least. Whether it
    /// stands still now.
    pub(super) fn apply(&mut self, now: Duration, grant: &Grant, run: bool, withheld: &[usize]) -> bool {
        let mut done = Vec::new();
        let taking = self.memory.as_ref().is_some_and(|memory| {
            memory.set(grant.memory, self.counted.memory);
            memory.is_taking()
        });
        // Standing still comes first, going on last: what changes in between is changed at rest. Memory
        // that is taken from who goes on using it is had again at once.
        let rests = if run {
            self.farewell.goes_on(now);
            taking
        } else {
            !self.farewell.is_due(now, &self.group) || taking
        };
        if let Some(rest) = self.rest.as_mut().filter(|_| rests) {
            done.push(rest.set(true));
        }
        if let Some(cores) = &mut self.cores {
            let mut left: Vec<usize> =
                self.may_have.iter().filter(|one| withheld.binary_search(one).is_err()).copied().collect();
            if left.is_empty() {
                left.extend(self.may_have.last());
            }
            let less = (left.len() < self.may_have.len()).then_some(left);
            done.push(cores.set(less, |left| Setting::Cores(list(&left))));
        }
        if let Some(fault) = self.memory.as_ref().and_then(Limit::complaint) {
            done.push(Err(fault));
        }
        if let Some(io) = &mut self.io {
            done.push(io.set(grant.least_io.then_some(()), |()| Setting::IoWeight(1)));
        }
        if let Some(rest) = self.rest.as_mut().filter(|_| !rests) {
            done.push(rest.set(false));
        }
        let faults: Vec<Fault> = done.into_iter().filter_map(Result::err).collect();
        if !faults.is_empty() && !self.has_ended() {
            self.complaints.extend(faults.iter().map(ToString::to_string));
        }
        rests && self.rest.is_some()
    }

    /// Has it stand still again if it is to: it runs where the lease of that has ended.
    pub(super) fn rest_again(&mut self) {
        if let Some(rest) = &mut self.rest {
            let (control, still) = rest.how();
            control.again(|()| still);
        }
    }

    /// Whether it runs though it is to stand still, since some of it was told to end.
    pub(super) fn is_let_run(&self) -> bool {
        self.farewell.is_on()
    }

    /// What could not be done since this was last asked.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// CPU time that it has used.
    pub(super) fn cpu(&mut self) -> Duration {
        let told = self.usage.as_mut().and_then(|file| file.told(cpu_time));
        self.counted.cpu = told.unwrap_or(self.counted.cpu);
        self.counted.cpu
    }

    /// Bytes that it has, and those that it must be left with, once that was looked at.
    pub(super) fn has(&self) -> Option<(u64, u64)> {
        self.counted.floor.map(|floor| (self.counted.memory, floor.left))
    }

    /// The memory that it has, where there are `swap` bytes of free swap.
    pub(super) fn memory(&mut self, swap: u64) -> Memory {
        let has = self.memory_usage.as_mut().and_then(|file| file.told(number)).unwrap_or(0);
        let told = self.memory_stat.as_mut().and_then(|file| file.told(|text| Some(pages(text))));
        let v2 = self.memory_swap.as_mut().and_then(|file| file.told(number));
        let taking = self.memory.as_ref().is_some_and(Limit::is_taking);
        let counted = &mut self.counted;
        // What the guard takes from it is no swapping of its own.
        let out = v2.or(told.map(|pages| pages.swap)).filter(|_| !taking);
        let more = out.zip(counted.swap).map_or(0, |(now, before)| now.saturating_sub(before));
        counted.swapped_out += more / PAGE;
        counted.swap = out;
        (counted.refaults, counted.swapped_in) =
            told.map_or((counted.refaults, counted.swapped_in), |pages| (pages.refaults, pages.swapped_in));
        let (swap, threads) = self.swaps.look(swap);
        let killed = threads.map(|threads| Readers { threads, each: self.on_its_way });
        let floor = floor(has, &told.unwrap_or_default(), swap, killed);
        (counted.memory, counted.floor, counted.swap_left) = (has, Some(floor), swap);
        let swapped = self.counted.swapped_in + self.counted.swapped_out;
        Memory { has, floor, refaults: self.counted.refaults, swapped }
    }

    /// Whether a limit holds it beyond which it may be killed, where there is too little swap.
    pub(super) fn is_held_hard(&self) -> bool {
        let kills = self.swaps.kills() && is_hard(self.counted.swap_left);
        kills && self.memory.as_ref().is_some_and(Limit::is_asked)
    }

    /// How long some of it has waited for memory.
    pub(super) fn memory_stall(&mut self) -> Duration {
        self.counted.memory_stall = stall(&mut self.pressures.memory).unwrap_or(self.counted.memory_stall);
        self.counted.memory_stall
    }

    /// The same for devices, where that is told.
    pub(super) fn device_stall(&mut self) -> Option<Duration> {
        self.counted.device_stall = stall(&mut self.pressures.devices).or(self.counted.device_stall);
        self.counted.device_stall
    }

    /// Whether its group is gone, another has come to its place, or its guests have ended.
    pub(super) fn has_ended(&self) -> bool {
        let replaced = |found: &Lock| {
            let path = self.group.paths().into_iter().next()?;
            Some(fs::metadata(path).ok()?.ino() != found.inode()?)
        };
        let left = self.made.is_some() && self.group.processes().is_empty();
        left || !self.group.exists() || self.lock.as_ref().and_then(replaced).unwrap_or(false)
    }
}

/// The processors that a group may have by its own list, in which nothing means all above it has.
fn may_have(was: &str) -> Vec<usize> {
    let (mut may, listed) = (allowed(), parse_list(was));
    may.retain(|cpu| listed.is_empty() || listed.contains(cpu));
    may
}

fn open(group: &Group, places: &[(&str, &str)]) -> Option<Steady> {
    Steady::open(&group.file(places)?)
}

/// A fault where this user may not set what matters: what cannot be set cannot be put back either,
/// and would stand in the ledger for good.
fn may_be_set(group: &Group) -> Result<(), Fault> {
    let places = [Setting::Idle(true), Setting::Weight(1), Setting::Frozen(true)];
    for path in places.iter().filter_map(|setting| group.place(setting)) {
        // Opening for writing changes nothing.
        OpenOptions::new().write(true).open(&path).map_err(|e| {
            let remedy = match e.kind() {
                ErrorKind::ReadOnlyFilesystem => "as root: mount -o remount,rw /sys/fs/cgroup",
                _ => "guard as root",
            };
            Fault::environment(e.to_string()).at(path.display().to_string()).remedy(remedy)
        })?;
    }
    Ok(())
}
