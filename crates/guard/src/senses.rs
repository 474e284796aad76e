//! What the guard sees of the machine, look by look: processors at each, memory, devices and waiting
//! more rarely.

use std::path::Path;
use std::time::Duration;

use crosstalk_host::clock::{process_cpu_ns, thread_cpu_ns};

use super::domain::Domain;
use super::foreground::AllCpu;
use super::place::Place;
use super::serving::{Serving, Turned};
use super::steady::Steady;
use super::tenant::{Memory, Tenant};
use super::waits::{LATELY, OwnWaits};
use crosstalk_cgroup::group::Hierarchy;
use crosstalk_cgroup::group::reading::{keyed, pages, pressure, stolen_time};
use crosstalk_cgroup::process::{Process, TICK};
use crosstalk_policy::{BUSY, MORE};
use crosstalk_policy::{Program, Sense, Served, Used};

/// Between two looks at memory, pressure, devices and waiting, and where memory is short, which goes
/// quickly: every 50 ms, of looks that come a little early, too.
const SLOW: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(40)];
/// Memory is short where so small a share of it is free, and may soon be where somebody takes more of it
/// while so small a share is.
const SHORT: f64 = 0.15;
const SOON: f64 = 0.5;
/// Between two looks for who foreground work is, while it is at work.
const CHOOSE: Duration = Duration::from_secs(3);
/// Who has joined foreground work is known when what all have used so long after has been seen.
const KNOWN: Duration = Duration::from_millis(100);

/// All that is looked at, and what it said before.
#[derive(Debug)]
pub(super) struct Senses {
    all: AllCpu,
    /// Whether the guard's own CPU time is in `all`.
    counts_this: bool,
    waits: OwnWaits,
    files: Files,
    serving: Serving,
    turned: Turned,
    waiting: Waiting,
    domain: Option<Domain>,
    counted: Counted,
    looked: Duration,
    sense: Sense,
    choice: Choice,
    slow: Duration,
    /// Memory may be short soon.
    short_soon: bool,
}

/// What tells of the whole host.
#[derive(Debug)]
struct Files {
    stat: Option<Steady>,
    vmstat: Option<Steady>,
    memory: Option<Steady>,
    meminfo: Option<Steady>,
}

/// What had been counted at the look before.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    at: Duration,
    cpu: Both<Duration>,
    /// Nanoseconds of CPU time of the whole guard, and of the thread that looks.
    cost: [u64; 2],
    stolen: Option<(Duration, Duration)>,
    slow_at: Duration,
    refaults: Both<u64>,
    swapped: u64,
    memory_stall: Both<Duration>,
}

/// What all have, and background work's part of that. One may be counted from longer ago than the other.
#[derive(Debug, Clone, Copy, Default)]
struct Both<T> {
    all: T,
    background: T,
}

impl Both<u64> {
    /// Foreground work's part of what has come since.
    fn foreground_since(self, before: Self) -> u64 {
        self.all.saturating_sub(before.all).saturating_sub(self.background.saturating_sub(before.background))
    }
}

impl Both<Duration> {
    /// The same.
    fn foreground_since(self, before: Self) -> Duration {
        self.all.saturating_sub(before.all).saturating_sub(self.background.saturating_sub(before.background))
    }
}

/// Waiting for processors while background work runs: where it runs by turns, what it costs foreground work would else
/// be the less, the less it runs; and while it stands still, foreground work waits for itself.
#[derive(Debug)]
struct Waiting {
    runs: bool,
    /// For how long background work has run, and foreground work waited meanwhile, since that was last told.
    ran: Duration,
    meanwhile: Duration,
    /// When foreground work was last read, and how long it had waited by then.
    read: Duration,
    waited: Option<Duration>,
    told: Option<f64>,
}

/// When those were chosen who are watched for waiting.
#[derive(Debug, Default)]
struct Choice {
    at: Duration,
    /// Processors that foreground work used then.
    used: f64,
    /// Other had joined it by then.
    new: bool,
}

