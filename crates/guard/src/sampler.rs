//! What the guard reads of the host for a [`Snapshot`]: processors each time, memory, devices and waiting more rarely.

use std::path::Path;
use std::time::Duration;

use crosstalk_host::clock::{process_cpu_ns, thread_cpu_ns};

use super::foreground::AllCpu;
use super::guarded_group::GuardedGroup;
use super::memory_pool::{MemoryPool, PoolReading};
use super::phase::Phase;
use super::place::Place;
use super::serving::Serving;
use super::steady::Steady;
use super::threads::{BusiestThreads, LATELY};
use super::waiting::{Choice, Waiting};
use crosstalk_cgroup::group::Hierarchy;
use crosstalk_cgroup::group::reading::{pages, pressure, stolen_time};
use crosstalk_cgroup::process::{Process, TICK};
use crosstalk_policy::{Program, Served, Snapshot, Used};

/// Time between two readings of memory, pressure and waiting; and where memory may be short soon, since that goes
/// quickly: every 50 ms, with snapshots that come a little early.
const SLOW: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(40)];
/// Memory may be short soon where somebody takes more of it while less than this share is free.
const SOON: f64 = 0.5;

/// The files that are read, and what they said before.
#[derive(Debug)]
pub(super) struct Sampler {
    all: AllCpu,
    /// Whether the guard's own CPU time is in `all`.
    counts_this: bool,
    threads: BusiestThreads,
    files: Files,
    serving: Serving,
    phase: Phase,
    waiting: Waiting,
    pools: Vec<MemoryPool>,
    counted: Counted,
    sampled: Duration,
    snapshot: Snapshot,
    choice: Choice,
    slow: Duration,
    /// Memory may be short soon.
    short_soon: bool,
    /// CPU time of background work so far.
    background_cpu: Duration,
}

/// Those about the whole host.
#[derive(Debug)]
struct Files {
    stat: Option<Steady>,
    vmstat: Option<Steady>,
    memory: Option<Steady>,
}

/// What had been counted at the snapshot before.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    at: Duration,
    /// Nanoseconds.
    cpu: Both,
    /// Nanoseconds of CPU time of the whole guard, and of the thread that samples.
    cost: [u64; 2],
    stolen: Option<(Duration, Duration)>,
    slow_at: Duration,
    refaults: Both,
    taken: u64,
    /// Nanoseconds.
    memory_stall: Both,
}

/// What all have used of something, and background work's part of that. One may be counted from longer ago than the
/// other.
#[derive(Debug, Clone, Copy, Default)]
struct Both {
    all: u64,
    background: u64,
}

impl Both {
    /// Foreground work's part of what has come since.
    fn foreground_since(self, before: Self) -> f64 {
        let background = self.background.saturating_sub(before.background);
        self.all.saturating_sub(before.all).saturating_sub(background) as f64
    }

    fn times(all: Duration, background: Duration) -> Self {
        Both { all: all.as_nanos() as u64, background: background.as_nanos() as u64 }
    }
}

impl Sampler {
    /// Nothing has been read yet.
    pub(super) fn new(hierarchy: &Hierarchy, cores: usize) -> Self {
        let open = |path: &str| Steady::open(Path::new(path));
        let all = AllCpu::find(hierarchy);
        Sampler {
            counts_this: all.has_this(hierarchy),
            all,
            threads: BusiestThreads::default(),
            files: Files {
                stat: open("/proc/stat"),
                vmstat: open("/proc/vmstat"),
                memory: open("/proc/pressure/memory"),
            },
            serving: Serving::new(),
            phase: Phase { since: Duration::ZERO, runs: true },
            waiting: Waiting::default(),
            pools: Vec::new(),
            counted: Counted::default(),
            sampled: Duration::ZERO,
            snapshot: Snapshot::quiet(cores, 0.0),
            choice: Choice::default(),
            slow: Duration::ZERO,
            short_soon: false,
            background_cpu: Duration::ZERO,
        }
    }

    /// Whether the kernel accounts for waiting for memory and devices.
    pub(super) fn has_pressure(&self) -> bool {
        self.files.memory.is_some()
    }

    /// The last snapshot.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Background work runs from now on, or is paused: `briefly`, for as long as a probe takes.
    pub(super) fn switch(&mut self, now: Duration, runs: bool, briefly: bool) {
        if self.phase.ends(runs, briefly) {
            self.waiting.read(now, self.threads.read(), self.phase.runs);
            self.phase = Phase { since: now, runs };
        }
    }

