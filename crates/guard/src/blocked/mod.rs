//! Whether foreground work waits for something that paused background work holds: then that must run, or neither does.
//!
//! - A file lock (`locks.rs`).
//! - A futex in memory that both share (`futex.rs`).
//! - Something in the kernel: the thread is in uninterruptible sleep (state D) for as long as background work is
//!   paused. A slow disk does that, too, so it is tried: all background work runs for a moment.
//!
//! Waits that go on or come again and again have it run ever more rarely (`release.rs`). A FUSE server is never paused
//! ([`serves_files`]).

mod futex;
mod locks;
mod release;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use futex::{futex, shared_with};
use locks::Locks;
use release::{Bounds, Release};

/// Background work must have been paused for so long before a wait counts; and the time between two checks.
const WAIT: Duration = Duration::from_millis(45);
/// Where it is known what is waited for, and where it is not.
const KNOWN: Bounds = Bounds { free: 3, rest: [1, 64], longest: Duration::from_secs(1) };
const UNKNOWN: Bounds = Bounds { free: 1, rest: [10, 640], longest: Duration::ZERO };

/// What foreground work waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// A lock of this process.
    Lock(u32),
    /// A futex in memory that is shared with this process.
    Futex(u32),
    /// Unknown: the thread is in uninterruptible sleep.
    Kernel,
}

impl Cause {
    /// The process that must run; all of background work where that is not known.
    fn holder(self) -> Option<u32> {
        match self {
            Cause::Lock(holder) | Cause::Futex(holder) => Some(holder),
            Cause::Kernel => None,
        }
    }
}

/// The waits for paused background work.
#[derive(Debug)]
pub(super) struct Blocked {
    locks: Locks,
    /// Since when background work is to be paused.
    paused: Option<Duration>,
    checked: Duration,
    /// The causes so far, each of which was reported. Those whose holder is no background work any more are forgotten.
    releases: BTreeMap<Cause, Release>,
    /// Threads that sleep, and may wait for background work: they are soon none of the busiest.
    sleepers: BTreeSet<u32>,
}

impl Blocked {
    /// Nobody waits yet.
    pub(super) fn new() -> Self {
        Blocked {
            locks: Locks::new(),
            paused: None,
            checked: Duration::ZERO,
            releases: BTreeMap::new(),
            sleepers: BTreeSet::new(),
        }
    }

    /// Background work runs anyway.
    pub(super) fn runs(&mut self, (now, used): (Duration, Duration)) {
        self.paused = None;
        self.releases.values_mut().for_each(|release| release.end(now, used));
    }

    /// Background work, which has `used` so much CPU time, is to be paused: looks whether foreground work waits for it.
    /// `background` are its processes, in order; `asleep` are those of foreground work's busiest threads that sleep, each once until it runs again. A cause
    /// that is new is noted for people.
    pub(super) fn check(
        &mut self,
        (now, used): (Duration, Duration),
        background: impl FnOnce() -> Vec<u32>,
        asleep: impl FnOnce() -> Vec<u32>,
        notes: &mut Vec<String>,
    ) {
        let since = *self.paused.get_or_insert(now);
        if now < since + WAIT || now < self.checked + WAIT {
            return;
        }
        self.checked = now;
        for (cause, waiter) in self.find((now, used), background, asleep) {
            let release = self.releases.entry(cause).or_insert_with(|| {
                notes.push(note(waiter, cause));
                Release::new(if cause == Cause::Kernel { UNKNOWN } else { KNOWN })
            });
            release.wait(now, used);
        }
    }

    /// Whether a group with these processes runs although it is to be paused.
    pub(super) fn releases(
        &mut self,
        (now, used): (Duration, Duration),
        processes: impl Fn() -> Vec<u32>,
    ) -> bool {
        let holds = self
            .releases
            .iter_mut()
            .filter_map(|(cause, release)| release.holds(now, used).then_some(*cause));
        // Each ends in its time, so that all are asked.
        let holds: Vec<Cause> = holds.collect();
        holds.into_iter().any(|cause| cause.holder().is_none_or(|holder| processes().contains(&holder)))
    }

