//! What is set in one group of background work. Each setting is written into the undo ledger; dropping this puts all back.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::{allowed, parse_list};

use super::control::Control;
use crosstalk_cgroup::exec::list;
use crosstalk_cgroup::group::{Dial, Group, Hierarchy, Setting};
use crosstalk_policy::{Grant, Offers};

/// See the module.
#[derive(Debug)]
pub(super) struct Controls {
    group: Group,
    pause: Option<Control>,
    cores: Option<Control>,
    /// The processors that it may have by its owner's will, in order.
    may_have: Vec<usize>,
    // The idle class is put back before the weight, which it would take with it.
    idle: Option<Control>,
    weight: Option<Dial>,
    _io_weight: Option<Dial>,
    idle_reaches: bool,
    /// Whether its idle class was gone when it was last looked for, with the controller's.
    lost: bool,
    /// Whether it was reported that another program has taken it out of the idle class.
    contested: bool,
    /// How many of its directories are there.
    there: usize,
    /// What could not be done, each reported once.
    complaints: Vec<String>,
}

impl Controls {
    /// Takes the group's knobs, and sets what always holds: the idle class, or the least weight, and the least weight at
    /// devices.
    ///
    /// # Errors
    /// Where the kernel refuses, or this user may not; everything is put back then.
    pub(super) fn new(group: Group, hierarchy: &Hierarchy, ledger: &Ledger) -> Result<Self, Fault> {
        may_be_set(&group)?;
        // A guard that was killed is no longer in the way, and what it set may still be there.
        Ledger::undo_abandoned();
        let has = |setting: &Setting| group.place(setting).is_some();
        let take = |setting: Setting| has(&setting).then(|| group.knob(&setting, ledger)).transpose();
        let frozen = Setting::Frozen(true);
        // Nobody stays paused by a guard that has ended or is stopped.
        let pause = has(&frozen).then(|| group.leased(&frozen, ledger)).transpose()?;
        let cores = take(Setting::Cores(String::new()))?.map(Control::new);
        // The kernel forgets the weight of a group that leaves the idle class; one that is in it already has none.
        let mut weight = if is_idle(&group) { None } else { take(Setting::Weight(1))? };
        let mut idle = take(Setting::Idle(true))?.map(Control::new);
        if let Some(weight) = &mut weight {
            if idle.is_some() { weight.keep()? } else { weight.set(&Setting::Weight(1))? }
        }
        // Some devices have a file for weights, and refuse them.
        let io = take(Setting::IoWeight(1)).ok().flatten();
        let io_weight = io.and_then(|mut io| io.set(&Setting::IoWeight(1)).ok().map(|()| io));
        if let Some(idle) = &mut idle {
            idle.set(Some(Setting::Idle(true)))?;
        }
        Ok(Controls {
            pause: pause.map(Control::new),
            may_have: cores.as_ref().map_or_else(Vec::new, |cores| may_have(cores.was())),
            cores,
            idle_reaches: idle.is_some() && reaches(&group, hierarchy),
            idle,
            weight,
            _io_weight: io_weight,
            lost: false,
            contested: false,
            there: group.paths().len(),
            complaints: Vec::new(),
            group,
        })
    }

    /// Checks whether what always holds still does: controllers come and go, and take with them what was set. systemd
    /// writes the settings of its units again when it reads their files again.
    pub(super) fn renew(&mut self, hierarchy: &Hierarchy) {
        let there = self.group.paths().iter().filter(|path| path.exists()).count();
        if there < self.there && there > 0 {
            self.complaints.push("a part of its group is gone, and what was set there with that".into());
        }
        self.there = there;
        let Some(idle) = &mut self.idle else { return };
        let offered = self.group.place(&Setting::Idle(true)).is_some();
        if !offered && !self.lost && there > 0 {
            self.complaints.push(
                "the cpu controller was taken from its group: it yields no more by the idle class".into(),
            );
        }
        let contested = offered && !self.lost && idle.is_set() && !is_idle(&self.group);
        if contested && !std::mem::replace(&mut self.contested, true) {
            self.complaints.push(
                "another program has taken its group out of the idle class: the guard puts it back, and looks every 5 s whether it is still there"
                    .into(),
            );
        }
        if offered && (self.lost || contested) {
            idle.again();
        }
        self.lost = !offered;
        self.idle_reaches = offered && reaches(&self.group, hierarchy);
    }

