//! What background work costs foreground work at this moment, measured: a thread of foreground work is put on each of
//! the processors where that work may run, and what each gets is counted.
//!
//! The threads are this process's own, so that they stand where the caller's programs do. It takes
//! nobody's rights, changes no setting, and loads those processors for little more than a second; not
//! at all where no background work computes.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_host::clock::thread_cpu_ns;
use crosstalk_host::cpu::{allowed, parse_list, pin};
use crosstalk_host::kernel;
use serde::Serialize;

use crosstalk_cgroup::process::{Process, TICK, all, descendants};

/// For how long is checked whether it computes at all.
const LOOK: Duration = Duration::from_millis(400);
/// Clock ticks in that time from which it does: a twentieth of a processor.
const COMPUTES: u64 = 2;
/// How long the scheduler has to get used to the threads, which is not counted.
const SETTLE: Duration = Duration::from_millis(200);
/// A part of a processor that somebody else must take to be mentioned.
const WORTH_A_WORD: f64 = 0.05;
/// How long is counted.
const SPAN: Duration = Duration::from_secs(1);

/// What it costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "cost", rename_all = "kebab-case")]
pub enum Cost {
    /// Foreground work ran meanwhile.
    Measured {
        /// What one thread of foreground work a processor got of it: 1 is all.
        share: f64,
        /// Processors' time that the background work took meanwhile, a second.
        background: f64,
        /// How many processors that were.
        processors: usize,
        /// How long it was counted.
        seconds: f64,
    },
    /// It does not compute now: there is nothing to measure.
    Quiet {
        /// Seconds of CPU time that it has used so far.
        used: f64,
    },
    /// It could not be measured.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Cost {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Cost::Measured { share, background, processors, seconds, .. } => {
                let theirs = background / *processors as f64;
                let rest = 1.0 - share - theirs;
                let others = if rest > WORTH_A_WORD {
                    format!(", and what else runs here {:.0} %", rest * 100.0)
                } else {
                    String::new()
                };
                format!(
                    "foreground work gets {:.0} % of a processor while it runs; it takes {:.0} %{others} (measured now for {seconds:.0} s, \
                     a thread of foreground work on each of {processors})",
                    share * 100.0,
                    theirs * 100.0
                )
            }
            Cost::Quiet { used } => format!(
                "it does not compute now, so that nothing could be measured; so far it has used {} of CPU time",
                long(*used)
            ),
            Cost::Unknown { why } => format!("what it costs could not be measured: {why}"),
        }
    }
}

/// A long time, for people.
fn long(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// What each of these costs, each named by its processes, with what those have started. All are
/// measured at once, so that it takes no longer the more there are.
pub fn costs(background: &[Vec<u32>]) -> Vec<Cost> {
    if background.is_empty() {
        return Vec::new();
    }
    let everybody = all();
    let mut each: Vec<Watched> = background.iter().map(|pids| Watched::new(pids, &everybody)).collect();
    thread::sleep(LOOK);
    let everybody = all();
    each.iter_mut().for_each(|watched| watched.note(&everybody));
    let foreground = allowed();
    let wanted: BTreeSet<usize> = each
        .iter()
        .filter(|watched| watched.computes)
        .flat_map(|watched| watched.processors.iter().copied())
        .filter(|processor| foreground.contains(processor))
        .collect();
    let (got, taken, seconds) = beside(&wanted, &each);
    each.iter().zip(taken).map(|(watched, taken)| watched.cost(&got, taken, seconds)).collect()
}

/// Background work that is watched.
struct Watched {
    pids: Vec<u32>,
    used: u64,
    computes: bool,
    processors: BTreeSet<usize>,
}

impl Watched {
    fn new(pids: &[u32], everybody: &[Process]) -> Self {
        let processors = family(pids, everybody).into_iter().flat_map(may_run_on).collect();
        Watched { used: ticks(pids, everybody), pids: pids.into(), computes: false, processors }
    }

    /// Notes whether it has computed since it was first read.
    fn note(&mut self, everybody: &[Process]) {
        let used = ticks(&self.pids, everybody);
        self.computes = used.saturating_sub(self.used) >= COMPUTES;
        self.used = used;
    }

    fn cost(&self, got: &[Portion], taken: u64, seconds: f64) -> Cost {
        if !self.computes {
            return Cost::Quiet { used: self.used as f64 * TICK.as_secs_f64() };
        }
        let beside: Vec<&Portion> =
            got.iter().filter(|got| self.processors.contains(&got.processor)).collect();
        if beside.is_empty() {
            return Cost::Unknown { why: "it runs on processors that this program may not use".into() };
        }
        Cost::Measured {
            share: beside.iter().map(|got| got.share).sum::<f64>() / beside.len() as f64,
            background: taken as f64 * TICK.as_secs_f64() / seconds,
            processors: beside.len(),
            seconds,
        }
    }
}

/// These processes, with those that they have started, each once.
fn family(pids: &[u32], everybody: &[Process]) -> BTreeSet<u32> {
    pids.iter().flat_map(|pid| descendants(*pid, everybody)).collect()
}

/// CPU time of these processes and of all that they have started, also of what has ended: tasks come and go.
fn ticks(pids: &[u32], everybody: &[Process]) -> u64 {
    let family = family(pids, everybody);
    let there = everybody.iter().filter(|process| family.contains(&process.pid));
    there.map(|process| process.ticks.saturating_add(process.ended)).sum()
}

/// The processors on which a process may run: `Cpus_allowed_list` of proc_pid_status(5).
fn may_run_on(pid: u32) -> Vec<usize> {
    let status = kernel::text(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_list(list.unwrap_or_default())
}

/// What a thread of foreground work got of its processor.
struct Portion {
    processor: usize,
    share: f64,
}

/// Has a thread of foreground work compute on each processor. What those got, the ticks that each of the
/// background works took, and for how many seconds that was.
fn beside(processors: &BTreeSet<usize>, background: &[Watched]) -> (Vec<Portion>, Vec<u64>, f64) {
    if processors.is_empty() {
        return (Vec::new(), vec![0; background.len()], SPAN.as_secs_f64());
    }
    let used = || {
        let everybody = all();
        background.iter().map(|watched| ticks(&watched.pids, &everybody)).collect::<Vec<u64>>()
    };
    let began = Instant::now();
    thread::scope(|scope| {
        let begin = |processor: &usize| {
            let processor = *processor;
            thread::Builder::new().spawn_scoped(scope, move || compute(processor, began)).ok()
        };
        let threads: Vec<_> = processors.iter().filter_map(begin).collect();
        // What waits runs before what computes: this thread is hardly late.
        thread::sleep(SETTLE);
        let (from, before) = (Instant::now(), used());
        thread::sleep(SPAN);
        let (seconds, after) = (from.elapsed().as_secs_f64(), used());
        // One that is not let onto its processor, or does not begin, has nothing to say; none panics.
        let portions = threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
        let taken = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before)).collect();
        (portions, taken, seconds)
    })
}

