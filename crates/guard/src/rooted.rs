//! Processes that stand in v2's root group itself, as all do where no service manager has placed
//! them: the root's own file counts the groups below it, too, and each of these is counted alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crosstalk_host::kernel;
use crosstalk_host::ledger::{REAP, REAPER};

use crosstalk_cgroup::process::{TICK, parse_stat};

/// Them, with the ticks that each had used when it was last read.
#[derive(Debug, Default)]
pub(super) struct Rooted {
    ticks: BTreeMap<u32, u64>,
    /// Those of them that have used any lately: the others are read only when they are renewed.
    busy: BTreeSet<u32>,
    /// The kernel's threads, which stand there on every host.
    kernel: BTreeSet<u32>,
    /// When those that have come were last searched for.
    searched: Option<Instant>,
}

/// Time between two searches for those that have come: the list is long, since the kernel's threads are in it.
const NEW: Duration = Duration::from_millis(250);

impl Rooted {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// Looks at all that are there, without this process; what those known before have used since
    /// the last reading.
    pub(super) fn renew(&mut self, root: &Path) -> Duration {
        let there = standing(root);
        self.ticks.retain(|pid, _| there.contains(pid));
        self.kernel.retain(|pid| there.contains(pid));
        self.busy.clear();
        let mut used = 0;
        for pid in there {
            if self.kernel.contains(&pid) {
                continue;
            }
            let Some(now) = ticks(pid) else {
                self.ticks.remove(&pid);
                self.kernel.insert(pid);
                continue;
            };
            match self.ticks.insert(pid, now) {
                Some(before) if before >= now => {}
                before => {
                    used += now - before.unwrap_or(now);
                    self.busy.insert(pid);
                }
            }
        }
        time(used)
    }

    /// What the busy ones, and those that have come, have used since the last reading.
    pub(super) fn used(&mut self, root: &Path) -> Duration {
        let mut used = 0;
        // Where a service manager has placed everybody, nobody comes.
        if !self.is_empty() && self.searched.is_none_or(|at| at.elapsed() >= NEW) {
            self.searched = Some(Instant::now());
            for pid in standing(root) {
                if !self.ticks.contains_key(&pid) && !self.kernel.contains(&pid) {
                    // All that it has used is of this time.
                    self.ticks.insert(pid, 0);
                    self.busy.insert(pid);
                }
            }
        }
        for pid in &self.busy {
            if let (Some(before), Some(now)) = (self.ticks.get_mut(pid), ticks(*pid)) {
                used += now.saturating_sub(*before);
                *before = now;
            }
        }
        time(used)
    }
}

/// Who stands in the root, without this process.
fn standing(root: &Path) -> BTreeSet<u32> {
    let text = fs::read_to_string(root.join("cgroup.procs")).unwrap_or_default();
    let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
    numbers.filter(|pid| *pid != std::process::id()).collect()
}

/// `None` where it has ended, or is a thread of the kernel, or a guard's reaper: that stands there on every host, and
/// uses nothing.
fn ticks(pid: u32) -> Option<u64> {
    let process = parse_stat(&kernel::text(format!("/proc/{pid}/stat")).ok()?)?;
    (process.name != REAPER || !is_reaper(pid)).then_some(process.ticks)
}

/// Whether it was started as a reaper: any program can have the name alone.
fn is_reaper(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).skip(1).any(|word| word == REAP.as_bytes())
}

fn time(ticks: u64) -> Duration {
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn who_computes_there_is_counted_and_this_process_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdout(Stdio::null());
        let mut child = command.spawn().expect("sh starts");
        let there = |pids: &[u32]| {
            let lines: String = pids.iter().map(|pid| format!("{pid}\n")).collect();
            fs::write(folder.path().join("cgroup.procs"), lines).expect("writes");
        };
        let mut rooted = Rooted::default();
        there(&[std::process::id()]);
        assert_eq!(rooted.renew(folder.path()), Duration::ZERO);
        assert!(rooted.is_empty(), "this process is counted elsewhere");
        there(&[std::process::id(), child.id()]);
        assert_eq!(rooted.renew(folder.path()), Duration::ZERO, "since it is read");
        let (mut used, until) = (Duration::ZERO, Instant::now() + Duration::from_secs(20));
        while used < Duration::from_millis(50) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            used += rooted.used(folder.path());
        }
        child.kill().expect("is ours");
        child.wait().expect("is ours");
        assert!(used >= Duration::from_millis(50), "{used:?}");
        rooted.renew(folder.path());
        assert!(rooted.is_empty(), "it has ended");
    }

    #[test]
    fn a_reaper_there_is_nobody_and_another_program_of_its_name_is_somebody() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join(REAPER);
        fs::copy("/bin/cat", &program).expect("copies");
        // Both wait for what never comes: one at this pipe, the other at its standard input.
        let status = Command::new("mkfifo").arg(folder.path().join(REAP)).status().expect("mkfifo runs");
        assert!(status.success());
        for (verb, is_nobody) in [(REAP, true), ("-", false)] {
            let mut command = Command::new(&program);
            command.arg(verb).current_dir(folder.path()).stdin(Stdio::piped());
            let mut child = command.spawn().expect("starts");
            // The kernel closes the parent's pipe before it shows the new program's words.
            while fs::read(format!("/proc/{}/cmdline", child.id())).is_ok_and(|words| words.is_empty()) {
                std::thread::yield_now();
            }
            fs::write(folder.path().join("cgroup.procs"), child.id().to_string()).expect("writes");
            let mut rooted = Rooted::default();
            rooted.renew(folder.path());
            child.kill().and_then(|()| child.wait()).expect("is ours");
            assert_eq!(rooted.is_empty(), is_nobody, "{verb}");
        }
    }
}
