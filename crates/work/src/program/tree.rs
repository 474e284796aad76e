//! A program's processes, read from proc(5): those of its process group, those
//! that carry its mark in their environment (children that went into a session
//! of their own, daemons), how many of their threads are busy at once, and how long these queued for a processor.

use crosstalk_cgroup::process::TICK;
use rustix::process::{Pid, getpid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Tries to count processes that change meanwhile.
const COUNTS: usize = 1000;
/// The environment variable that marks a program's processes.
pub const RUN_MARK: &str = "CROSSTALK_RUN";

/// One process of a program's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Whether it has ended, and its parent has not waited for it yet.
    pub zombie: bool,
}

/// Every process that is in process group `group` or carries `mark`, except this one.
pub fn program_processes(group: Pid, mark: &str) -> Vec<Process> {
    let entry = format!("{RUN_MARK}={mark}");
    let me = getpid();
    processes()
        .filter(|(pid, _)| *pid != me)
        .filter(|(pid, stat)| stat.group == group.as_raw_pid() || carries(*pid, &entry))
        .map(|(pid, stat)| Process { pid, zombie: stat.state == 'Z' })
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
    let entry = format!("{RUN_MARK}={mark}");
    children(getpid().as_raw_pid())
        .into_iter()
        .filter_map(Pid::from_raw)
        .filter(|pid| carries(*pid, &entry))
        .collect()
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    listed_children(pid).unwrap_or_else(|| searched_children(pid))
}

/// As the kernel lists them, where it does (CONFIG_PROC_CHILDREN); none where the process has ended.
fn listed_children(pid: i32) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for (_, path) in threads(pid) {
        match fs::read_to_string(path.join("children")) {
            Ok(text) => all.extend(text.split_whitespace().filter_map(|word| word.parse::<i32>().ok())),
            // A thread may end meanwhile; the directory of one that lives has the file, or the kernel has not.
            Err(_) if path.exists() => return None,
            Err(_) => {}
        }
    }
    Some(all)
}

/// By the parents that all processes report, zombies included.
fn searched_children(parent: i32) -> Vec<i32> {
    processes().filter(|(_, stat)| stat.parent == parent).map(|(pid, _)| pid.as_raw_pid()).collect()
}

/// All processes, each with its `/proc/PID/stat`.
fn processes() -> impl Iterator<Item = (Pid, Stat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    numbers.filter_map(|pid| Some((pid, Stat::of(pid)?)))
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
    parent: i32,
    group: i32,
    /// CPU time, in clock ticks.
    used: u64,
    /// That of children that it has waited for.
    waited: u64,
}

impl Stat {
    fn of(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
    }

    /// The second field is the program's name in brackets, which may hold brackets and blanks.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        // Numbered from 3, the field behind the name.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            used: number(14)? + number(15)?,
            waited: number(16)? + number(17)?,
        })
    }
}

/// CPU time that the children of a process have used: those that it has waited for, with theirs, and those
/// that it has, whether or not they have ended. `None` where it has ended, or its children change at every try.
pub fn children_cpu(pid: Pid) -> Option<Duration> {
    // A child that is waited for meanwhile would count twice, or not at all.
    let counted = || {
        let waited = waited_by(pid)?;
        let before = children(pid.as_raw_pid());
        let stats = before.iter().filter_map(|child| Stat::of(Pid::from_raw(*child)?));
        let alive: u64 = stats.map(|child| child.used + child.waited).sum();
        let same = waited_by(pid)? == waited && children(pid.as_raw_pid()) == before;
        Some(same.then_some(waited + alive))
    };
    for _ in 0..COUNTS {
        if let Some(ticks) = counted()? {
            return Some(TICK * u32::try_from(ticks).unwrap_or(u32::MAX));
        }
    }
    None
}

/// CPU time of the children that a process has waited for, in clock ticks; `None` where it has ended: its
/// children have another parent then.
fn waited_by(pid: Pid) -> Option<u64> {
    Stat::of(pid).filter(|stat| !matches!(stat.state, 'Z' | 'X')).map(|stat| stat.waited)
}

/// What a program's threads were doing at each sample, and how long each queued. What a thread queued
/// between the last sample and its end is not seen.
#[derive(Debug, Default)]
pub struct ThreadActivity {
    /// Thread → nanoseconds that it was ready to run, but had no processor.
    queued: BTreeMap<i32, u64>,
    /// Samples that found a thread running or ready to run, and how many such threads they found.
    busy_samples: u64,
    ready: u64,
}

impl ThreadActivity {
    /// Samples these processes and all that they started; returns their numbers.
    pub fn sample(&mut self, roots: impl IntoIterator<Item = Pid>) -> BTreeSet<i32> {
        let mut open: Vec<i32> = roots.into_iter().map(Pid::as_raw_pid).collect();
        let (mut seen, mut ready) = (BTreeSet::new(), 0);
        while let Some(pid) = open.pop() {
            if !seen.insert(pid) {
                continue;
            }
            for (thread, path) in threads(pid) {
                let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
                // `R` is a thread that runs, and one that waits for a processor.
                ready += u64::from(Stat::parse(&read("stat")).is_some_and(|stat| stat.state == 'R'));
                if let Some(queued) =
                    read("schedstat").split_whitespace().nth(1).and_then(|word| word.parse().ok())
                {
                    self.queued.insert(thread, queued);
                }
            }
            open.extend(children(pid));
        }
        self.ready += ready;
        self.busy_samples += u64::from(ready > 0);
        seen
    }

    /// Seconds that the threads queued, added up; `None` where the kernel does not report it.
    pub fn queued_seconds(&self) -> Option<f64> {
        (!self.queued.is_empty()).then(|| self.queued.values().sum::<u64>() as f64 * 1e-9)
    }

    /// How many threads ran or were ready to run at once, on average over the samples that found any: at least 1.
    pub fn mean_parallelism(&self) -> f64 {
        if self.busy_samples == 0 { 1.0 } else { self.ready as f64 / self.busy_samples as f64 }
    }
}

#[cfg(test)]
mod tests;