    /// Takes a snapshot; `ends` says that background work is about to be paused, or to resume, and not only for a probe.
    pub(super) fn sample(&mut self, now: Duration, ends: bool, groups: &mut [GuardedGroup]) {
        self.snapshot.foreground_growth = 0;
        self.snapshot.interval = now.saturating_sub(self.sampled).as_secs_f64().max(1e-4);
        self.sampled = now;
        self.read_processors(now, groups);
        if now.saturating_sub(self.slow) >= SLOW[usize::from(self.short_soon)] {
            self.read_memory(now, groups);
            self.waiting.read(now, self.threads.read(), self.phase.runs);
            self.snapshot.foreground_wait = self.waiting.share();
            self.slow = now;
        }
        self.snapshot.served = None;
        if self.serving.is_due(now, self.phase, ends) {
            self.read_devices(now, groups);
        }
    }

    /// Reads what changes slowly. `changed`: groups have come or gone. `there`: there is background work.
    pub(super) fn renew(&mut self, now: Duration, groups: &mut [GuardedGroup], changed: bool, there: bool) {
        self.read_stolen(now);
        self.all.renew();
        self.serving.renew(changed);
        if changed {
            self.count(now, groups);
            self.counted.slow_at = Duration::ZERO;
            // What others have taken says nothing of those that are there now.
            self.snapshot.background_taken = 0.0;
        }
        self.snapshot.background_there = there;
        // What was of a group that has come or gone is no growth of foreground work.
        let known = if changed { Vec::new() } else { std::mem::take(&mut self.pools) };
        self.pools = MemoryPool::all(groups.iter().map(GuardedGroup::group), known);
    }

    /// Whether it is time to choose whom of foreground work to watch for waiting.
    pub(super) fn has_to_choose(&mut self, now: Duration) -> bool {
        self.snapshot.background_there && self.choice.is_due(now, self.snapshot.foreground_cpu)
    }

    /// Chooses of these.
    pub(super) fn choose(&mut self, now: Duration, foreground: &[Process]) {
        self.threads.choose(now, foreground);
        self.waiting.read(now, self.threads.read(), self.phase.runs);
    }

    /// The programs of foreground work that used most lately, as far as that is known.
    pub(super) fn largest(&self) -> &[Program] {
        let lately = self.sampled.saturating_sub(self.choice.at());
        if lately < LATELY { self.threads.largest() } else { &[] }
    }

    /// Of the threads of foreground work that use most, those that sleep, with their processes: each once until it runs
    /// again.
    pub(super) fn asleep(&mut self) -> Vec<(u32, u32)> {
        self.threads.asleep()
    }

    /// Where foreground work runs.
    pub(super) fn place(&mut self) -> &mut Place {
        self.threads.place()
    }

    /// CPU time that background work has used while it was counted, whichever groups that was.
    pub(super) fn background_cpu(&self) -> Duration {
        self.background_cpu
    }

    /// Begins to count processors' time anew.
    pub(super) fn count(&mut self, now: Duration, groups: &mut [GuardedGroup]) {
        let background = groups.iter_mut().map(|group| group.usage.cpu()).sum();
        self.counted.cpu = Both::times(self.all.read().unwrap_or_default(), background);
        self.counted.cost = [process_cpu_ns(), thread_cpu_ns()];
        self.counted.at = now;
    }

    /// What was used since the snapshot before, if that is long enough ago to count.
    fn read_processors(&mut self, now: Duration, groups: &mut [GuardedGroup]) {
        let before = self.counted;
        (self.snapshot.used, self.snapshot.covers) = (Used::default(), 0.0);
        if now.saturating_sub(before.at) < self.all.resolution() {
            return;
        }
        self.count(now, groups);
        let seconds = self.counted.at.saturating_sub(before.at).as_secs_f64();
        let cost = |which: usize| self.counted.cost[which].saturating_sub(before.cost[which]) as f64 * 1e-9;
        let (cost, sampling) = (cost(0), cost(1));
        let this = if self.counts_this { cost } else { 0.0 };
        let background = self.counted.cpu.background.saturating_sub(before.cpu.background);
        self.background_cpu += Duration::from_nanos(background);
        let background = background as f64 * 1e-9;
        let foreground = (self.counted.cpu.foreground_since(before.cpu) * 1e-9 - this).max(0.0);
        let used = Used { foreground, background, cost };
        let cores = self.snapshot.cores as f64;
        (self.snapshot.cost, self.snapshot.sampling) = (cost / seconds, sampling / seconds);
        self.snapshot.background_cpu = (used.background / seconds).min(cores);
        // It has begun in a group that was empty when that was last read.
        self.snapshot.background_there |= used.background > 0.0;
        self.snapshot.foreground_cpu = (used.foreground / seconds).min(cores);
        (self.snapshot.used, self.snapshot.covers) = (used, seconds);
    }

