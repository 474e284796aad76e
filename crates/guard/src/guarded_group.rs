//! A group of background work while it is guarded.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;

use super::blocked::serves_files;
use super::client::AskedClient;
use super::controls::Controls;
use super::lock::Lock;
use super::termination::Termination;
use super::usage::Usage;
use crosstalk_boinc::client::Pauser;
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
    means: Means,
    termination: Termination,
    /// The process in it that serves a file system, which is never paused.
    server: Option<u32>,
    /// What people should know, each reported once.
    complaints: Vec<String>,
    // The group goes last, if it is ours.
    made: Option<OwnGroup>,
    lock: Option<Lock>,
}

/// How background work is dealt with.
#[derive(Debug)]
enum Means {
    /// By the settings of its group.
    Set(Box<Controls>),
    /// By requests to its client.
    Ask(AskedClient),
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
        Ok(GuardedGroup { made, ..GuardedGroup::of(name, group, Means::Set(Box::new(controls)), lock) })
    }

    /// Only watches the group: its client is asked for what is to be done.
    ///
    /// # Errors
    /// Where another guard has it.
    pub(super) fn asked(name: &str, group: Group, pauser: Pauser) -> Result<Self, Fault> {
        let lock = Lock::take(name, &group)?;
        Ok(GuardedGroup::of(name, group, Means::Ask(AskedClient::new(pauser)), lock))
    }

    fn of(name: &str, group: Group, means: Means, lock: Option<Lock>) -> Self {
        GuardedGroup {
            name: name.into(),
            usage: Usage::of(&group),
            means,
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

    /// Whether its client is only asked.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.means, Means::Ask(_))
    }

    /// Checks whether what always holds still does, and whether it may be paused.
    pub(super) fn renew(&mut self, hierarchy: &Hierarchy) {
        let Means::Set(controls) = &mut self.means else { return };
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
        let offers = match &self.means {
            Means::Set(controls) => controls.offers(),
            Means::Ask(_) => AskedClient::offers(),
        };
        let may_pause = self.server.is_none();
        Offers { duty_cycle: offers.duty_cycle && may_pause, pause: offers.pause && may_pause, ..offers }
    }

    /// Does as granted; where it is to be paused, it runs all the same while some of it is to end. `hurries`: foreground
    /// work waits for it. Returns whether it is paused now.
    pub(super) fn apply(&mut self, now: Duration, grant: &Grant, run: bool, hurries: bool) -> bool {
        if run {
            self.termination.resumed(now);
        }
        match &mut self.means {
            Means::Set(controls) => {
                let runs = run || self.server.is_some() || self.termination.is_due(now, &self.group);
                controls.apply(grant, runs, hurries)
            }
            Means::Ask(client) => {
                self.complaints.extend(client.apply(now, run));
                !run
            }
        }
    }

    /// See [`Controls::renew_pause`].
    pub(super) fn renew_pause(&mut self) {
        if let Means::Set(controls) = &mut self.means {
            controls.renew_pause();
        }
    }

    /// Whether it runs though it is to be paused, since some of it was sent a signal to end.
    pub(super) fn is_ending(&self) -> bool {
        self.termination.is_on()
    }

    /// What could not be done since this was last called.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        if let Means::Set(controls) = &mut self.means {
            self.complaints.extend(controls.complaints());
        }
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
