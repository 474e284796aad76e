//! Groups that were ended, and whose processes take a while to end.

use std::time::{Duration, Instant};

use crosstalk_core::units::Bytes;

use super::event::Event;
use super::limited_group::kept;
use crate::name::GroupName;
use crate::standing::Standing;

/// How long an ended group may take to be empty before that is reported.
const KILL_DEADLINE: Duration = Duration::from_secs(5);

/// A group that was ended.
#[derive(Debug)]
pub struct Ending {
    /// Which one.
    pub one: Standing,
    /// Whether it was reported that its processes do not end. Its memory is then not expected to be free soon.
    pub stays: bool,
    /// The processes that have not ended yet.
    processes: Vec<u32>,
    since: Instant,
}

impl Ending {
    /// One that was ended just now, with its processes.
    pub fn new(one: Standing, processes: Vec<u32>) -> Self {
        Ending { one, stays: false, processes, since: Instant::now() }
    }

    /// Whether some of its processes are still there.
    pub fn is_there(&mut self) -> bool {
        let inside = self.one.group.processes_in_any_tree();
        self.processes.retain(|pid| inside.contains(pid));
        !self.processes.is_empty()
    }

    /// That they do not end, once, when that has taken long.
    pub fn late(&mut self) -> Option<Event> {
        if self.stays || self.since.elapsed() <= KILL_DEADLINE {
            return None;
        }
        self.stays = true;
        Some(Event::Stays { group: self.one.name.clone(), processes: self.processes.len() })
    }
}

/// Memory that will be free as soon as these have ended: of those within a group, or of all.
pub fn freeing(all: &[Ending], within: Option<&GroupName>) -> Bytes {
    let is_meant = |name: &GroupName| within.is_none_or(|within| name == within || name.is_in(within));
    let meant = all.iter().filter(|ending| !ending.stays && is_meant(&ending.one.name));
    Bytes(meant.map(|ending| kept(&ending.one.group).0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Registered;
    use crate::profile::Profile;
    use crosstalk_cgroup::group::Group;
    use std::fs;

    #[test]
    fn a_group_that_does_not_end_is_reported_once_and_frees_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (file, says) in [("cgroup.procs", "7\n"), ("memory.current", "900\n"), ("memory.stat", "")] {
            fs::write(folder.path().join(file), says).expect("writes");
        }
        let group = Group::new([(String::new(), folder.path().to_path_buf())].into());
        let registered = Registered::new(Profile::BestEffort { limit: None });
        let name: GroupName = "lab/bob".parse().expect("is a name");
        let one = Standing { name: name.clone(), registered, group };
        let mut all = [Ending::new(one, vec![7, 8])];
        assert!(all[0].is_there() && all[0].late().is_none());
        let of = |name: &str| name.parse::<GroupName>().expect("is a name");
        assert_eq!((freeing(&all, None), freeing(&all, Some(&of("lab")))), (Bytes(900), Bytes(900)));
        assert_eq!(freeing(&all, Some(&of("la"))), Bytes(0), "another group");
        all[0].since = Instant::now().checked_sub(KILL_DEADLINE * 2).expect("the machine runs that long");
        assert_eq!(all[0].late(), Some(Event::Stays { group: name, processes: 1 }));
        assert!(all[0].late().is_none() && all[0].is_there(), "it is said once");
        assert_eq!(freeing(&all, None), Bytes(0));
        fs::write(folder.path().join("cgroup.procs"), "").expect("writes");
        assert!(!all[0].is_there());
    }
}