    /// What is waited for, each with one that waits.
    fn find(
        &mut self,
        (now, used): (Duration, Duration),
        background: impl FnOnce() -> Vec<u32>,
        asleep: impl FnOnce() -> Vec<u32>,
    ) -> BTreeMap<Cause, u32> {
        let (waits, mut found) = (self.locks.waits(), BTreeMap::new());
        self.sleepers.extend(asleep());
        if waits.is_empty() && self.sleepers.is_empty() {
            return found;
        }
        let background = background();
        let is_background = |pid: u32| background.binary_search(&pid).is_ok();
        self.releases.retain(|cause, _| cause.holder().is_none_or(is_background));
        for wait in waits.into_iter().filter(|wait| !is_background(wait.waiter)) {
            let waiter = wait.waiter;
            found.extend(
                self.locks.holder(now, wait, &background).map(|holder| (Cause::Lock(holder), waiter)),
            );
        }
        // One that was put into background work meanwhile waits for nobody else.
        self.sleepers.retain(|thread| {
            if is_background(*thread) {
                return false;
            }
            let holder = futex(*thread).and_then(|address| shared_with(*thread, address, &background));
            found.extend(holder.map(|holder| (Cause::Futex(holder), *thread)));
            holder.is_some() || is_uninterruptible(*thread)
        });
        // Where it runs already, a sleep that goes on is not its fault.
        let runs = self.releases.values_mut().any(|release| release.holds(now, used));
        if found.is_empty() && !runs {
            found.extend(self.sleepers.first().map(|thread| (Cause::Kernel, *thread)));
        }
        found
    }
}

fn note(waiter: u32, cause: Cause) -> String {
    let name = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        format!("{} {pid}", name.trim())
    };
    let waiter = name(waiter);
    match cause {
        Cause::Lock(holder) => {
            format!(
                "{waiter} waits for a lock of {}, which is background work: its group runs until that is over",
                name(holder)
            )
        }
        Cause::Futex(holder) => format!(
            "{waiter} waits in memory that it shares with {}, which is background work: its group runs until that is over",
            name(holder)
        ),
        Cause::Kernel => format!(
            "{waiter} waits for the kernel or a device since background work is paused: that runs for a moment, to see whether it helps"
        ),
    }
}

fn is_uninterruptible(thread: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D'))
}

/// Whether one of these processes serves a file system of the kernel's FUSE (it has `/dev/fuse` open): whoever reads
/// there waits while it is paused.
pub(super) fn serves_files(processes: &[u32]) -> Option<u32> {
    let has_open = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == Path::new("/dev/fuse"))
    };
    processes.iter().copied().find(has_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_group_of_who_is_waited_for_runs() {
        let (mut blocked, at) = (Blocked::new(), Duration::from_millis);
        let mut waits = |cause, now| {
            blocked.releases.entry(cause).or_insert_with(|| Release::new(KNOWN)).wait(now, now);
            [vec![3, 4], vec![7, 8]].map(|group| blocked.releases((now, now), || group.clone()))
        };
        assert_eq!(waits(Cause::Lock(7), at(0)), [false, true]);
        assert_eq!(waits(Cause::Futex(3), at(200)), [true, false], "the other wait is over");
        assert_eq!(waits(Cause::Kernel, at(210)), [true, true], "nobody knows for whom");
    }

    #[test]
    fn a_wait_is_reported_once_and_forgotten_with_its_holder() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().lock().expect("locks");
        let mut waiter =
            std::process::Command::new("flock").arg(file.path()).arg("true").spawn().expect("starts");
        let (mut blocked, mut notes) = (Blocked::new(), Vec::new());
        let (me, mut now) = (std::process::id(), Duration::ZERO);
        // Others may wait for locks meanwhile, but not for this process's.
        while blocked.releases.is_empty() {
            now += WAIT;
            blocked.check((now, now), || vec![me], Vec::new, &mut notes);
            std::thread::yield_now();
        }
        blocked.check((now + WAIT, now), || vec![me], Vec::new, &mut notes);
        assert_eq!(notes.len(), 1, "{notes:?}");
        blocked.check((now + 2 * WAIT, now), Vec::new, Vec::new, &mut notes);
        assert!(blocked.releases.is_empty());
        file.as_file().unlock().expect("was locked");
        assert!(waiter.wait().expect("is ours").success());
    }
}
