//! Termination grace: a paused process handles no signal, so that whoever stops a service would wait for foreground
//! work to end. A group of which a process was sent a signal to end runs until that process is gone, for a time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crosstalk_host::process::has_pending_termination;

use crosstalk_cgroup::group::Group;

/// Time between checks whether a process was sent a signal to end.
const CHECK: Duration = Duration::from_secs(1);
/// For how long its group runs then, at most.
const GRACE: Duration = Duration::from_secs(10);
/// For so many times as long as that took there is no further grace: foreground work is not to pay for signals that
/// come again and again.
const QUIET: u32 = 6;
/// Of each group so many processes are checked: those with the least numbers, of which one has started the others.
const FIRST: usize = 8;

/// The processes of a group that were sent a signal to end while they were paused.
#[derive(Debug, Default)]
pub(super) struct Termination {
    /// When to check next.
    next: Duration,
    /// Since when the grace lasts.
    since: Option<Duration>,
    signalled: BTreeSet<u32>,
}

impl Termination {
    /// Whether this group, which is to be paused, runs all the same: some of it was sent a signal to end.
    pub(super) fn is_due(&mut self, now: Duration, group: &Group) -> bool {
        if let Some(since) = self.since {
            let left = self.signalled.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists());
            if now < since + GRACE && left {
                return true;
            }
            self.resumed(now);
        }
        if now < self.next {
            return false;
        }
        self.next = now + CHECK;
        let signalled: BTreeSet<u32> =
            group.processes().into_iter().take(FIRST).filter(|pid| has_pending_termination(*pid)).collect();
        // One that did not end within its grace has handled the signal, or never will.
        let new = signalled.iter().any(|pid| !self.signalled.contains(pid));
        self.signalled = signalled;
        self.since = new.then_some(now);
        new
    }

    /// The group may run anyway: the signal is handled.
    pub(super) fn resumed(&mut self, now: Duration) {
        if let Some(since) = self.since.take() {
            self.next = now + QUIET * now.saturating_sub(since);
        }
    }

    /// Whether a grace lasts.
    pub(super) fn is_on(&self) -> bool {
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_host::process::send;
    use std::collections::BTreeMap;
    use std::fs;
    use std::process::Command;
    use std::time::Instant;

    const STOP: i32 = 19;
    const TERMINATE: i32 = 15;

    #[test]
    fn a_process_that_is_to_end_has_one_grace() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sleeper = || Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let (mut one, mut other) = (sleeper(), sleeper());
        fs::write(folder.path().join("cgroup.procs"), format!("{}\n{}\n", one.id(), other.id()))
            .expect("writes");
        let group = Group::new(BTreeMap::from([(String::new(), folder.path().to_path_buf())]));
        let mut termination = Termination::default();
        let mut at = |seconds: u64| termination.is_due(Duration::from_secs(seconds), &group);
        let signal = |pid: u32| {
            send(pid, STOP);
            // Of two pending signals the one with the lesser number is handled first.
            let is_stopped =
                || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "));
            let deadline = Instant::now() + Duration::from_secs(10);
            while !is_stopped() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            send(pid, TERMINATE);
        };
        assert!(!at(0), "nobody was sent a signal");
        signal(one.id());
        assert!(at(1) && at(10), "it is to end");
        signal(other.id());
        assert!(!at(11) && !at(70), "it has had its grace, and the next one waits");
        assert!(at(72), "the other has its own");
        for child in [&mut one, &mut other] {
            child.kill().and_then(|()| child.wait()).expect("was ours");
        }
        assert!(!at(73), "one that is gone needs none");
        let mut third = sleeper();
        fs::write(folder.path().join("cgroup.procs"), third.id().to_string()).expect("writes");
        signal(third.id());
        assert!(!termination.is_due(Duration::from_secs(78), &group), "six times as long as it took");
        assert!(termination.is_due(Duration::from_secs(80), &group));
        termination.resumed(Duration::from_secs(81));
        assert!(!termination.is_on() && !termination.is_due(Duration::from_secs(82), &group));
        third.kill().and_then(|()| third.wait()).expect("was ours");
    }
}
