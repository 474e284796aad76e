//! What devices serve, and who waits for them, read from the kernel's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::sense::{Requests, Served};
use super::steady::Steady;
use super::tenant::Tenant;
use crate::group::reading::{pressure, served};

/// Devices are in use where somebody waits for them for so much of the time, and are looked at closely for
/// so long after.
const IN_USE: f64 = 0.02;
const CLOSELY: Duration = Duration::from_secs(1);
/// Where the kernel lists the host's disks.
const DISKS: &str = "/sys/block";

/// The devices of this host.
#[derive(Debug)]
pub(super) struct Serving {
    stats: Option<Steady>,
    pressure: Option<Steady>,
    /// The disks whose requests are looked at, and where each stands.
    disks: BTreeMap<String, usize>,
    before: Option<Counted>,
    close: Duration,
}

/// Of each kind how many requests, and how many milliseconds.
type Counters = [(u64, u64); Requests::KINDS];

/// What had been counted, and when.
#[derive(Debug, Clone, Copy)]
struct Counted {
    at: Duration,
    waited: Duration,
    external: Option<Duration>,
    requests: Option<Counters>,
}

impl Serving {
    /// Nothing has been looked at yet.
    pub(super) fn new() -> Self {
        let open = |path: &str| Steady::open(Path::new(path));
        Serving {
            stats: open("/proc/diskstats"),
            pressure: open("/proc/pressure/io"),
            disks: BTreeMap::new(),
            before: None,
            close: Duration::ZERO,
        }
    }

    /// Looks for disks that have come or gone; `anew` where external work has.
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

    /// Whether devices are in use, or were a moment ago.
    pub(super) fn in_use(&self, now: Duration) -> bool {
        now < self.close
    }

    /// What was served since this was last asked; `None` where nothing tells that anybody waits.
    pub(super) fn look(&mut self, now: Duration, tenants: &mut [Tenant]) -> Option<Served> {
        let waited = self.pressure.as_mut()?.told(pressure)?.some;
        let external: Option<Duration> = tenants.iter_mut().map(Tenant::device_stall).sum();
        let stats = self.stats.as_mut().filter(|_| now < self.close);
        let requests = stats.and_then(|file| file.told(|text| Some(served(text, &self.disks))));
        let counted = Counted { at: now, waited, external, requests };
        let before = self.before.replace(counted)?;
        let found = Served {
            seconds: now.saturating_sub(before.at).as_secs_f64(),
            waited: waited.saturating_sub(before.waited).as_secs_f64(),
            external: external
                .zip(before.external)
                .map(|(now, before)| now.saturating_sub(before).as_secs_f64()),
            requests: requests.zip(before.requests).map(since).unwrap_or_default(),
        };
        if found.waits() >= IN_USE {
            self.close = now + CLOSELY;
        }
        Some(found).filter(|found| found.seconds > 0.0)
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

/// Whether requests to this disk tell what own work loses: those of hardware (what is made of others would
/// count twice) whose queue has no scheduler that lets the others wait by their weight.
fn is_meant(disk: &Path) -> bool {
    let weighs = || fs::read_to_string(disk.join("queue/scheduler")).is_ok_and(|text| text.contains("[bfq]"));
    disk.join("device").exists() && !weighs()
}
