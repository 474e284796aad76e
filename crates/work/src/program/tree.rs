//! A program's processes, read from proc(5): those of its process group, those
//! that carry its mark in their environment (children that went into a session
//! of their own, daemons), and how long they queued for a processor.

use rustix::process::{Pid, getpid};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The environment variable that marks a program's processes.
pub const MARK: &str = "CROSSTALK_RUN";

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Whether it has ended, and only its parent does not know yet.
    pub zombie: bool,
}

/// Every process that is in process group `group` or carries `mark`, except this one.
pub fn members(group: Pid, mark: &str) -> Vec<Process> {
    let entry = format!("{MARK}={mark}");
    let me = getpid();
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    all.flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != me)
        .filter_map(|pid| {
            let stat = Stat::of(pid)?;
            let belongs = stat.group == group.as_raw_pid() || carries(pid, &entry);
            belongs.then_some(Process { pid, zombie: stat.state == 'Z' })
        })
        .collect()
}

/// Whether a process was started with this entry in its environment.
fn carries(pid: Pid, entry: &str) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
    environ.split(|b| *b == 0).any(|e| e == entry.as_bytes())
}

/// The children of this process that carry `mark`: orphans of a program, which
/// came to this process as their nearest subreaper (prctl(2)). One that ends is
/// a zombie without an environment, so they are to be looked for while they live.
pub fn orphans(mark: &str) -> Vec<Pid> {
    let entry = format!("{MARK}={mark}");
    children(getpid().as_raw_pid()).filter_map(Pid::from_raw).filter(|pid| carries(*pid, &entry)).collect()
}

/// The children of all threads of a process, as far as the kernel tells.
fn children(pid: i32) -> impl Iterator<Item = i32> {
    threads(pid).flat_map(|(_, path)| {
        let text = fs::read_to_string(path.join("children")).unwrap_or_default();
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()
    })
}

/// The threads of a process, and where proc(5) shows them.
fn threads(pid: i32) -> impl Iterator<Item = (i32, PathBuf)> {
    let all = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    all.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// What `/proc/PID/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    group: i32,
}

impl Stat {
    fn of(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
    }

    /// The second field is the program's name in brackets, which may hold brackets and blanks.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
        Some(Stat { state: fields.next()?.chars().next()?, group: fields.nth(1)?.parse().ok()? })
    }
}

/// How long each thread of a program was seen to queue: thread → nanoseconds.
/// What a thread queued between the last look and its end is not seen.
#[derive(Debug, Default)]
pub struct Queueing(BTreeMap<i32, u64>);

impl Queueing {
    /// Looks at `root` and, going down, at all that it started. Whom it met.
    pub fn look(&mut self, root: Pid) -> Vec<i32> {
        let mut met = vec![root.as_raw_pid()];
        let mut next = 0;
        while let Some(&pid) = met.get(next) {
            next += 1;
            for (thread, path) in threads(pid) {
                let schedstat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
                if let Some(queued) = schedstat.split_whitespace().nth(1).and_then(|word| word.parse().ok()) {
                    self.0.insert(thread, queued);
                }
            }
            met.extend(children(pid));
        }
        met
    }

    /// In seconds, over all threads; `None` where the kernel does not tell.
    pub fn seconds(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.values().sum::<u64>() as f64 * 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_obstacle() {
        let stat = Stat::parse("12 (a) (b c) Z 7 34 5 0 -1");
        assert_eq!(stat, Some(Stat { state: 'Z', group: 34 }));
        assert_eq!(Stat::parse("12 (a"), None);
    }

    #[test]
    fn nobody_carries_a_mark_that_was_never_given() {
        let nobody = Pid::from_raw(i32::MAX).expect("is not zero");
        assert_eq!(members(nobody, "never given"), []);
    }
}
