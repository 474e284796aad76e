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

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use futex::{futex, shared_with};
use locks::{Locks, waits_now};
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

/// What background work is to do, and since when.
#[derive(Debug, Clone, Copy)]
enum Since {
    Runs(Duration),
    Paused(Duration),
}

/// The waits for paused background work.
#[derive(Debug)]
pub(super) struct Blocked {
    locks: Locks,
    since: Since,
    checked: Duration,
    /// The causes so far, each of which was reported. Those whose holder is no background work any more are forgotten.
    releases: BTreeMap<Cause, Release>,
    /// Threads that sleep, and may wait for background work, with their processes: they are soon none of the busiest.
    sleepers: BTreeMap<u32, u32>,
}

/// The CPU time so far of the group of a process; without one, of all background work.
pub(super) type UsedBy<'a> = &'a dyn Fn(Option<u32>) -> Duration;

impl Blocked {
    /// Nobody waits yet.
    pub(super) fn new() -> Self {
        Blocked {
            locks: Locks::default(),
            since: Since::Runs(Duration::ZERO),
            checked: Duration::ZERO,
            releases: BTreeMap::new(),
            sleepers: BTreeMap::new(),
        }
    }

    /// Background work runs anyway.
    pub(super) fn runs(&mut self, now: Duration, used: UsedBy) {
        if let Since::Paused(_) = self.since {
            self.since = Since::Runs(now);
        }
        for (cause, release) in &mut self.releases {
            release.end(now, || used(cause.holder()));
        }
    }

    /// Background work is to be paused: looks whether foreground work waits for it. `background` are the processes of
    /// each group; `asleep` are those of foreground work's busiest threads that sleep, with their processes, each once until
    /// it runs again. A cause that is new is noted for people.
    pub(super) fn check(
        &mut self,
        now: Duration,
        used: UsedBy,
        background: impl FnOnce() -> Vec<Vec<u32>>,
        asleep: impl FnOnce() -> Vec<(u32, u32)>,
        notes: &mut Vec<String>,
    ) {
        let paused = match self.since {
            Since::Paused(since) => since,
            Since::Runs(since) => {
                self.releases.values_mut().for_each(|release| release.skip(now.saturating_sub(since)));
                self.since = Since::Paused(now);
                now
            }
        };
        if now < paused + WAIT || now < self.checked + WAIT {
            return;
        }
        self.checked = now;
        for (cause, waiter) in self.find(now, used, background, asleep) {
            let release = self.releases.entry(cause).or_insert_with(|| {
                notes.push(note(waiter, cause));
                Release::new(if cause == Cause::Kernel { UNKNOWN } else { KNOWN })
            });
            release.wait(now, || used(cause.holder()));
        }
    }

    /// Whether a group with these processes runs although it is to be paused.
    pub(super) fn releases(&mut self, now: Duration, used: UsedBy, processes: impl Fn() -> Vec<u32>) -> bool {
        let holds = self
            .releases
            .iter_mut()
            .filter_map(|(cause, release)| release.holds(now, || used(cause.holder())).then_some(*cause));
        // Each ends in its time, so that all are asked.
        let holds: Vec<Cause> = holds.collect();
        holds.into_iter().any(|cause| cause.holder().is_none_or(|holder| processes().contains(&holder)))
    }

