//! Who is told to end is let hear of it: a process that stands still handles no signal, and
//! whoever stops a service would wait for foreground work to end.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crosstalk_host::process::has_pending_termination;

use crosstalk_cgroup::group::Group;

/// Between two looks whether somebody was told to end.
const LOOKS: Duration = Duration::from_secs(1);
/// For how long its group runs then, at most.
const TAKES: Duration = Duration::from_secs(10);
/// For so many times as long as that took nobody is let go on for it afterwards: foreground work is not to pay for who
/// is told time and again.
const QUIET: u32 = 6;
/// Of each group so many processes are looked at: those with the least numbers, of which one has
/// started the others.
const FIRST: usize = 8;

/// Those of a group who were told to end while they stood still.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    /// When to look next.
    next: Duration,
    /// Since when those who were told have their time.
    since: Option<Duration>,
    told: BTreeSet<u32>,
}

impl Farewell {
    /// Whether background work in this group, which is to stand still, runs: some of it was told to end.
    pub(super) fn is_due(&mut self, now: Duration, group: &Group) -> bool {
        if let Some(since) = self.since {
            let left = self.told.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists());
            if now < since + TAKES && left {
                return true;
            }
            self.goes_on(now);
        }
        if now < self.next {
            return false;
        }
        self.next = now + LOOKS;
        let told: BTreeSet<u32> =
            group.processes().into_iter().take(FIRST).filter(|pid| has_pending_termination(*pid)).collect();
        // Who did not end in its time has heard of it, or never will.
        let new = told.iter().any(|pid| !self.told.contains(pid));
        self.told = told;
        self.since = new.then_some(now);
        new
    }

    /// Background work may run anyway: who was told to end hears of it.
    pub(super) fn goes_on(&mut self, now: Duration) {
        if let Some(since) = self.since.take() {
            self.next = now + QUIET * now.saturating_sub(since);
        }
    }

    /// Whether somebody has their time.
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
    fn who_is_told_to_end_has_its_time_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sleeper = || Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let (mut one, mut other) = (sleeper(), sleeper());
        fs::write(folder.path().join("cgroup.procs"), format!("{}\n{}\n", one.id(), other.id()))
            .expect("writes");
        let group = Group::new(BTreeMap::from([(String::new(), folder.path().to_path_buf())]));
        let mut farewell = Farewell::default();
        let mut at = |seconds: u64| farewell.is_due(Duration::from_secs(seconds), &group);
        let tell = |pid: u32| {
            send(pid, STOP);
            // Of two signals that wait the one with the lesser number is heard first.
            let stands_still =
                || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "));
            let deadline = Instant::now() + Duration::from_secs(10);
            while !stands_still() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            send(pid, TERMINATE);
        };
        assert!(!at(0), "nobody was told anything");
        tell(one.id());
        assert!(at(1) && at(10), "it is told to end");
        tell(other.id());
        assert!(!at(11) && !at(70), "it has had its time, and the next one waits");
        assert!(at(72), "the other has its own");
        for child in [&mut one, &mut other] {
            child.kill().and_then(|()| child.wait()).expect("was ours");
        }
        assert!(!at(73), "who is gone needs none");
        let mut third = sleeper();
        fs::write(folder.path().join("cgroup.procs"), third.id().to_string()).expect("writes");
        tell(third.id());
        assert!(!farewell.is_due(Duration::from_secs(78), &group), "six times as long as it took");
        assert!(farewell.is_due(Duration::from_secs(80), &group));
        farewell.goes_on(Duration::from_secs(81));
        assert!(!farewell.is_on() && !farewell.is_due(Duration::from_secs(82), &group));
        third.kill().and_then(|()| third.wait()).expect("was ours");
    }
}
