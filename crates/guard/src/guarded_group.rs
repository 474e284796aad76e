//! A group of background work while it is guarded.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;

use super::blocked::serves_files;
use super::controls::Controls;
use super::lock::Lock;
use super::termination::Termination;
use super::usage::Usage;
use crosstalk_cgroup::group::{Group, Hierarchy, OwnGroup};
use crosstalk_policy::{Grant, Offers};

/// The group, what it uses, and what is set in it. Dropping it puts everything back.
#[derive(Debug)]
pub(super) struct GuardedGroup {
    /// What people know it by.
    pub(super) name: String,
    /// What it uses.
    pub(super) usage: Usage,
    group: Group,
    /// None where it is only watched.
    controls: Option<Controls>,
    termination: Termination,
    /// The process in it that serves a file system, which is never paused.
    server: Option<u32>,
    /// What people should know, each reported once.
    complaints: Vec<String>,
    // The group goes last, if it is ours.
    made: Option<OwnGroup>,
    lock: Option<Lock>,
}

impl GuardedGroup {
    /// Guards the group. `made` is it, where it is ours.
    ///
    /// # Errors
    /// Where another guard has it, or the kernel refuses; everything is put back then.
    pub(super) fn new(
        name: &str,
        group: Group,
        made: Option<OwnGroup>,
        hierarchy: &Hierarchy,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let lock = Lock::take(name, &group)?;
        let controls = Controls::new(group.clone(), hierarchy, ledger)?;
        Ok(GuardedGroup { controls: Some(controls), made, ..GuardedGroup::of(name, group, lock) })
    }

    /// Only watches the group: its program is asked for what is to be done.
    ///
    /// # Errors
    /// Where another guard has it.
    pub(super) fn watched(name: &str, group: Group) -> Result<Self, Fault> {
        let lock = Lock::take(name, &group)?;
        Ok(GuardedGroup::of(name, group, lock))
    }

    fn of(name: &str, group: Group, lock: Option<Lock>) -> Self {
        GuardedGroup {
            name: name.into(),
            usage: Usage::of(&group),
            controls: None,
            termination: Termination::default(),
            server: None,
            complaints: Vec::new(),
            made: None,
            lock,
            group,
        }
    }

    /// The group itself.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Checks whether what always holds still does, and whether it may be paused.
    pub(super) fn renew(&mut self, hierarchy: &Hierarchy) {
        let Some(controls) = &mut self.controls else { return };
        controls.renew(hierarchy);
        let server = serves_files(&self.group.processes());
        if let Some(pid) = server.filter(|_| self.server.is_none()) {
            self.complaints.push(format!(
                "process {pid} serves a file system (FUSE), on which foreground work would wait: it is never paused"
            ));
        }
        self.server = server;
    }

    /// What can be done to it.
    pub(super) fn offers(&self) -> Offers {
        const NONE: Offers = Offers { idle: false, duty_cycle: false, pause: false, cores: false };
        let offers = self.controls.as_ref().map_or(NONE, Controls::offers);
        let may_pause = self.server.is_none();
        Offers { duty_cycle: offers.duty_cycle && may_pause, pause: offers.pause && may_pause, ..offers }
    }

    /// Does as granted; where it is to be paused, it runs all the same while some of it is to end. `hurries`: foreground
    /// work waits for it. Returns whether it is paused now.
    pub(super) fn apply(&mut self, now: Duration, grant: &Grant, run: bool, hurries: bool) -> bool {
        let Some(controls) = &mut self.controls else { return false };
        if run {
            self.termination.resumed(now);
        }
        let runs = run || self.server.is_some() || self.termination.is_due(now, &self.group);
        controls.apply(grant, runs, hurries)
    }

    /// See [`Controls::renew_pause`].
    pub(super) fn renew_pause(&mut self) {
        if let Some(controls) = &mut self.controls {
            controls.renew_pause();
        }
    }

    /// Whether it runs though it is to be paused, since some of it was sent a signal to end.
    pub(super) fn is_ending(&self) -> bool {
        self.termination.is_on()
    }

    /// What could not be done since this was last called.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        self.complaints.extend(self.controls.as_mut().map(Controls::complaints).unwrap_or_default());
        std::mem::take(&mut self.complaints)
    }

    /// Whether its group is gone, another has come to its place, or all in a group of ours has ended.
    pub(super) fn has_ended(&self) -> bool {
        let replaced = |found: &Lock| {
            let path = self.group.paths().into_iter().next()?;
            Some(fs::metadata(path).ok()?.ino() != found.inode()?)
        };
        let left = self.made.is_some() && self.group.processes().is_empty();
        left || !self.group.exists() || self.lock.as_ref().and_then(replaced).unwrap_or(false)
    }
}
