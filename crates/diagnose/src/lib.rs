//! A diagnosis: work that was made nice so that it disturbs nobody, but is in
//! a group of its own, where nice does nothing.
//!
//! A nice value shares the CPU out among the processes of one group. Between groups only the groups'
//! weights count (sched-design-CFS.rst), so that a service of nice 19 has as much as all of a user's
//! programs together; measured with one spinner on each side: 50 to 50. It is mended where the two
//! trees meet: the group there must be idle, or of little weight. What it costs is measured
//! ([`costs`]), since that hangs on how many threads each side has, and where they run.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod cost;
mod remedy;
mod snapshot;

pub use cost::{Cost, costs};
pub use snapshot::{Manager, Share, Snapshot};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crosstalk_core::need::Need;

use crosstalk_boinc::client::is_client;
use crosstalk_cgroup::process::{Process, descendants};

/// A nice value from which work is meant to yield.
const NICE: i32 = 10;
/// Work that has used less CPU time than this is not worth a word: 10 s, in ticks.
const HEAVY: u64 = 1000;

/// Background work in one group, and how it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Which it is.
    pub what: String,
    /// Its group in the tree that shares the CPU out.
    pub group: String,
    /// How it stands.
    pub standing: Standing,
}

/// How background work stands beside foreground work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It yields, and by what.
    Yields(String),
    /// It competes with foreground work.
    Competes {
        /// Why.
        why: String,
        /// The line that mends it.
        remedy: String,
        /// Its processes.
        pids: Vec<u32>,
    },
}

impl Diagnosis {
    /// As `doctor` prints it, with what it costs where that was measured.
    pub fn need(&self, cost: Option<&Cost>) -> Need {
        match &self.standing {
            Standing::Yields(how) => Need::found(&self.what, how),
            Standing::Competes { why, remedy, .. } => {
                let cost = cost.map(|cost| format!("; {}", cost.sentence())).unwrap_or_default();
                Need::missing(&self.what, format!("{why}{cost}"), remedy)
            }
        }
    }

    /// The processes whose cost can be asked for; none where it yields.
    pub fn competing(&self) -> Option<&[u32]> {
        match &self.standing {
            Standing::Yields(_) => None,
            Standing::Competes { pids, .. } => Some(pids),
        }
    }
}

/// What is wrong, and the line that mends it; what is right, where there is background work; nothing
/// where there is none.
pub fn diagnose(snapshot: &Snapshot) -> Vec<Diagnosis> {
    let meant = meant(&snapshot.processes);
    // By group: what is in one is in the same position.
    let mut groups: BTreeMap<&str, Vec<&Process>> = BTreeMap::new();
    for process in snapshot.processes.iter().filter(|process| meant.contains(&process.pid)) {
        if let Some(group) = process.cpu_group() {
            groups.entry(group).or_default().push(process);
        }
    }
    groups.into_iter().map(|(group, members)| judge(snapshot, &meant, group, &members)).collect()
}

/// Of these processes, which share a group, the highest level of the tree, if the idle class is missing there; and
/// the line that gives it that for good, where there is one.
pub fn level_of(snapshot: &Snapshot, pids: &[u32]) -> Option<(String, Option<String>)> {
    let there = snapshot.processes.iter().filter(|process| pids.contains(&process.pid));
    let members: Vec<&Process> = there.collect();
    let group = members.first()?.cpu_group()?;
    let mut levels = snapshot::line(group).into_iter();
    let (level, share) = levels.find_map(|level| Some((level, snapshot.shares.get(level)?)))?;
    let line = || remedy::lasting(snapshot, group, level, &members);
    (share.idle == Some(false)).then(|| (level.into(), line()))
}

/// The numbers of those that are meant to yield. A client's tasks are, however young: it starts each as a
/// process of its own, and many are short.
fn meant(processes: &[Process]) -> BTreeSet<u32> {
    let is_nice = |process: &Process| process.nice >= NICE || process.idle_class;
    let nice = processes.iter().filter(|process| process.ticks >= HEAVY && is_nice(process));
    let clients = processes.iter().filter(|process| is_client(process));
    let donated = clients.flat_map(|client| descendants(client.pid, processes));
    nice.map(|process| process.pid).chain(donated).collect()
}

/// How those that are meant in a group are there.
fn judge(snapshot: &Snapshot, meant: &BTreeSet<u32>, group: &str, members: &[&Process]) -> Diagnosis {
    let others = |others: usize| match others {
        0 => String::new(),
        1 => " and another".into(),
        more => format!(" and {more} others"),
    };
    let clients = members.iter().filter(|process| is_client(process));
    let donated: BTreeSet<u32> =
        clients.flat_map(|client| descendants(client.pid, &snapshot.processes)).collect();
    let donated = members.iter().filter(|process| donated.contains(&process.pid)).count();
    let name = match members.iter().max_by_key(|process| process.ticks) {
        Some(first) if donated == 0 => {
            format!("{} (process {}){}", first.name, first.pid, others(members.len() - 1))
        }
        _ => format!("BOINC{}", others(members.len() - donated)),
    };
    let standing = standing(snapshot, meant, group, members);
    Diagnosis { what: format!("background work {name}"), group: group.into(), standing }
}

/// From the top down: at the first level where foreground work stands beside it, its group yields there
/// or competes. What stands beside it further down, in a group that yields, does so, too.
fn standing(snapshot: &Snapshot, meant: &BTreeSet<u32>, group: &str, members: &[&Process]) -> Standing {
    let mut above = "/";
    for level in snapshot::line(group) {
        let Some(share) = snapshot.shares.get(level) else { continue };
        if share.yields() {
            return Standing::Yields(format!("yields: its group {level} is idle, or of the least weight"));
        }
        if has_foreground(snapshot, meant, above, level) {
            let why = format!(
                "{}. It is in {group}, and {level} has as \
                 much of the CPU as everything in any group next to it: one of its threads can take half of a core from \
                 one of yours",
                nice(members)
            );
            let pids = members.iter().map(|process| process.pid).collect();
            let remedy = remedy::remedy(snapshot, group, level, members);
            return Standing::Competes { why, remedy, pids };
        }
        above = level;
    }
    // Beside everybody's programs nice does what it should.
    Standing::Yields(if above == "/" {
        "shares its group with foreground work, where its nice value counts".into()
    } else {
        format!("is in one group with all others ({above}), where its nice value counts")
    })
}

/// What its processes do themselves to yield.
fn nice(members: &[&Process]) -> String {
    let values: BTreeSet<i32> =
        members.iter().map(|process| process.nice).filter(|value| *value > 0).collect();
    let listed: Vec<String> = values.iter().map(i32::to_string).collect();
    let within = "counts within its group only";
    match members.iter().any(|process| process.idle_class) {
        true => format!("it is in the idle class, but that {within}"),
        false if !values.is_empty() => format!("it is nice ({}), but that {within}", listed.join(", ")),
        false => "it does nothing to yield".into(),
    }
}

/// Whether foreground work is in a group or below it, but outside of `level`.
fn has_foreground(snapshot: &Snapshot, meant: &BTreeSet<u32>, group: &str, level: &str) -> bool {
    snapshot.processes.iter().filter(|process| !meant.contains(&process.pid)).any(|process| {
        process.cpu_group().map(Path::new).is_some_and(|of| of.starts_with(group) && !of.starts_with(level))
    })
}

#[cfg(test)]
mod tests;