    /// What can be done to it.
    pub(super) fn offers(&self) -> Offers {
        let pause = self.pause.is_some();
        Offers { idle: self.idle_reaches, duty_cycle: pause, pause, cores: self.cores.is_some() }
    }

    /// Does as granted, and never gives it more than its owner did: where nothing limits it, all is as it was found.
    /// Where foreground work waits for it, it `hurries`: in the idle class only if its owner put it there, since that
    /// would leave it nothing. Returns whether it is paused now.
    pub(super) fn apply(&mut self, grant: &Grant, run: bool, hurries: bool) -> bool {
        let mut faults = Vec::new();
        if let Some(idle) = &mut self.idle {
            let leaves = hurries && idle.is_set();
            faults.extend(idle.set((!hurries).then_some(Setting::Idle(true))).err());
            if leaves {
                faults.extend(self.weight.as_mut().and_then(|weight| weight.reset().err()));
            }
        }
        // A pause comes first, and its end last: what changes in between is changed at rest.
        if !run {
            faults.extend(self.pause(true));
        }
        if let Some(cores) = &mut self.cores {
            // The last ones: the first handle most interrupts. Where the idle class reaches, all: it yields there.
            let left_out = self.may_have.len().saturating_sub(grant.cores.max(1));
            let kept = if self.idle_reaches { 0 } else { left_out };
            let less = (kept > 0).then(|| Setting::Cores(list(&self.may_have[kept..])));
            faults.extend(cores.set(less).err());
        }
        if run {
            faults.extend(self.pause(false));
        }
        if self.group.exists() {
            self.complaints.extend(faults.iter().map(ToString::to_string));
        }
        !run && self.pause.is_some()
    }

    fn pause(&mut self, paused: bool) -> Option<Fault> {
        let (pause, frozen) = (self.pause.as_mut()?, Setting::Frozen(true));
        // A pause of its owner's is left to its owner, who may end it meanwhile.
        if paused && !pause.is_set() && pause.says(&frozen) {
            return None;
        }
        pause.set(paused.then_some(frozen)).err()
    }

    /// Pauses it again if it is to be: it runs where the lease of the pause has ended.
    pub(super) fn renew_pause(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.again();
        }
    }

    /// What could not be done since this was last called.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }
}

/// Whether work in the group yields to all others once the group itself does: no group above it competes in its
/// stead, unless that yields, too.
fn reaches(group: &Group, hierarchy: &Hierarchy) -> bool {
    let tree =
        hierarchy.v1.get("cpu").map(|tree| ("cpu", tree)).or(hierarchy.v2.as_ref().map(|tree| ("", tree)));
    let Some((controller, tree)) = tree else { return false };
    let Some(dir) = group.dir(controller) else { return false };
    let above =
        dir.ancestors().skip(1).take_while(|above| **above != tree.mount && above.starts_with(&tree.mount));
    let top: Option<&Path> = above.last();
    top.is_none_or(|top| says_one(&top.join("cpu.idle")))
}

fn is_idle(group: &Group) -> bool {
    group.place(&Setting::Idle(true)).is_some_and(|path| says_one(&path))
}

fn says_one(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

/// The processors that a group may have by its own list, in which nothing means all that the group above has.
fn may_have(was: &str) -> Vec<usize> {
    let (mut may, listed) = (allowed(), parse_list(was));
    may.retain(|cpu| listed.is_empty() || listed.contains(cpu));
    may
}

/// A fault where this user may not set what matters: what cannot be set cannot be put back either, and would stay in
/// the ledger for good.
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