impl Choice {
    /// Whether it is time to choose again, which then is done.
    fn is_due(&mut self, now: Duration, used: f64) -> bool {
        let passed = now.saturating_sub(self.at);
        // Foreground work that was quiet in between may be another.
        let again = used >= BUSY && passed >= LATELY;
        let new = again || used > self.used + MORE && passed >= SLOW[0];
        let known = self.new && passed >= KNOWN;
        let due = new || known || used >= BUSY && passed >= CHOOSE;
        if due {
            // What was more a moment ago is not new when it is that again.
            let used = if known { used.max(self.used) } else { used };
            *self = Choice { at: now, used, new };
        }
        due
    }
}

/// What was waited for in less time says little: a wait counts when it ends.
const RAN: Duration = Duration::from_millis(20);

impl Default for Waiting {
    fn default() -> Self {
        let none = Duration::ZERO;
        Waiting { runs: true, ran: none, meanwhile: none, read: none, waited: None, told: None }
    }
}

impl Waiting {
    /// Background work runs from now on, or stands still, and foreground work has `waited` so long by now. A probe's
    /// moment is no rest; after a rest every going on counts, since behind a trial no other may come.
    fn turn(&mut self, now: Duration, runs: bool, briefly: bool, waited: impl FnOnce() -> Option<Duration>) {
        if runs != self.runs && (runs || !briefly) {
            self.read(now, waited());
            self.runs = runs;
        }
    }

    /// Foreground work has waited so long by now, if anybody is watched.
    fn read(&mut self, now: Duration, waited: Option<Duration>) {
        match waited.zip(self.waited) {
            Some((waited, before)) if self.runs => {
                self.ran += now.saturating_sub(self.read);
                self.meanwhile += waited.saturating_sub(before);
            }
            Some(_) => {}
            None => *self = Waiting { runs: self.runs, ..Waiting::default() },
        }
        (self.read, self.waited) = (now, waited);
    }

    /// How many processors' worth of it there is while background work runs; what was told before where that
    /// has hardly run since.
    fn tell(&mut self) -> Option<f64> {
        if self.ran >= RAN {
            let (ran, waited) = (std::mem::take(&mut self.ran), std::mem::take(&mut self.meanwhile));
            self.told = Some(waited.as_secs_f64() / ran.as_secs_f64());
        }
        self.told
    }
}

impl Senses {
    /// Nothing has been looked at yet.
    pub(super) fn new(hierarchy: &Hierarchy, cores: usize) -> Self {
        let open = |path: &str| Steady::open(Path::new(path));
        let all = AllCpu::find(hierarchy);
        Senses {
            counts_this: all.has_this(hierarchy),
            all,
            waits: OwnWaits::default(),
            files: Files {
                stat: open("/proc/stat"),
                vmstat: open("/proc/vmstat"),
                memory: open("/proc/pressure/memory"),
                meminfo: open("/proc/meminfo"),
            },
            serving: Serving::new(),
            turned: Turned { at: Duration::ZERO, runs: true },
            waiting: Waiting::default(),
            domain: None,
            counted: Counted::default(),
            looked: Duration::ZERO,
            sense: Sense::quiet(cores, 0.0),
            choice: Choice::default(),
            slow: Duration::ZERO,
            short_soon: false,
        }
    }

    /// Whether the kernel tells of waiting for memory and devices.
    pub(super) fn tell_pressure(&self) -> bool {
        self.files.memory.is_some()
    }

    /// What was seen last.
    pub(super) fn sense(&self) -> Sense {
        self.sense
    }

    /// Background work runs from now on, or stands still: `briefly`, for as long as a probe takes.
    pub(super) fn turn(&mut self, now: Duration, runs: bool, briefly: bool) {
        self.waiting.turn(now, runs, briefly, || self.waits.read());
        self.turned.turn(now, runs, briefly);
    }

