//! Who is told to end is let hear of it: a process that stands still handles no signal, and
//! whoever stops a service would wait for own work to end.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crosstalk_host::process::is_to_end;

use crate::group::Group;

/// Between two looks whether somebody was told to end.
const LOOKS: Duration = Duration::from_secs(1);
/// For how long its group runs then, at most.
const TAKES: Duration = Duration::from_secs(10);
/// How long nobody is let go on for that afterwards: own work is not to pay for who is told time and again.
const QUIET: Duration = Duration::from_secs(60);
/// Of each group so many processes are looked at: those with the least numbers, of which one has
/// started the others.
const FIRST: usize = 8;

/// Those of a group who were told to end while they stood still.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    /// When to look next.
    next: Duration,
    /// Until when those who were told have their time.
    until: Option<Duration>,
    told: BTreeSet<u32>,
}

impl Farewell {
    /// Whether external work in this group, which is to stand still, runs: some of it was told to end.
    pub(super) fn is_due(&mut self, now: Duration, group: &Group) -> bool {
        if let Some(until) = self.until {
            let left = self.told.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists());
            if now < until && left {
                return true;
            }
            (self.until, self.next) = (None, now + QUIET);
        }
        if now < self.next {
            return false;
        }
        self.next = now + LOOKS;
        let told: BTreeSet<u32> =
            group.processes().into_iter().take(FIRST).filter(|pid| is_to_end(*pid)).collect();
        // Who did not end in its time has heard of it, or never will.
        let new = told.iter().any(|pid| !self.told.contains(pid));
        self.told = told;
        self.until = new.then(|| now + TAKES);
        new
    }

    /// Whether somebody has their time.
    pub(super) fn is_on(&self) -> bool {
        self.until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_host::process::send;
    use std::collections::BTreeMap;
    use std::fs;
    use std::process::Command;

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
        assert!(!at(140) && !at(150));
    }
}
