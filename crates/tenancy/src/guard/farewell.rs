//! Who is told to end is let hear of it: a process that stands still handles no signal, and
//! whoever stops a service would wait for own work to end.

use std::collections::BTreeSet;
use std::time::Duration;

use crosstalk_host::process::is_to_end;

use crate::group::Group;

/// Between two looks whether somebody was told to end.
const LOOKS: Duration = Duration::from_secs(1);
/// For how long it runs then, at most.
const TAKES: Duration = Duration::from_secs(10);
/// Of each group so many processes are looked at: those with the least numbers, of which one has
/// started the others.
const FIRST: usize = 8;

/// Those who were told to end while they stood still.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    looked: Option<Duration>,
    until: Option<Duration>,
    /// Each has its time once.
    known: BTreeSet<u32>,
}

impl Farewell {
    /// Whether external work in these groups, which is to stand still, runs: some of it was told to end.
    pub(super) fn is_due<'a>(&mut self, now: Duration, groups: impl Iterator<Item = &'a Group>) -> bool {
        if self.until.is_some_and(|until| now < until) {
            return true;
        }
        self.until = None;
        if self.looked.is_some_and(|last| now < last + LOOKS) {
            return false;
        }
        self.looked = Some(now);
        let there = groups.flat_map(|group| group.processes().into_iter().take(FIRST));
        let told: BTreeSet<u32> = there.filter(|pid| is_to_end(*pid)).collect();
        let new = told.iter().any(|pid| !self.known.contains(pid));
        // The number of one that has ended may come again.
        self.known = told;
        self.until = new.then(|| now + TAKES);
        new
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
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        fs::write(folder.path().join("cgroup.procs"), child.id().to_string()).expect("writes");
        let group = Group::new(BTreeMap::from([(String::new(), folder.path().to_path_buf())]));
        let mut farewell = Farewell::default();
        let mut at = |seconds: u64| farewell.is_due(Duration::from_secs(seconds), [&group].into_iter());
        send(child.id(), STOP);
        assert!(!at(0), "nobody was told anything");
        send(child.id(), TERMINATE);
        assert!(at(1) && at(10), "it is told to end");
        assert!(!at(11) && !at(12), "it has had its time");
        child.kill().and_then(|()| child.wait()).expect("was ours");
        assert!(!at(20));
    }
}