    /// Looks; `turns` says that background work is about to stand still, or to go on, and not only for a probe.
    pub(super) fn look(&mut self, now: Duration, turns: bool, tenants: &mut [Tenant]) {
        self.sense.interval = now.saturating_sub(self.looked).as_secs_f64().max(1e-4);
        self.looked = now;
        self.look_at_processors(now, tenants);
        let hurries = self.sense.short_memory || self.short_soon || may_kill(tenants);
        if now.saturating_sub(self.slow) >= SLOW[usize::from(hurries)] {
            self.look_at_the_rest(now, tenants);
        }
        self.sense.served = None;
        if self.serving.is_due(now, self.turned, turns) {
            self.look_at_devices(now, tenants);
        }
    }

    /// Looks at what changes slowly. `changed` says that tenants have come or gone, `there` that there
    /// is background work.
    pub(super) fn renew(&mut self, now: Duration, tenants: &mut [Tenant], changed: bool, there: bool) {
        self.look_at_the_host(now);
        self.all.renew();
        self.serving.renew(changed);
        if changed {
            self.count(now, tenants);
            self.counted.slow_at = Duration::ZERO;
        }
        self.sense.background_there = there;
        self.domain = tenants.first().and_then(|tenant| Domain::of(tenant.group()));
    }

    /// Whether it is time to choose whom of foreground work to watch for waiting.
    pub(super) fn has_to_choose(&mut self, now: Duration) -> bool {
        self.sense.background_there && self.choice.is_due(now, self.sense.foreground_cpu)
    }

    /// Chooses of these.
    pub(super) fn choose(&mut self, now: Duration, foreground: &[Process]) {
        self.waits.choose(now, foreground);
        self.waiting.read(now, self.waits.read());
    }

    /// The programs of foreground work that use most, as far as that was looked at lately.
    pub(super) fn largest(&self) -> &[Program] {
        let lately = self.looked.saturating_sub(self.choice.at);
        if lately < LATELY { self.waits.largest() } else { &[] }
    }

    /// Where foreground work runs.
    pub(super) fn place(&mut self) -> &mut Place {
        self.waits.place()
    }

    /// Begins to count processors' time anew.
    pub(super) fn count(&mut self, now: Duration, tenants: &mut [Tenant]) {
        let background = tenants.iter_mut().map(Tenant::cpu).sum();
        self.counted.cpu = Both { all: self.all.read().unwrap_or_default(), background };
        self.counted.cost = [process_cpu_ns(), thread_cpu_ns()];
        self.counted.at = now;
    }

    /// What was used since the look before, if that is long enough ago to tell.
    fn look_at_processors(&mut self, now: Duration, tenants: &mut [Tenant]) {
        let before = self.counted;
        (self.sense.used, self.sense.covers) = (Used::default(), 0.0);
        if now.saturating_sub(before.at) < self.all.resolution() {
            return;
        }
        self.count(now, tenants);
        let seconds = self.counted.at.saturating_sub(before.at).as_secs_f64();
        let cost = |which: usize| self.counted.cost[which].saturating_sub(before.cost[which]) as f64 * 1e-9;
        let (cost, looking) = (cost(0), cost(1));
        let this = if self.counts_this { cost } else { 0.0 };
        let background = self.counted.cpu.background.saturating_sub(before.cpu.background).as_secs_f64();
        let foreground = (self.counted.cpu.foreground_since(before.cpu).as_secs_f64() - this).max(0.0);
        let used = Used { foreground, background, cost };
        let cores = self.sense.cores as f64;
        (self.sense.cost, self.sense.looking) = (cost / seconds, looking / seconds);
        self.sense.background_cpu = (used.background / seconds).min(cores);
        // It has begun in a group that was empty when that was last looked into.
        self.sense.background_there |= used.background > 0.0;
        self.sense.foreground_cpu = (used.foreground / seconds).min(cores);
        (self.sense.used, self.sense.covers) = (used, seconds);
    }

