//! How much of a group's memory can be swapped out, and who may be killed where that is too little.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::steady::Steady;
use crosstalk_cgroup::group::Group;
use crosstalk_cgroup::group::reading::number;

/// How readily a host swaps, where its groups do not say that for themselves.
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
/// Counting takes this share of the time at most.
const RARELY: u32 = 500;

/// A group, by what a limit does to who has more.
#[derive(Debug)]
pub(super) enum Swaps {
    /// v1's kills.
    Killed(Survey),
    /// v2's slows down. How much it, and each group that it stands in, may have swapped out and has; and whether
    /// this host does that at all.
    Slowed { above: Vec<(Steady, Steady)>, swappiness: Option<Steady> },
}

impl Swaps {
    pub(super) fn killed(group: &Group) -> Self {
        group.dir("memory").map_or_else(Swaps::unknown, |dir| Swaps::Killed(Survey::of(dir)))
    }

    pub(super) fn slowed(group: &Group) -> Self {
        let both = |dir: &Path| {
            let open = |file: &str| Steady::open(&dir.join(file));
            Some((open("memory.swap.max")?, open("memory.swap.current")?))
        };
        let above = group.dir("").into_iter().flat_map(Path::ancestors).map_while(both).collect();
        Swaps::Slowed { above, swappiness: Steady::open(Path::new(SWAPPINESS)) }
    }

    /// Of one that is only looked at.
    pub(super) fn unknown() -> Self {
        Swaps::Slowed { above: Vec::new(), swappiness: None }
    }

    pub(super) fn kills(&self) -> bool {
        matches!(self, Swaps::Killed(_))
    }

    /// Of `free` bytes of swap those that it can use; and its threads, where they may be killed.
    pub(super) fn look(&mut self, free: u64) -> (u64, Option<u64>) {
        match self {
            Swaps::Killed(survey) => {
                let found = survey.look();
                (if found.swaps { free } else { 0 }, Some(found.threads))
            }
            Swaps::Slowed { above, swappiness } => {
                let left = above
                    .iter_mut()
                    .filter_map(|(most, out)| Some(most.told(number)?.saturating_sub(out.told(number)?)));
                let left = left.fold(free, u64::min);
                let never = swappiness.as_mut().and_then(|file| file.told(number)) == Some(0);
                (if never { 0 } else { left }, None)
            }
        }
    }
}

/// A group and all below it in v1's tree of memory. Where there are thousands of threads or groups they take long
/// to count, and are counted the more rarely the longer that takes.
#[derive(Debug)]
pub(super) struct Survey {
    dir: PathBuf,
    found: Found,
    next: Instant,
}

/// What it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    /// Threads, any of which may read.
    threads: u64,
    /// Whether memory of each group is swapped out at all: never where its `memory.swappiness` is 0
    /// (`get_scan_count` in `mm/vmscan.c`), whatever swap there is.
    swaps: bool,
}

impl Survey {
    fn of(dir: &Path) -> Self {
        Survey { dir: dir.into(), found: Found { threads: 0, swaps: true }, next: Instant::now() }
    }

    /// What there is, as far as that is known.
    fn look(&mut self) -> Found {
        let began = Instant::now();
        if began >= self.next {
            self.found = count(&self.dir);
            self.next = began + rest(began.elapsed());
        }
        self.found
    }
}

/// How long it is to be relied on what took so long to count.
fn rest(took: Duration) -> Duration {
    took.saturating_mul(RARELY)
}

fn count(dir: &Path) -> Found {
    let read = |file: &str| fs::read_to_string(dir.join(file)).ok();
    let mut found = Found {
        threads: read("tasks").map_or(0, |tasks| tasks.lines().count() as u64),
        swaps: read("memory.swappiness").and_then(|text| number(&text)) != Some(0),
    };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let below = count(&entry.path());
            found = Found { threads: found.threads + below.threads, swaps: found.swaps && below.swaps };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_below_counts_and_one_that_never_swaps_is_enough() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let make = |below: &str, tasks: &str, swappiness: &str| {
            let dir = folder.path().join(below);
            fs::create_dir_all(&dir).expect("makes");
            fs::write(dir.join("tasks"), tasks).expect("writes");
            fs::write(dir.join("memory.swappiness"), swappiness).expect("writes");
        };
        make("", "1\n2\n", "60\n");
        make("a", "", "1\n");
        make("a/b", "3\n", "60\n");
        assert_eq!(count(folder.path()), Found { threads: 3, swaps: true });
        make("a/b", "3\n", "0\n");
        assert_eq!(count(folder.path()), Found { threads: 3, swaps: false });
        assert_eq!(count(&folder.path().join("gone")), Found { threads: 0, swaps: true });
    }

    #[test]
    fn swap_that_a_group_may_not_have_is_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("memory.swappiness"), "0\n").expect("writes");
        let mut never = Swaps::killed(&Group::new([("memory".into(), folder.path().into())].into()));
        assert_eq!(never.look(1 << 30), (0, Some(0)));
        let below = folder.path().join("slice/service");
        fs::create_dir_all(&below).expect("makes");
        let left = |slice: [&str; 2], service: [&str; 2], swappiness: &str| {
            for (dir, [most, out]) in [(below.parent().expect("has one"), slice), (&below, service)] {
                fs::write(dir.join("memory.swap.max"), most).expect("writes");
                fs::write(dir.join("memory.swap.current"), out).expect("writes");
            }
            fs::write(folder.path().join("swappiness"), swappiness).expect("writes");
            let mut slowed = Swaps::slowed(&Group::new([(String::new(), below.clone())].into()));
            if let Swaps::Slowed { swappiness, .. } = &mut slowed {
                *swappiness = Steady::open(&folder.path().join("swappiness"));
            }
            slowed.look(1000)
        };
        assert_eq!(left(["max\n", "9\n"], ["max\n", "7\n"], "60\n"), (1000, None));
        assert_eq!(left(["max\n", "9\n"], ["300\n", "7\n"], "60\n"), (293, None), "what it has there it has");
        assert_eq!(left(["200\n", "9\n"], ["300\n", "7\n"], "60\n"), (191, None), "so has what it stands in");
        assert_eq!(left(["0\n", "9\n"], ["max\n", "7\n"], "60\n"), (0, None));
        assert_eq!(left(["max\n", "9\n"], ["max\n", "7\n"], "0\n"), (0, None));
        assert_eq!(Swaps::unknown().look(1000), (1000, None));
    }

    #[test]
    fn what_takes_long_is_counted_rarely() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tasks = folder.path().join("tasks");
        fs::write(&tasks, "1\n").expect("writes");
        let mut survey = Survey::of(folder.path());
        assert_eq!(survey.look().threads, 1);
        fs::write(&tasks, "1\n2\n").expect("writes");
        survey.next += Duration::from_secs(3600);
        assert_eq!(survey.look().threads, 1);
        survey.next = Instant::now();
        assert_eq!(survey.look().threads, 2);
        assert_eq!(rest(Duration::from_millis(50)), Duration::from_secs(25));
    }
}
