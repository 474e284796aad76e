//! What devices serve, and who waits for them, read from the kernel's files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::sense::Served;
use super::steady::Steady;
use super::tenant::Tenant;
use crate::group::reading::{pressure, served};

/// Of the time, in which devices serve so much, they are in use; and they are looked at at each look for so
/// long after.
const USED: f64 = 0.02;
const WATCHED: Duration = Duration::from_secs(1);
/// Where the kernel lists the host's devices.
const DEVICES: &str = "/sys/block";

/// The devices of this host.
#[derive(Debug)]
pub(super) struct Serving {
    stats: Option<Steady>,
    pressure: Option<Steady>,
    /// Those that are hardware: what is made of others would count twice.
    disks: Vec<String>,
    before: Option<Counted>,
    watched: Duration,
}

/// What had been counted, and when.
#[derive(Debug, Clone, Copy)]
struct Counted {
    at: Duration,
    requests: u64,
    time: Duration,
    stalled: Option<Duration>,
    external: Option<Duration>,
}

impl Serving {
    /// Nothing has been looked at yet.
    pub(super) fn new() -> Self {
        let open = |path: &str| Steady::open(Path::new(path));
        let mut serving = Serving {
            stats: open("/proc/diskstats"),
            pressure: open("/proc/pressure/io"),
            disks: Vec::new(),
            before: None,
            watched: Duration::ZERO,
        };
        serving.renew();
        serving
    }

    /// Looks for devices that have come or gone.
    pub(super) fn renew(&mut self) {
        let all = fs::read_dir(DEVICES).into_iter().flatten().flatten();
        let hardware = all.filter(|device| device.path().join("device").exists());
        self.disks = hardware.filter_map(|device| device.file_name().into_string().ok()).collect();
    }

    /// Whether they are in use, or were a moment ago.
    pub(super) fn in_use(&self, now: Duration) -> bool {
        now < self.watched
    }

    /// Begins anew: external work is another one.
    pub(super) fn rewind(&mut self) {
        self.before = None;
    }

    /// What was served since this was last asked.
    pub(super) fn look(&mut self, now: Duration, tenants: &mut [Tenant]) -> Option<Served> {
        let told =
            |file: &mut Option<Steady>| file.as_mut().and_then(|file| file.told(pressure)).map(|p| p.some);
        let stalled = told(&mut self.pressure);
        let external = tenants.iter_mut().filter_map(Tenant::device_stall).reduce(|a, b| a + b);
        let disks = &self.disks;
        let (requests, time) = self.stats.as_mut().and_then(|file| file.told(|text| served(text, disks)))?;
        let counted = Counted { at: now, requests, time, stalled, external };
        let before = self.before.replace(counted)?;
        let passed = |now: Duration, before: Duration| now.saturating_sub(before).as_secs_f64();
        let both = |now: Option<Duration>, before: Option<Duration>| Some(passed(now?, before?));
        let found = Served {
            seconds: passed(now, before.at),
            requests: requests.saturating_sub(before.requests) as f64,
            time: passed(time, before.time),
            stalled: both(stalled, before.stalled),
            external: both(external, before.external),
        };
        if found.time >= USED * found.seconds {
            self.watched = now + WATCHED;
        }
        Some(found).filter(|found| found.seconds > 0.0)
    }
}