/// Computes on a processor until it is over, and returns what it got from when it counts.
fn compute(processor: usize, began: Instant) -> Option<Portion> {
    pin(processor).ok()?;
    spin_until(began + SETTLE);
    let (from, cpu) = (Instant::now(), thread_cpu_ns());
    spin_until(began + SETTLE + SPAN);
    let wall = from.elapsed().as_secs_f64().max(1e-9);
    Some(Portion { processor, share: ((thread_cpu_ns() - cpu) as f64 * 1e-9 / wall).min(1.0) })
}

fn spin_until(end: Instant) {
    let mut number = 1_u64;
    while Instant::now() < end {
        for step in 0..10_000 {
            number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step;
        }
        black_box(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(computes: bool, processors: &[usize]) -> Watched {
        Watched { pids: vec![], used: 30_000, computes, processors: processors.iter().copied().collect() }
    }

    fn got(processor: usize, share: f64) -> Portion {
        Portion { processor, share }
    }

    #[test]
    fn foreground_work_s_share_is_that_on_the_processors_of_the_background_work() {
        let all = [got(0, 0.5), got(1, 0.6), got(2, 1.0)];
        let cost = watched(true, &[0, 1, 7]).cost(&all, 90, 1.0);
        let Cost::Measured { share, background, processors, .. } = cost else { panic!("{cost:?}") };
        assert!((share - 0.55).abs() < 1e-9 && (background - 0.9).abs() < 1e-9 && processors == 2);
        let said = |ticks: u64| watched(true, &[0, 1]).cost(&all, ticks, 1.0).sentence();
        assert_eq!(
            said(88),
            "foreground work gets 55 % of a processor while it runs; it takes 44 % (measured now for 1 s, a thread of foreground work on \
             each of 2)"
        );
        assert!(said(60).contains("it takes 30 %, and what else runs here 15 % (measured"), "{}", said(60));
    }

    #[test]
    fn what_does_not_compute_has_no_cost_but_what_it_has_used() {
        let cost = watched(false, &[0]).cost(&[got(0, 0.5)], 0, 1.0);
        assert_eq!(cost, Cost::Quiet { used: 300.0 });
        assert!(cost.sentence().ends_with("so far it has used 5 min of CPU time"), "{}", cost.sentence());
        assert_eq!((long(7.4), long(36_000.0)), ("7 s".into(), "10 h".into()));
        let elsewhere = watched(true, &[9]).cost(&[got(0, 0.5)], 0, 1.0);
        assert!(elsewhere.sentence().contains("may not use"), "{}", elsewhere.sentence());
    }

    #[test]
    fn who_sleeps_is_quiet() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let found = costs(&[vec![sleeper.id()]]);
        assert!(matches!(found[..], [Cost::Quiet { .. }]), "{found:?}");
        assert_eq!(costs(&[]), []);
        sleeper.kill().expect("is ours");
        sleeper.wait().expect("is ours");
    }

    #[test]
    fn work_that_comes_and_goes_is_counted_whole() {
        let one = |pid, parent, ticks, ended| Process { pid, parent, ticks, ended, ..Process::default() };
        let all = [one(7, 1, 5, 90), one(8, 7, 3, 0), one(9, 8, 2, 1), one(10, 1, 50, 50)];
        assert_eq!(ticks(&[7], &all), 101, "with what it has started, and with what of that has ended");
        assert_eq!(ticks(&[8, 9], &all), 6, "each once");
    }
}
