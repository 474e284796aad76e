//! The processes that a program has started: this process adopts, counts and reaps them.

use std::collections::BTreeSet;

use rustix::process::Pid;
use wait4::{ResourceUsage, try_wait4_pid};

use super::tree::{ThreadActivity, orphans, program_processes};

/// The processes that a program has started, directly or not.
pub struct Descendants {
    root: Pid,
    mark: String,
    /// The process numbers that were seen, and are not reaped yet.
    seen: BTreeSet<i32>,
}

impl Descendants {
    /// The descendants of the program `root`, whose processes carry `mark`.
    pub fn new(root: Pid, mark: String) -> Self {
        Descendants { root, mark, seen: BTreeSet::new() }
    }

    /// Samples the activity of the program and its descendants. An orphan that starts and ends between two
    /// samples is not seen: it stays a zombie, uncounted, until this process ends.
    pub fn sample(&mut self, activity: &mut ThreadActivity) {
        let orphans = orphans(&self.mark);
        self.seen.extend(orphans.iter().copied().map(Pid::as_raw_pid));
        self.seen.extend(activity.sample([self.root].into_iter().chain(orphans)));
    }

    /// Reaps orphans that have ended, and adds what they used; returns the processes that are still alive,
    /// the program's first one among them.
    pub fn reap(&mut self, used: &mut Vec<ResourceUsage>) -> Vec<Pid> {
        let found = program_processes(self.root, &self.mark);
        self.seen.extend(found.iter().map(|process| process.pid.as_raw_pid()));
        self.seen.remove(&self.root.as_raw_pid());
        // The kernel refuses those that are not children of this process.
        let ended = |pid: &i32| try_wait4_pid(pid.cast_unsigned()).ok().flatten();
        self.seen.retain(|pid| match ended(pid) {
            Some(usage) => {
                used.push(usage.rusage);
                false
            }
            None => true,
        });
        found.into_iter().filter(|process| !process.zombie).map(|process| process.pid).collect()
    }
}
