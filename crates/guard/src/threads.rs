//! The threads of foreground work that use most: how long they wait for processors, whether they sleep, where they run, and
//! which programs they are of.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crosstalk_host::clock::parse_schedstat;

use super::place::Place;
use super::steady::Steady;
use crosstalk_cgroup::process::{Process, TICK};
use crosstalk_policy::Program;

/// Who used most over a longer time is not who does so now.
pub(super) const LATELY: Duration = Duration::from_secs(6);
/// So many programs that use most are named, and none that uses less than this of a processor.
const NAMED: (usize, f64) = (3, 0.05);

/// The threads that are watched for how long they wait for a processor.
#[derive(Debug, Default)]
pub(super) struct BusiestThreads {
    threads: BTreeMap<u32, Watched>,
    ticks: BTreeMap<u32, u64>,
    /// When they were chosen, and which programs used most by then.
    chosen: Duration,
    largest: Vec<Program>,
    /// What the threads that may be watched have run, in nanoseconds.
    ran: BTreeMap<u32, u64>,
    /// Where those run that use most, if that was seen over a short time.
    place: Place,
    waited: Duration,
}

/// A thread's `schedstat`, and what it said before.
#[derive(Debug)]
struct Watched {
    /// The process that it is of.
    pid: u32,
    file: Steady,
    /// For how long it had waited for a processor.
    waited: Duration,
    /// For how many nanoseconds it had run when that was last asked for, and whether it was reported asleep since.
    ran: u64,
    asleep: bool,
}

impl Watched {
    fn open(pid: u32, path: &Path) -> Option<Self> {
        let mut file = Steady::open(path)?;
        let (ran, waited) = file.parsed(times)?;
        Some(Watched { pid, file, waited, ran, asleep: false })
    }
}

/// So many programs, so many threads of each that are read, and so many of all that are
/// watched: more would cost more than they show.
const PROGRAMS: usize = 6;
const THREADS: usize = 64;
const WATCHED: usize = 24;

impl BusiestThreads {
    /// Chooses whom to watch: of the foreground programs' threads those that use most.
    pub(super) fn choose(&mut self, now: Duration, foreground: &[Process]) {
        let seconds = now.saturating_sub(std::mem::replace(&mut self.chosen, now)).as_secs_f64().max(1e-3);
        let first = self.ticks.is_empty();
        let used = |process: &Process| {
            // One that was not there before has used all of it since.
            let before =
                self.ticks.get(&process.pid).copied().unwrap_or(if first { process.ticks } else { 0 });
            process.ticks.saturating_sub(before)
        };
        let mut most: Vec<(u64, &Process)> =
            foreground.iter().map(|process| (used(process), process)).filter(|(used, _)| *used > 0).collect();
        most.sort_unstable_by_key(|(used, process)| (Reverse(*used), process.pid));
        let programs = most.iter().map(|(used, process)| Program {
            pid: process.pid,
            name: process.name.clone(),
            cpu: TICK.as_secs_f64() * *used as f64 / seconds,
        });
        let largest = programs.take_while(|program| program.cpu >= NAMED.1).take(NAMED.0).collect();
        self.ticks = foreground.iter().map(|process| (process.pid, process.ticks)).collect();
        let (mut busiest, mut ran) = (Vec::new(), BTreeMap::new());
        for (_, Process { pid, .. }) in most.into_iter().take(PROGRAMS) {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            for thread in threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).take(THREADS)
            {
                let path = PathBuf::from(format!("/proc/{pid}/task/{thread}"));
                let text = fs::read_to_string(path.join("schedstat")).ok();
                let Some(now) = text.and_then(|text| parse_schedstat(&text)) else {
                    continue;
                };
                let before = self.ran.get(&thread).copied().unwrap_or(0);
                busiest.push((now.run_ns.saturating_sub(before), thread, pid, path));
                ran.insert(thread, now.run_ns);
            }
        }
        self.ran = ran;
        busiest.sort_unstable_by(|a, b| b.cmp(a));
        let lately = busiest.iter().filter(|_| seconds < LATELY.as_secs_f64());
        self.place = Place::of(lately.map(|(.., path)| path.as_path()));
        let mut chosen = BTreeMap::new();
        for (_, thread, pid, path) in busiest.into_iter().take(WATCHED) {
            let known = self.threads.remove(&thread).or_else(|| Watched::open(*pid, &path.join("schedstat")));
            chosen.extend(known.map(|known| (thread, known)));
        }
        (self.threads, self.largest) = (chosen, largest);
    }

    /// The programs that used most when those were chosen.
    pub(super) fn largest(&self) -> &[Program] {
        &self.largest
    }

    /// Where foreground work runs.
    pub(super) fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    /// The threads that have not run since this was last called, with their processes, each once until it runs again.
    pub(super) fn asleep(&mut self) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for (thread, watched) in &mut self.threads {
            let Some((ran, _)) = watched.file.parsed(times) else { continue };
            if std::mem::replace(&mut watched.ran, ran) != ran {
                watched.asleep = false;
            } else if !std::mem::replace(&mut watched.asleep, true) {
                found.push((*thread, watched.pid));
            }
        }
        found
    }

    /// How long they have waited so far; `None` where nobody is watched.
    pub(super) fn read(&mut self) -> Option<Duration> {
        if self.threads.is_empty() {
            return None;
        }
        for watched in self.threads.values_mut() {
            if let Some((_, now)) = watched.file.parsed(times) {
                self.waited += now.saturating_sub(watched.waited);
                watched.waited = now;
            }
        }
        Some(self.waited)
    }
}

/// Nanoseconds that a thread has run, and how long it has waited for a processor.
fn times(schedstat: &str) -> Option<(u64, Duration)> {
    let times = parse_schedstat(schedstat)?;
    Some((times.run_ns, Duration::from_nanos(times.delay_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_is_watched() {
        let foreground = crosstalk_cgroup::process::one(std::process::id()).expect("is there");
        let mut waits = BusiestThreads::default();
        waits.choose(Duration::from_secs(1), std::slice::from_ref(&foreground));
        assert_eq!(waits.read(), None, "nobody has used anything yet");
        let idle = Process { ticks: 1, name: "idle".into(), pid: u32::MAX, ..foreground.clone() };
        let busy = Process { ticks: foreground.ticks + 150, ..foreground.clone() };
        waits.choose(Duration::from_secs(4), &[idle, busy]);
        assert!(waits.read().is_some());
        assert_eq!(
            waits.largest(),
            [Program { pid: foreground.pid, name: foreground.name.clone(), cpu: 0.5 }],
            "1.5 s of 3 s"
        );
        assert!(waits.place().is_known());
        let later = Process { ticks: foreground.ticks + 300, ..foreground };
        waits.choose(Duration::from_secs(14), &[later]);
        assert!(waits.read().is_some() && !waits.place().is_known(), "in ten seconds anybody may have");
    }
}
