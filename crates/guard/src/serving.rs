//! What devices serve, and who waits for them, read from the kernel's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::guarded_group::GuardedGroup;
use super::phase::Phase;
use super::steady::Steady;
use crosstalk_cgroup::group::reading::{pressure, served};
use crosstalk_policy::{BEGINS, Requests, SETTLE, Served};

/// Time between two readings. More would lose what is sought: each has the kernel add up
/// processors' waiting anew, and drop that of one on which less than a tick happened (`collect_percpu_times` in
/// `kernel/sched/psi.c`).
const EVERY: Duration = Duration::from_millis(250);
/// Where the kernel lists the host's disks.
const DISKS: &str = "/sys/block";

/// The devices of this host.
#[derive(Debug)]
pub(super) struct Serving {
    stats: Option<Steady>,
    pressure: Option<Steady>,
    /// The disks whose requests count, and the slot of each.
    disks: BTreeMap<String, usize>,
    before: Option<Counted>,
    /// Whether background work waited for devices when that was last read.
    wanted: bool,
}

/// Of each kind how many requests, and how many milliseconds.
type Counters = [(u64, u64); Requests::KINDS];

/// What had been counted, and when.
#[derive(Debug, Clone, Copy)]
struct Counted {
    at: Duration,
    waited: Duration,
    background: Option<Duration>,
    requests: Option<Counters>,
}

impl Serving {
    /// Nothing has been read yet.
    pub(super) fn new() -> Self {
        let open = |path: &str| Steady::open(Path::new(path));
        Serving {
            stats: open("/proc/diskstats"),
            pressure: open("/proc/pressure/io"),
            disks: BTreeMap::new(),
            before: None,
            wanted: false,
        }
    }

    /// Looks for disks that have come or gone; `anew` where background work has.
    pub(super) fn renew(&mut self, anew: bool) {
        let all = fs::read_dir(DISKS).into_iter().flatten().flatten();
        let meant = all.filter(|disk| is_meant(&disk.path()));
        let mut names: Vec<String> = meant.filter_map(|disk| disk.file_name().into_string().ok()).collect();
        names.sort_unstable();
        if anew || !self.disks.keys().eq(&names) {
            self.before = None;
        }
        self.disks = names.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
    }

    /// Whether it is time to read. `ends` says that the phase is about to end. What is seen while it does either begins once what went before is over, and
    /// ends with that; while it runs that says something only where it wants anything of devices.
    pub(super) fn is_due(&self, now: Duration, phase: Phase, ends: bool) -> bool {
        let Some(before) = self.before else { return true };
        let settled = phase.since + if phase.runs { BEGINS } else { SETTLE };
        let apart = now >= settled && (self.wanted || !phase.runs);
        apart && (ends || before.at < settled) || now.saturating_sub(before.at) >= EVERY
    }

    /// What was served since this was last read; `None` where the kernel does not account for waiting.
    pub(super) fn read(
        &mut self,
        now: Duration,
        phase: Phase,
        groups: &mut [GuardedGroup],
    ) -> Option<Served> {
        let waited = self.pressure.as_mut()?.parsed(pressure)?;
        let background: Option<Duration> = groups.iter_mut().map(|group| group.usage.device_stall()).sum();
        let stats = self.stats.as_mut();
        let requests = stats.and_then(|file| file.parsed(|text| Some(served(text, &self.disks))));
        let counted = Counted { at: now, waited, background, requests };
        let before = self.before.replace(counted)?;
        let found = Served {
            seconds: now.saturating_sub(before.at).as_secs_f64(),
            waited: waited.saturating_sub(before.waited).as_secs_f64(),
            background: background
                .zip(before.background)
                .map(|(now, before)| now.saturating_sub(before).as_secs_f64()),
            requests: requests.zip(before.requests).map(since).unwrap_or_default(),
        };
        self.learn(before.at, phase, found.background.is_some_and(|waited| waited > 0.0));
        Some(found).filter(|found| found.seconds > 0.0)
    }

    /// Learns whether background work `waited` for devices since then. That it does not, only readings show
    /// between which it ran: while it is paused it waits for nothing.
    fn learn(&mut self, since: Duration, phase: Phase, waited: bool) {
        let ran = phase.runs && since >= phase.since;
        self.wanted = waited || self.wanted && !ran;
    }
}

/// What has come of requests since they were counted before.
fn since((now, before): (Counters, Counters)) -> Requests {
    let mut all = Requests::default();
    for ((one, now), before) in all.0.iter_mut().zip(now).zip(before) {
        *one = (now.0.saturating_sub(before.0) as f64, now.1.saturating_sub(before.1) as f64 * 1e-3);
    }
    all
}

/// Whether requests to this disk show what foreground work loses: those of hardware (what is made of others would
/// count twice) whose queue has no scheduler that lets the others wait by their weight.
fn is_meant(disk: &Path) -> bool {
    let weighs = || fs::read_to_string(disk.join("queue/scheduler")).is_ok_and(|text| text.contains("[bfq]"));
    disk.join("device").exists() && !weighs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_rarely_and_at_both_ends_of_a_pause() {
        let at = Duration::from_millis;
        let mut serving = Serving::new();
        let runs = Phase { since: at(0), runs: true };
        assert!(serving.is_due(at(0), runs, false), "the first");
        let counted = |millis| Counted { at: at(millis), waited: at(0), background: None, requests: None };
        serving.before = Some(counted(100));
        assert!(!serving.is_due(at(340), runs, true) && serving.is_due(at(350), runs, false));
        // It is paused from 200 ms on.
        let paused = Phase { since: at(200), runs: false };
        assert!(!serving.is_due(at(220), paused, true), "what it had begun goes on");
        assert!(serving.is_due(at(240), paused, false));
        serving.before = Some(counted(240));
        assert!(!serving.is_due(at(300), paused, false) && serving.is_due(at(300), paused, true));
        assert!(serving.is_due(at(490), paused, false));
    }

    #[test]
    fn what_is_served_in_a_duty_cycle_is_seen_where_background_work_wants_devices() {
        let at = Duration::from_millis;
        for (runs, paused, waits) in [(130, 70, true), (60, 140, true), (130, 70, false)] {
            let mut serving = Serving { wanted: !waits, ..Serving::new() };
            let mut phase = Phase { since: at(0), runs: true };
            let (mut now, mut seen, mut reads, mut before, mut ran) = (0, 0, 0, 0, false);
            for turn in 0..40 {
                let end = now + if phase.runs { runs } else { paused };
                while now < end {
                    now = (now + 20).min(end);
                    ran |= phase.runs;
                    if serving.is_due(at(now), phase, now == end) {
                        let within = phase.runs && at(before) >= phase.since + BEGINS;
                        seen += if within { now - before } else { 0 };
                        serving.learn(at(before), phase, waits && ran);
                        (before, reads, ran) = (now, reads + 1, false);
                        serving.before =
                            Some(Counted { at: at(now), waited: at(0), background: None, requests: None });
                    }
                }
                phase = Phase { since: at(now), runs: turn % 2 == 1 };
            }
            assert_eq!(seen > 20 * runs / 2, waits, "{seen} of {} ms in {reads} readings", 20 * runs);
            assert!(reads <= 80, "{reads} readings in 40 switches");
        }
    }
}