    /// What other machines take, which changes slowly, and costs more to read the more processors
    /// there are.
    fn read_stolen(&mut self, now: Duration) {
        let stolen = self.files.stat.as_mut().and_then(|file| file.parsed(|text| stolen_time(text, TICK)));
        if let (Some(stolen), Some((at, before))) = (stolen, self.counted.stolen) {
            let passed = now.saturating_sub(at).as_secs_f64().max(1e-3);
            self.snapshot.stolen = stolen.saturating_sub(before).as_secs_f64() / passed;
        }
        self.counted.stolen = stolen.map(|stolen| (now, stolen));
    }

    /// Devices, and who waits for them.
    fn read_devices(&mut self, now: Duration, groups: &mut [GuardedGroup]) {
        self.snapshot.served = self.serving.read(now, self.phase, groups);
        let foreground =
            |served: Served| (served.waits() - served.background_waits().unwrap_or(0.0)).max(0.0);
        self.snapshot.io_stall = self.snapshot.served.map_or(0.0, foreground);
    }

    /// Memory, and who waits for it.
    fn read_memory(&mut self, now: Duration, groups: &mut [GuardedGroup]) {
        let (mut bytes, mut refaults, mut taken, mut waited) = (Vec::new(), 0, 0, Duration::ZERO);
        for group in groups.iter_mut() {
            let memory = group.usage.memory();
            bytes.push(memory.bytes);
            refaults += memory.refaults;
            taken += memory.taken;
            waited += group.usage.memory_stall();
        }
        let host = self.files.vmstat.as_mut().and_then(|file| file.parsed(|text| Some(pages(text).refaults)));
        let all = self.files.memory.as_mut().and_then(|file| file.parsed(pressure)).unwrap_or_default();
        // Somebody waited for at least as long as both did, less background work's part.
        let stall = Both::times(all, waited);
        let refaults = Both { all: host.unwrap_or(refaults), background: refaults };
        let seconds = now.saturating_sub(self.counted.slow_at).as_secs_f64();
        if self.counted.slow_at > Duration::ZERO && seconds > 0.0 {
            let stalled = stall.foreground_since(self.counted.memory_stall) * 1e-9;
            self.snapshot.memory_stall = (stalled / seconds).min(1.0);
            self.snapshot.refaults = refaults.foreground_since(self.counted.refaults) / seconds;
            self.snapshot.background_taken = taken.saturating_sub(self.counted.taken) as f64 / seconds;
        }
        let background: u64 = bytes.iter().sum();
        let grew = background > std::mem::replace(&mut self.snapshot.background_memory, background);
        let groups = groups.iter().map(GuardedGroup::group).zip(bytes);
        let PoolReading { growth, free, all } = PoolReading::shortest(&mut self.pools, groups);
        self.snapshot.foreground_growth = growth;
        (self.snapshot.free_memory, self.snapshot.all_memory) = (free, all);
        let scarce = (self.snapshot.free_memory as f64) < SOON * self.snapshot.all_memory as f64;
        let grows = grew || self.snapshot.foreground_growth > 0;
        self.short_soon = scarce && (grows || self.snapshot.refaults > 0.0);
        (self.counted.slow_at, self.counted.refaults, self.counted.memory_stall) = (now, refaults, stall);
        self.counted.taken = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreground_work_is_seen_whatever_background_work_had_used_before() {
        let before = Both { all: 0, background: 86_400 };
        assert_eq!(Both { all: 5, background: 86_402 }.foreground_since(before), 3.0);
        assert_eq!(Both { all: 1, background: 86_402 }.foreground_since(before), 0.0, "read later");
    }
}
