//! One group of external work: its knobs, taken from the undo ledger, and what it uses.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;

use super::policy::{Grant, Offers};
use super::steady::Steady;
use crate::exec::{USAGE, processors};
use crate::group::reading::{Pressure, cpu_time, number, pages, pressure};
use crate::group::{Dial, Group, Hierarchy, Made, Setting};

/// What a group needs to keep even where all can be taken from it: its programs' code.
const LEAST_MEMORY: u64 = 16 << 20;

/// The group while it is guarded. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) name: String,
    group: Group,
    idle_reaches: bool,
    /// What could not be done, once.
    pub(super) complaint: Option<String>,
    state: Option<(Grant, bool)>,
    counted: Counted,
    usage: Option<Steady>,
    memory_usage: Option<Steady>,
    memory_stat: Option<Steady>,
    pressures: [Option<Steady>; 2],
    freeze: Option<Dial>,
    cores: Option<Dial>,
    memory: Option<Dial>,
    io: Option<Dial>,
    // The idle class is put back before the weight, which it would take with it.
    idle: Option<Dial>,
    weight: Option<Dial>,
    // The group goes last, if it is ours.
    _made: Option<Made>,
    _lock: Option<File>,
}

/// What it had come to when it was last looked at. It stays where the group is gone, until that is let
/// go: else all of it would be own work's at once.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    cpu: Duration,
    refaults: u64,
    swapped_in: u64,
    stalls: [Duration; 2],
    /// Bytes that cannot be taken from it, once that was looked at.
    floor: Option<u64>,
}

/// What a group has of memory: bytes, those of them that cannot be taken from it, and how many pages
/// it has had to fetch again, from wherever and from swap.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub(super) has: u64,
    pub(super) floor: u64,
    pub(super) refaults: u64,
    pub(super) swapped_in: u64,
}