    /// What other machines take, which changes slowly, and costs more to read the more processors
    /// there are.
    fn look_at_the_host(&mut self, now: Duration) {
        let stolen = self.files.stat.as_mut().and_then(|file| file.told(|text| stolen_time(text, TICK)));
        if let (Some(stolen), Some((at, before))) = (stolen, self.counted.stolen) {
            let passed = now.saturating_sub(at).as_secs_f64().max(1e-3);
            self.sense.stolen = stolen.saturating_sub(before).as_secs_f64() / passed;
        }
        self.counted.stolen = stolen.map(|stolen| (now, stolen));
    }

    /// Devices, and who waits for them.
    fn look_at_devices(&mut self, now: Duration, tenants: &mut [Tenant]) {
        self.sense.served = self.serving.look(now, self.turned, tenants);
        let foreground =
            |served: Served| (served.waits() - served.background_waits().unwrap_or(0.0)).max(0.0);
        self.sense.io_stall = self.sense.served.map_or(0.0, foreground);
    }

    /// Memory and waiting for processors, which are looked at more rarely.
    fn look_at_the_rest(&mut self, now: Duration, tenants: &mut [Tenant]) {
        let free = self.files.meminfo.as_mut().and_then(|file| file.told(|text| keyed(text, "SwapFree")));
        let swap = free.unwrap_or(0) << 10;
        let mut memory = Memory::default();
        let mut waited = Duration::ZERO;
        for tenant in tenants.iter_mut() {
            let one = tenant.memory(swap);
            memory.has += one.has;
            memory.floor.kept = memory.floor.kept.saturating_add(one.floor.kept);
            memory.floor.left = memory.floor.left.saturating_add(one.floor.left);
            memory.refaults += one.refaults;
            memory.swapped += one.swapped;
            waited += tenant.memory_stall();
        }
        self.sense.held_hard = may_kill(tenants);
        let host = self.files.vmstat.as_mut().and_then(|file| file.told(|text| Some(pages(text).refaults)));
        let all = self.files.memory.as_mut().and_then(|file| file.told(pressure)).unwrap_or_default().some;
        // Somebody waited for at least as long as both did, less background work's part.
        let stall = Both { all, background: waited };
        let refaults = Both { all: host.unwrap_or(memory.refaults), background: memory.refaults };
        let seconds = now.saturating_sub(self.counted.slow_at).as_secs_f64();
        if self.counted.slow_at > Duration::ZERO && seconds > 0.0 {
            let stalled = stall.foreground_since(self.counted.memory_stall).as_secs_f64();
            self.sense.memory_stall = (stalled / seconds).min(1.0);
            self.sense.refaults = refaults.foreground_since(self.counted.refaults) as f64 / seconds;
            let swapped = memory.swapped.saturating_sub(self.counted.swapped);
            self.sense.background_swapping = swapped as f64 / seconds;
            let theirs = refaults.background.saturating_sub(self.counted.refaults.background);
            self.sense.background_refaults = theirs as f64 / seconds;
        }
        self.short_soon = false;
        let swells = memory.has > self.sense.background_memory;
        self.sense.background_memory = memory.has;
        (self.sense.background_kept, self.sense.background_floor) = (memory.floor.kept, memory.floor.left);
        self.counted.swapped = memory.swapped;
        if let Some([used, available, all]) = self.domain.as_mut().and_then(Domain::look) {
            let before = self.sense.foreground_memory;
            self.sense.foreground_memory = used.0.saturating_sub(memory.has);
            self.sense.free_memory = all.0.saturating_sub(used.0);
            self.sense.all_memory = all.0;
            let grows = swells || self.sense.foreground_memory > before;
            self.short_soon = grows && (self.sense.free_memory as f64) < SOON * all.0 as f64;
            self.sense.short_memory = (available.0 as f64) < SHORT * all.0 as f64;
        }
        self.waiting.read(now, self.waits.read());
        self.sense.foreground_wait = self.waiting.tell();
        (self.counted.slow_at, self.counted.refaults, self.counted.memory_stall) = (now, refaults, stall);
        self.slow = now;
    }
}

