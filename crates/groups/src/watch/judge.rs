//! Whether a process goes into a group, and into which: by where it is, whose it is, and the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, RwLock};

use crosstalk_cgroup::group::Hierarchy;
use crosstalk_host::kernel;
use crosstalk_host::process::ProcessInfo;

use super::rules::Rules;
use super::template::Starter;
use super::whereabouts::{Trees, Whereabouts, session};
use crate::name::GroupName;
use crate::registry::Registry;
use crate::user::User;

/// What becomes of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is in a named group.
    Grouped,
    /// No rule is for it, it is in a unit, or it has ended.
    Stays,
    /// It goes into a group.
    Goes(Goal),
}

/// The group that a process goes into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// The user's number.
    pub uid: u32,
    /// The number of the rule.
    pub rule: usize,
    /// The group.
    pub group: GroupName,
}

/// What is known to judge by.
#[derive(Debug)]
pub struct Judge {
    rules: Rules,
    /// The groups that the watcher was started in.
    own: String,
    trees: RwLock<Trees>,
    /// Ids of named groups of version 2. No other group has them, also when they are gone.
    known: RwLock<BTreeSet<u64>>,
    /// Number → name; no name for those that `/etc/passwd` does not have.
    users: Mutex<BTreeMap<u32, Option<String>>>,
}

impl Judge {
    /// Reads where named groups are. `own`: the groups that the watcher was started in, as `/proc/PID/cgroup` has them.
    pub fn new(rules: Rules, own: String) -> Self {
        let trees = RwLock::new(trees(&own));
        Judge { rules, own, trees, known: RwLock::default(), users: Mutex::default() }
    }

    /// Reads again where named groups are: the first one may have been made.
    pub fn refresh(&self) {
        *self.trees.write().unwrap_or_else(PoisonError::into_inner) = trees(&self.own);
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What becomes of the process. `program` finds the path of its program.
    pub fn judge(&self, pid: u32, program: impl Fn() -> Option<PathBuf>) -> Verdict {
        let info = ProcessInfo::of(pid);
        let Some(uid) = info.map(|info| info.real_user).or_else(|| user(pid)) else { return Verdict::Stays };
        if !self.rules.concern(uid) {
            return Verdict::Stays;
        }
        if info.is_some_and(|info| self.is_known(info.cgroup)) {
            return Verdict::Grouped;
        }
        // Reading this waits for others that are being moved (`cgroup_mutex`).
        let Ok(cgroup) = kernel::text(format!("/proc/{pid}/cgroup")) else { return Verdict::Stays };
        let trees = self.trees.read().unwrap_or_else(PoisonError::into_inner);
        match trees.whereabouts(&cgroup) {
            Whereabouts::Grouped => {
                // By its directory, and not by the process: that may just have been moved.
                if info.is_some()
                    && let Some(group) = trees.unified(&cgroup).and_then(|dir| fs::metadata(dir).ok())
                {
                    self.known.write().unwrap_or_else(PoisonError::into_inner).insert(group.ino());
                }
                return Verdict::Grouped;
            }
            Whereabouts::Kept(_) => return Verdict::Stays,
            Whereabouts::Free => {}
        }
        let name = self.name(uid);
        let starter = Starter { uid, user: name.as_deref(), session: session(&cgroup) };
        match self.rules.choose(&starter, program) {
            Some((rule, group)) => Verdict::Goes(Goal { uid, rule, group }),
            None => Verdict::Stays,
        }
    }

    fn is_known(&self, group: u64) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains(&group)
    }

    fn name(&self, uid: u32) -> Option<String> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if !users.contains_key(&uid) {
            // The first of a number is its name, as for the C library.
            for user in User::all().into_iter().rev() {
                users.insert(user.id, Some(user.name));
            }
            users.entry(uid).or_insert(None);
        }
        users[&uid].clone()
    }
}

/// The real user of a process. The owner of its files is the effective one, or root while it may not be traced
/// (proc(5)).
fn user(pid: u32) -> Option<u32> {
    let status = kernel::text(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The program that a process runs.
pub fn program_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

fn trees(own: &str) -> Trees {
    let contents = Registry::readable().into_iter().filter_map(|registry| registry.read().ok());
    let parents: Vec<_> = contents.map(|contents| contents.parent()).collect();
    Trees::new(&Hierarchy::here(), own, &parents)
}
