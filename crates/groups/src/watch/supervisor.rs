//! The supervisor: it starts the watcher, starts it again when it has ended, and makes the groups that rules make.
//!
//! The watcher ends with its supervisor, also if that is killed. While the supervisor is stopped, the watcher goes on,
//! and is not started again if it is killed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_cgroup::group::Hierarchy;
use crosstalk_core::Fault;
use crosstalk_host::ledger::move_to_roots;
use crosstalk_host::process::keep_in_memory;
use crosstalk_host::user::is_root;
use crosstalk_host::{Launcher, kernel};

use super::child::Watcher;
use super::message::{Answer, Mechanism, Message, Settings, WatchEvent};
use super::rules::{NewGroup, Rules};
use super::tally::Tally;
use crate::create::{CreateRequest, create_from};
use crate::feasible;
use crate::name::GroupName;
use crate::registry::Registry;
use crate::remove::{RemoveRequest, remove};
use crate::single::SingleLock;
use crate::standing::{Existence, Standing, standing};
use crate::user::User;

/// So many watchers that end before they watch, in a row, are enough.
const FAILED_STARTS: u32 = 5;
/// How often groups of login sessions that have ended are removed.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);
/// The least time from a watcher's start to the next one's, and how often it looks meanwhile whether it is over.
const RESTART_INTERVAL: Duration = Duration::from_millis(500);
const NAP: Duration = Duration::from_millis(20);

/// What is to be watched.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchRequest {
    /// The file of rules. `None`: each user who has a group of that name.
    pub rules: Option<PathBuf>,
    /// How, if that is chosen.
    pub mechanism: Option<Mechanism>,
    /// Whether each program that is put into a group is reported.
    pub verbose: bool,
}

/// Programs are put into their groups from now on.
#[derive(Debug)]
pub struct Supervisor {
    launcher: Launcher,
    settings: Settings,
    /// Where the command was started: groups are made from there.
    hierarchy: Hierarchy,
    /// Groups that were made by rules, and those of login sessions among them.
    made: BTreeSet<GroupName>,
    sessions: BTreeSet<GroupName>,
    /// What watchers that have ended have done.
    before: Tally,
    /// The same of the one that runs.
    running: Tally,
    restarts: u32,
    _lock: SingleLock,
}

/// What has been done.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchResult {
    /// Counts and times.
    pub tally: Tally,
    /// How often the watcher was started again.
    pub restarts: u32,
    /// Groups that rules have made and that stay, since processes are in them.
    pub stay: BTreeSet<GroupName>,
}

impl Supervisor {
    /// Reads the rules, and checks that their groups exist.
    ///
    /// # Errors
    /// A usage fault if a rule is wrong, a group is missing or could never be made; an environment fault if this user
    /// is not root, or another process watches for the same registry.
    pub fn new(request: &WatchRequest, launcher: &Launcher) -> Result<Self, Fault> {
        if !is_root() {
            return Err(
                Fault::environment("only root sees which programs others start").remedy("run it as root")
            );
        }
        // Where the command was started: groups are made from there.
        let hierarchy = Hierarchy::here();
        let users = User::all();
        let groups = standing(None)?;
        let rules = match &request.rules {
            Some(path) => {
                let rules = Rules::read(path, &users)?;
                check(&rules, &path.display().to_string(), &groups, &hierarchy)?;
                rules
            }
            None => {
                let is_there = |group: &&Standing| group.existence() != Existence::Vanished;
                let names: Vec<GroupName> =
                    groups.iter().filter(is_there).map(|group| group.name.clone()).collect();
                Rules::by_names(&names, &users)?
            }
        };
        let lock = SingleLock::take("watch")?;
        let own = kernel::text("/proc/self/cgroup").unwrap_or_default();
        let settings =
            Settings { rules, mechanism: request.mechanism, verbose: request.verbose, again: false, own };
        // A full or frozen group would stop it, and the watcher, which inherits this.
        move_to_roots();
        keep_in_memory();
        Ok(Supervisor {
            launcher: launcher.clone(),
            settings,
            hierarchy,
            made: BTreeSet::new(),
            sessions: BTreeSet::new(),
            before: Tally::default(),
            running: Tally::default(),
            restarts: 0,
            _lock: lock,
        })
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.settings.rules.len()
    }

    /// Watches until `is_over`. `report` gets what the watcher says.
    ///
    /// # Errors
    /// If the watcher cannot be started, or ends again and again.
    pub fn run(
        mut self,
        is_over: &dyn Fn() -> bool,
        report: &mut dyn FnMut(WatchEvent),
    ) -> Result<WatchResult, Fault> {
        let ended = self.watch(is_over, report);
        self.made.retain(|name| !is_removed(name, report));
        ended.map(|()| WatchResult { tally: self.before, restarts: self.restarts, stay: self.made })
    }