    /// What is waited for, each with one that waits.
    fn find(
        &mut self,
        now: Duration,
        used: UsedBy,
        background: impl FnOnce() -> Vec<Vec<u32>>,
        asleep: impl FnOnce() -> Vec<(u32, u32)>,
    ) -> BTreeMap<Cause, u32> {
        let (waits, mut found) = (waits_now(), BTreeMap::new());
        self.sleepers.extend(asleep());
        if waits.is_empty() && self.sleepers.is_empty() {
            return found;
        }
        let groups = background();
        let is_background = |pid: u32| groups.iter().any(|group| group.contains(&pid));
        self.releases.retain(|cause, _| cause.holder().is_none_or(is_background));
        for wait in waits.into_iter().filter(|wait| !is_background(wait.waiter)) {
            let waiter = wait.waiter;
            let holders = self.locks.holders(now, wait, &groups);
            found.extend(holders.into_iter().map(|holder| (Cause::Lock(holder), waiter)));
        }
        let mut unknown = None;
        // One that was put into background work meanwhile waits for nobody else.
        self.sleepers.retain(|thread, process| {
            if is_background(*process) {
                return false;
            }
            let address = futex(*thread);
            let holders = address.map_or_else(Vec::new, |address| shared_with(*thread, address, &groups));
            let sleeps = holders.is_empty() && is_uninterruptible(*thread);
            unknown = unknown.or(sleeps.then_some(*thread));
            let waits = sleeps || !holders.is_empty();
            found.extend(holders.into_iter().map(|holder| (Cause::Futex(holder), *thread)));
            waits
        });
        // Where all of it runs already, a sleep that goes on is not its fault.
        let tried = self.releases.get_mut(&Cause::Kernel);
        if !tried.is_some_and(|release| release.holds(now, || used(None))) {
            found.extend(unknown.map(|thread| (Cause::Kernel, thread)));
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
    use std::time::Instant;

    #[test]
    fn only_the_group_of_who_is_waited_for_runs() {
        let (mut blocked, at) = (Blocked::new(), Duration::from_millis);
        let mut waits = |cause, now| {
            blocked.releases.entry(cause).or_insert_with(|| Release::new(KNOWN)).wait(now, || now);
            [vec![3, 4], vec![7, 8]].map(|group| blocked.releases(now, &|_| now, || group.clone()))
        };
        assert_eq!(waits(Cause::Lock(7), at(0)), [false, true]);
        assert_eq!(waits(Cause::Futex(3), at(200)), [true, false], "the other wait is over");
        assert_eq!(waits(Cause::Kernel, at(210)), [true, true], "nobody knows for whom");
    }

    #[test]
    fn a_group_has_its_second_whatever_others_use_meanwhile() {
        let (mut blocked, at) = (Blocked::new(), Duration::from_millis);
        for millis in (0..10_000).step_by(50) {
            // The group of 7 gets a tenth of a processor, and all together get eight.
            let used = |holder: Option<u32>| at(millis) / 10 * holder.map_or(80, |_| 1);
            let wait = |release: &mut Release| release.wait(at(millis), || used(Some(7)));
            wait(blocked.releases.entry(Cause::Lock(7)).or_insert_with(|| Release::new(KNOWN)));
            assert!(blocked.releases(at(millis), &used, || vec![7]), "{millis} ms");
        }
    }

    #[test]
    fn a_wait_is_reported_once_and_forgotten_with_its_holder() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().lock().expect("locks");
        let mut waiter =
            std::process::Command::new("flock").arg(file.path()).arg("true").spawn().expect("starts");
        let (mut blocked, mut notes) = (Blocked::new(), Vec::new());
        let (me, mut now, until) =
            (std::process::id(), Duration::ZERO, Instant::now() + Duration::from_secs(60));
        let mut check = |blocked: &mut Blocked, now, background: Vec<Vec<u32>>| {
            blocked.check(now, &|_| now, || background, Vec::new, &mut notes);
        };
        // Others may wait for locks meanwhile, but not for this process's.
        while blocked.releases.is_empty() {
            assert!(Instant::now() < until, "it is found");
            now += WAIT;
            check(&mut blocked, now, vec![vec![me]]);
            std::thread::yield_now();
        }
        check(&mut blocked, now + WAIT, vec![vec![me]]);
        check(&mut blocked, now + 2 * WAIT, Vec::new());
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(blocked.releases.is_empty());
        file.as_file().unlock().expect("was locked");
        assert!(waiter.wait().expect("is ours").success());
    }
}
