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
use super::message::{Answer, Mechanism, Message, Settings};
use super::rules::Rules;
use super::tally::Tally;
use crate::create::{CreateRequest, create_from};
use crate::name::GroupName;
use crate::registry::Registry;
use crate::remove::{RemoveRequest, remove};
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
    /// A usage fault if a rule is wrong or a group is missing, an environment fault if this user is not root.
    pub fn new(request: &WatchRequest, launcher: &Launcher) -> Result<Self, Fault> {
        if !is_root() {
            return Err(
                Fault::environment("only root sees which programs others start").remedy("run it as root")
            );
        }
        let users = User::all();
        let groups = standing(None)?;
        let rules = match &request.rules {
            Some(path) => {
                let rules = Rules::read(path, &users)?;
                check(&rules, &groups).map_err(|fault| fault.at(path.display().to_string()))?;
                rules
            }
            None => {
                let names: Vec<GroupName> = groups.iter().map(|group| group.name.clone()).collect();
                let rules = Rules::by_names(&names, &users)?;
                check(&rules, &groups)?;
                rules
            }
        };
        let own = kernel::text("/proc/self/cgroup").unwrap_or_default();
        let settings =
            Settings { rules, mechanism: request.mechanism, verbose: request.verbose, again: false, own };
        let hierarchy = Hierarchy::here();
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
        report: &mut dyn FnMut(&Message),
    ) -> Result<WatchResult, Fault> {
        let ended = self.watch(is_over, report);
        self.made.retain(|name| !is_removed(name));
        ended.map(|()| WatchResult { tally: self.before, restarts: self.restarts, stay: self.made })
    }

    fn watch(&mut self, is_over: &dyn Fn() -> bool, report: &mut dyn FnMut(&Message)) -> Result<(), Fault> {
        let (mut failed_starts, mut tidied) = (0, Instant::now());
        while !is_over() {
            let began = Instant::now();
            let mut watcher = Watcher::start(&self.launcher, &self.settings)?;
            while !is_over() && watcher.is_there() {
                for message in watcher.read()? {
                    report(&message);
                    self.handle(&message, &mut watcher, report);
                }
                if tidied.elapsed() >= TIDY_INTERVAL {
                    tidied = Instant::now();
                    self.sessions.retain(|name| !is_removed(name));
                }
            }
            for message in watcher.end() {
                self.handle(&message, &mut watcher, report);
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
            report(&Message::Note(
                "the watcher was killed, or stopped for too long: it is started again".into(),
            ));
            while !is_over() && began.elapsed() < RESTART_INTERVAL {
                thread::sleep(NAP);
            }
        }
        Ok(())
    }

    fn handle(&mut self, message: &Message, watcher: &mut Watcher, report: &mut dyn FnMut(&Message)) {
        match message {
            Message::Tally(tally) => self.running = (**tally).clone(),
            Message::MissingGroup { group, rule } => {
                if let Err(fault) = self.make(group, *rule) {
                    report(&Message::Note(format!("cannot make group `{group}`: {}", fault.sentence())));
                }
                watcher.answer(&Answer { group: group.clone() });
            }
            Message::Ready { .. } => watcher.is_ready = true,
            Message::Placed(_) | Message::Note(_) | Message::Failed(_) => {}
        }
    }

    fn make(&mut self, group: &GroupName, rule: usize) -> Result<(), Fault> {
        let Some((rule, made)) = self.settings.rules.get(rule).and_then(|rule| Some((rule, rule.make?)))
        else {
            return Ok(());
        };
        // One that has vanished is registered still.
        let registered = Registry::own()?.read()?;
        if registered.groups.contains_key(group) {
            remove(&RemoveRequest { names: Some(vec![group.clone()]), kill: false })?;
        }
        let (profile, processes) = (made.profile, made.processes);
        let request =
            CreateRequest { names: vec![group.clone()], profile, user: None, processes, when_full: None };
        create_from(&self.hierarchy, &request, &self.launcher)?;
        if rule.group.needs_session() {
            self.sessions.insert(group.clone());
        }
        self.made.insert(group.clone());
        Ok(())
    }
}

/// Checks that the groups exist which rules do not make.
fn check(rules: &Rules, groups: &[Standing]) -> Result<(), Fault> {
    let at = |rule: &super::rules::Rule, fault: Fault| match rule.place() {
        Some(line) => Fault { message: format!("{line}: {}", fault.message), ..fault },
        None => fault,
    };
    for rule in rules.iter() {
        if let Some(name) = rule.group.fixed().filter(|_| rule.make.is_none()) {
            let existence = groups.iter().find(|group| group.name == name).map(Standing::existence);
            if !matches!(existence, Some(Existence::Whole | Existence::Partly)) {
                let fault = Fault::usage(format!("there is no group `{name}`"));
                return Err(at(
                    rule,
                    fault.remedy(format!(
                        "make it: crosstalk groups create {name}; or let the rule make it: create = true"
                    )),
                ));
            }
        }
        if let Some(parent) = rule.group.fixed_parent()
            && !groups.iter().any(|group| group.name == parent && group.group.exists())
        {
            let fault = Fault::usage(format!("there is no group `{parent}` for the rule's groups to be in"));
            return Err(at(rule, fault.remedy(format!("make it: crosstalk groups create {parent}"))));
        }
    }
    Ok(())
}

/// Removes a group if nobody is in it. Returns whether it is gone.
fn is_removed(name: &GroupName) -> bool {
    let request = RemoveRequest { names: Some(vec![name.clone()]), kill: false };
    remove(&request).is_ok() || standing(Some(name)).is_err()
}