    fn watch(&mut self, is_over: &dyn Fn() -> bool, report: &mut dyn FnMut(WatchEvent)) -> Result<(), Fault> {
        let (mut failed_starts, mut tidied) = (0, Instant::now());
        while !is_over() {
            let began = Instant::now();
            let mut watcher = Watcher::start(&self.launcher, &self.settings)?;
            while !is_over() && watcher.is_there() {
                for message in watcher.read()? {
                    self.handle(message, &mut watcher, report);
                }
                if tidied.elapsed() >= TIDY_INTERVAL {
                    tidied = Instant::now();
                    self.sessions.retain(|name| !is_removed(name, report));
                }
            }
            for message in watcher.end() {
                self.handle(message, &mut watcher, report);
            }
            self.before.add(&std::mem::take(&mut self.running));
            if is_over() {
                break;
            }
            if let Some(fault) = watcher.fault.take() {
                return Err(fault);
            }
            failed_starts = if watcher.is_ready { 0 } else { failed_starts + 1 };
            if failed_starts >= FAILED_STARTS {
                return Err(Fault::environment("the watcher ends again and again")
                    .remedy("see whether something kills it, or memory is full: dmesg | tail"));
            }
            self.restarts += 1;
            self.settings.again = true;
            report(WatchEvent::Note(
                "the watcher was killed, or stopped for too long: it is started again".into(),
            ));
            while !is_over() && began.elapsed() < RESTART_INTERVAL {
                thread::sleep(NAP);
            }
        }
        Ok(())
    }

    fn handle(&mut self, message: Message, watcher: &mut Watcher, report: &mut dyn FnMut(WatchEvent)) {
        match message {
            Message::Tally(tally) => self.running = *tally,
            Message::MissingGroup { group, rule } => {
                let made = self.make(&group, rule);
                watcher.answer(&Answer {
                    group: group.clone(),
                    refusal: made.as_ref().err().map(Fault::sentence),
                });
                if made == Ok(true) {
                    report(WatchEvent::Made(group));
                }
            }
            Message::Ready { mechanism, mounts, because } => {
                watcher.is_ready = true;
                report(WatchEvent::Ready { mechanism, mounts, because });
            }
            Message::Placed(placement) => report(WatchEvent::Placed(placement)),
            Message::Note(text) => report(WatchEvent::Note(text)),
            Message::Failed(_) => {}
        }
    }

    /// Makes the group of a rule. Returns whether that makes groups.
    fn make(&mut self, group: &GroupName, rule: usize) -> Result<bool, Fault> {
        let Some((rule, made)) = self.settings.rules.get(rule).and_then(|rule| Some((rule, rule.make?)))
        else {
            return Ok(false);
        };
        // One that has vanished is registered still.
        let registered = Registry::own()?.read()?;
        if registered.groups.contains_key(group) {
            remove(&RemoveRequest { names: Some(vec![group.clone()]), kill: false })?;
        }
        create_from(&self.hierarchy, &creation(group, made), &self.launcher)?;
        if rule.group.needs_session() {
            self.sessions.insert(group.clone());
        }
        self.made.insert(group.clone());
        Ok(true)
    }
}

fn creation(group: &GroupName, made: NewGroup) -> CreateRequest {
    let NewGroup { profile, processes } = made;
    CreateRequest { names: vec![group.clone()], profile, user: None, processes, when_full: None }
}

/// Checks that the groups exist which rules do not make, and that the others could be made, as far as that is known.
/// `place`: the file of the rules.
fn check(rules: &Rules, place: &str, groups: &[Standing], hierarchy: &Hierarchy) -> Result<(), Fault> {
    let exists = |name: &GroupName| {
        groups.iter().any(|group| group.name == *name && group.existence() != Existence::Vanished)
    };
    for rule in rules.iter() {
        if let Some(parent) = rule.group.fixed_parent().filter(|parent| !exists(parent)) {
            let fault = Fault::usage(format!("there is no group `{parent}` for the rule's groups to be in"));
            let fault = fault.remedy(format!("make it: crosstalk groups create {parent}"));
            return Err(rule.fault(place, fault));
        }
        let fixed = rule.group.fixed();
        if let (Some(name), None) = (fixed.as_ref().filter(|name| !exists(name)), rule.make) {
            let fault = Fault::usage(format!("there is no group `{name}`"));
            return Err(rule.fault(
                place,
                fault.remedy(format!(
                    "make it: crosstalk groups create {name}; or let the rule make it: create = true"
                )),
            ));
        }
        // One that vanished is made anew.
        let is_new = |name: &GroupName| !groups.iter().any(|group| group.name == *name);
        let in_known = |name: &GroupName| name.parent() == rule.group.fixed_parent();
        let example = fixed.or_else(|| rule.group.example());
        if let (Some(name), Some(made)) = (example.filter(|name| is_new(name) && in_known(name)), rule.make) {
            feasible::check(hierarchy, &creation(&name, made)).map_err(|fault| rule.fault(place, fault))?;
        }
    }
    Ok(())
}

/// Removes a group if nobody is in it, and reports that. Returns whether it is gone.
fn is_removed(name: &GroupName, report: &mut dyn FnMut(WatchEvent)) -> bool {
    let request = RemoveRequest { names: Some(vec![name.clone()]), kill: false };
    if remove(&request).is_err() {
        return standing(Some(name)).is_err();
    }
    report(WatchEvent::Removed(name.clone()));
    true
}