/// Whether work in the group gives way to all others once the group itself does: no group above it
/// competes in its stead, unless that gives way, too.
pub(super) fn reaches(group: &Group, hierarchy: &Hierarchy) -> bool {
    let tree =
        hierarchy.v1.get("cpu").map(|tree| ("cpu", tree)).or(hierarchy.v2.as_ref().map(|tree| ("", tree)));
    let Some((controller, tree)) = tree else { return false };
    let Some(dir) = group.dir(controller) else { return false };
    let above =
        dir.ancestors().skip(1).take_while(|above| **above != tree.mount && above.starts_with(&tree.mount));
    let top: Option<&Path> = above.last();
    top.is_none_or(|top| std::fs::read_to_string(top.join("cpu.idle")).is_ok_and(|text| text.trim() == "1"))
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
        let lock = lock(&group)?;
        may_be_set(&group)?;
        let has = |setting: &Setting| group.place(setting).is_some();
        let take = |setting: Setting| has(&setting).then(|| group.knob(&setting, ledger)).transpose();
        let was_idle = group
            .place(&Setting::Idle(true))
            .is_some_and(|path| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1"));
        // A group that is idle already has no weight to be put back.
        let weight = if was_idle { None } else { take(Setting::Weight(1))? };
        let idle = take(Setting::Idle(true))?;
        let memory = if has(&Setting::MemoryHigh(None)) {
            Setting::MemoryHigh(None)
        } else {
            Setting::MemoryMax(None)
        };
        let tenant = Tenant {
            name: name.into(),
            idle_reaches: idle.is_some() && reaches(&group, hierarchy),
            complaint: None,
            state: None,
            counted: Counted::default(),
            usage: group.file(&USAGE).and_then(|path| Steady::open(&path)),
            memory_usage: open(&group, &[("", "memory.current"), ("memory", "memory.usage_in_bytes")]),
            memory_stat: open(&group, &[("", "memory.stat"), ("memory", "memory.stat")]),
            pressures: [open(&group, &[("", "memory.pressure")]), open(&group, &[("", "io.pressure")])],
            freeze: take(Setting::Frozen(true))?,
            cores: take(Setting::Cores(String::new()))?,
            memory: take(memory)?,
            io: take(Setting::IoWeight(1))?,
            idle,
            weight,
            _made: made,
            _lock: lock,
            group,
        };
        match (&tenant.idle, &tenant.weight) {
            (Some(idle), _) => idle.set(&Setting::Idle(true))?,
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
        let lock = lock(&group)?;
        Ok(Tenant {
            name: name.into(),
            idle_reaches: false,
            complaint: None,
            state: None,
            counted: Counted::default(),
            usage: group.file(&USAGE).and_then(|path| Steady::open(&path)),
            memory_usage: None,
            memory_stat: None,
            pressures: [None, None],
            freeze: None,
            cores: None,
            memory: None,
            io: None,
            idle: None,
            weight: None,
            _made: None,
            _lock: lock,
            group,
        })
    }

    /// What can be done to it.
    pub(super) fn offers(&self) -> Offers {
        Offers {
            idle: self.idle_reaches,
            turns: self.freeze.is_some(),
            still: self.freeze.is_some(),
            cores: self.cores.is_some(),
            memory: self.memory.is_some(),
            io: self.io.is_some(),
        }
    }

    /// Its group.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Does as granted. What is refused is said once.
    pub(super) fn apply(&mut self, grant: &Grant, run: bool) {
        let before = self.state.replace((*grant, run));
        let changed = |of: fn(&Grant) -> (usize, Option<u64>, bool)| {
            before.is_none_or(|(old, _)| of(&old) != of(grant))
        };
        let mut faults = Vec::new();
        let ran = before.is_none_or(|(_, ran)| ran);
        // Memory that is taken from who goes on using it is had again at once.
        let taken = before.map_or(u64::MAX, |(old, _)| old.memory.unwrap_or(u64::MAX));
        let rests = !run || grant.memory.is_some_and(|bytes| bytes < taken);
        // Standing still comes first, going on last: what changes in between is changed at rest.
        if let Some(freeze) = self.freeze.as_ref().filter(|_| rests && ran) {
            faults.extend(freeze.set(&Setting::Frozen(true)).err());
        }
        if let Some(cores) = self.cores.as_ref().filter(|_| changed(|g| (g.cores, None, false))) {
            faults.extend(self.choose(cores, grant.cores, before.is_some()).err());
        }
        // What has never been held needs not be let go.
        let held = |now: bool| now || before.is_some();
        if let Some(memory) =
            self.memory.as_ref().filter(|_| changed(|g| (0, g.memory, false)) && held(grant.memory.is_some()))
        {
            let limit = grant.memory.map(Bytes);
            let setting = if memory_is_soft(&self.group) {
                Setting::MemoryHigh(limit)
            } else {
                Setting::MemoryMax(limit)
            };
            // As before where nothing holds it: it may have had a limit of its own.
            let set = if limit.is_none() { memory.reset() } else { memory.set(&setting) };
            faults.extend(set.err());
        }
        if let Some(io) =
            self.io.as_ref().filter(|_| changed(|g| (0, None, g.least_io)) && held(grant.least_io))
        {
            faults.extend(if grant.least_io { io.set(&Setting::IoWeight(1)) } else { io.reset() }.err());
        }
        if let Some(freeze) = self.freeze.as_ref().filter(|_| run && (rests || !ran)) {
            faults.extend(freeze.set(&Setting::Frozen(false)).err());
        }
        if let Some(fault) = faults.into_iter().find(|_| self.group.exists()) {
            self.complaint.get_or_insert(fault.to_string());
        }
    }

    fn choose(&self, dial: &Dial, count: usize, set_before: bool) -> Result<(), Fault> {
        let all = allowed();
        if count >= all.len() {
            return if set_before { dial.reset() } else { Ok(()) };
        }
        dial.set(&Setting::Cores(processors(count, &all)?))
    }

    /// CPU time that it has used.
    pub(super) fn cpu(&mut self) -> Duration {
        let told = self.usage.as_mut().and_then(|file| file.told(cpu_time));
        self.counted.cpu = told.unwrap_or(self.counted.cpu);
        self.counted.cpu
    }

    /// Bytes that cannot be taken from it, once that was looked at.
    pub(super) fn floor(&self) -> Option<u64> {
        self.counted.floor
    }

    /// The memory that it has; `swap` says whether there is any.
    pub(super) fn memory(&mut self, swap: bool) -> Memory {
        let has = self.memory_usage.as_mut().and_then(|file| file.told(number)).unwrap_or(0);
        let told = self.memory_stat.as_mut().and_then(|file| file.told(|text| Some(pages(text))));
        let counted = &mut self.counted;
        (counted.refaults, counted.swapped_in) =
            told.map_or((counted.refaults, counted.swapped_in), |pages| (pages.refaults, pages.swapped_in));
        let anonymous = told.map_or(0, |pages| pages.anonymous);
        // Without swap nothing without a file behind it can go anywhere.
        let kept = if swap { 0 } else { anonymous + anonymous / 20 };
        let floor = kept + LEAST_MEMORY;
        self.counted.floor = Some(floor);
        Memory { has, floor, refaults: self.counted.refaults, swapped_in: self.counted.swapped_in }
    }

    /// How long some of it has waited for memory, and for devices.
    pub(super) fn stalls(&mut self) -> [Duration; 2] {
        let told = |file: &mut Option<Steady>| {
            file.as_mut().and_then(|file| file.told(pressure)).map(|p: Pressure| p.some)
        };
        for (stall, file) in self.counted.stalls.iter_mut().zip(&mut self.pressures) {
            *stall = told(file).unwrap_or(*stall);
        }
        self.counted.stalls
    }

    /// Whether its group is gone.
    pub(super) fn gone(&self) -> bool {
        !self.group.exists()
    }
}

fn memory_is_soft(group: &Group) -> bool {
    group.place(&Setting::MemoryHigh(None)).is_some()
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
            Fault::environment(e.to_string()).at(path.display().to_string()).remedy("guard as root")
        })?;
    }
    Ok(())
}

/// Two guards of one group would take each other's settings for the owner's.
fn lock(group: &Group) -> Result<Option<File>, Fault> {
    let paths: Vec<PathBuf> = group.paths();
    let Some(path) = paths.first() else { return Ok(None) };
    let dir =
        File::open(path).map_err(|e| Fault::environment(e.to_string()).at(path.display().to_string()))?;
    match dir.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Fault::usage("another guard has this group")
            .at(path.display().to_string())
            .remedy("end that one first")),
        // Where there are no locks, nobody else has one.
        _ => Ok(Some(dir)),
    }
}