/// Whether a limit may have somebody killed for want of memory.
fn may_kill(tenants: &[Tenant]) -> bool {
    tenants.iter().any(Tenant::is_held_hard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_background_work_costs_by_waiting_is_the_same_however_little_it_runs() {
        for (run, still) in [(250, 0), (100, 150), (30, 240), (8, 492)] {
            let (mut waiting, mut now, mut waited) =
                (Waiting::default(), Duration::ZERO, Duration::from_secs(7));
            let (run, still) = (Duration::from_millis(run), Duration::from_millis(still));
            waiting.read(now, Some(waited));
            assert_eq!(waiting.tell(), None, "nothing is known yet");
            for _ in 0..5 {
                (now, waited) = (now + run, waited + run / 5);
                waiting.read(now, Some(waited));
                waiting.runs = false;
                // While background work stands still, foreground work waits for itself.
                (now, waited) = (now + still, waited + still / 3);
                waiting.read(now, Some(waited));
                waiting.runs = true;
                let told = waiting.tell();
                assert!(told.is_none_or(|told| (told - 0.2).abs() < 1e-6), "{told:?}");
            }
            assert!(waiting.tell().is_some(), "it is known by now");
            waiting.read(now, None);
            assert_eq!(waiting.tell(), None, "nobody is watched");
        }
    }

    #[test]
    fn waiting_is_told_again_after_a_rest() {
        let at = Duration::from_millis;
        let mut waiting = Waiting::default();
        waiting.read(at(0), Some(at(0)));
        // A trial, after which background work always runs, but for probes.
        for (now, runs, briefly) in
            [(100, false, false), (400, true, true), (500, false, true), (504, true, true)]
        {
            waiting.turn(at(now), runs, briefly, || Some(at(0)));
        }
        assert_eq!(waiting.tell(), Some(0.0));
        waiting.read(at(600), Some(at(100)));
        assert_eq!(waiting.tell(), Some(0.5), "of the 200 ms since the trial");
    }

    #[test]
    fn who_is_watched_is_chosen_when_other_joins_and_once_that_is_known() {
        let mut choice = Choice::default();
        let mut chosen = |from: u64, to: u64, used: &dyn Fn(u64) -> f64| -> Vec<u64> {
            let looks = (from..to).step_by(50);
            looks.filter(|at| choice.is_due(Duration::from_millis(*at), used(*at))).collect()
        };
        assert!(chosen(1000, 5000, &|_| 0.0).is_empty(), "it is quiet");
        assert_eq!(chosen(5000, 9000, &|_| 1.0), [5000, 5100, 8100]);
        assert!(chosen(9000, 15_000, &|_| 0.0).is_empty(), "it is quiet again");
        assert_eq!(chosen(15_000, 19_000, &|_| 1.0), [15_000, 15_100, 18_100], "this may be another");
        let swings = |at: u64| if at % 400 < 200 { 1.6 } else { 0.4 };
        let often = chosen(19_000, 40_000, &swings).len();
        assert!(often <= 21, "{often} in 21 s: it is the same all the time");
    }

    #[test]
    fn foreground_work_is_seen_whatever_background_work_had_used_before() {
        let before = Both { all: Duration::ZERO, background: Duration::from_secs(86_400) };
        let now = Both { all: Duration::from_secs(5), background: Duration::from_secs(86_402) };
        assert_eq!(now.foreground_since(before), Duration::from_secs(3));
        let read_later = Both { all: Duration::from_secs(1), background: Duration::from_secs(86_402) };
        assert_eq!(read_later.foreground_since(before), Duration::ZERO);
    }
}
