//! A host on which the truth is known, for tests of the policy.

use std::time::Duration;

use crosstalk_core::Fault;

use crate::decision::{Grant, Offers};
use crate::host::Host;
use crate::snapshot::{Probe, ProbePlace, Snapshot, Used};

/// Seconds that a probe takes from foreground work.
const IN_PLACE: f64 = 2e-4;

/// A machine on which the truth is known: foreground work with a number of threads, which background
/// work slows by a ratio while it runs.
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) offers: Offers,
    /// Foreground threads that compute, at a time.
    pub(crate) foreground: Box<dyn Fn(f64) -> f64>,
    /// How many times as long foreground work takes while background work runs.
    pub(crate) ratio: Box<dyn Fn(f64) -> f64>,
    /// Whether it is known where foreground work runs, so that probes are taken there; elsewhere they see nothing
    /// of what background work does to it.
    pub(crate) placed: Box<dyn Fn(f64) -> bool>,
    /// How much probes differ by themselves.
    pub(crate) noise: f64,
    /// Processors' worth of time that foreground work waits for one beside background work, where that takes them.
    pub(crate) waits: f64,
    /// Whether background work takes, while it runs, pages that foreground work has to fetch again.
    pub(crate) takes_memory: bool,
    /// Whether there is background work.
    pub(crate) there: bool,
    pub(crate) time: f64,
    pub(crate) seed: u64,
    granted: (Grant, bool),
    since: f64,
    /// Foreground work done, and what would have been done alone; background work done, and what could
    /// have been: all in seconds of a processor.
    pub(crate) foreground_done: [f64; 2],
    pub(crate) donated: [f64; 2],
    pub(crate) switches: usize,
}

impl Machine {
    pub(crate) fn new(cores: usize, offers: Offers) -> Self {
        let all = Grant { share: 1.0, cores };
        Machine {
            cores,
            offers,
            foreground: Box::new(|_| 0.0),
            ratio: Box::new(|_| 1.0),
            placed: Box::new(|_| true),
            noise: 0.0,
            waits: 0.0,
            takes_memory: false,
            there: true,
            time: 0.0,
            seed: 1,
            granted: (all, true),
            since: 0.0,
            foreground_done: [0.0; 2],
            donated: [0.0; 2],
            switches: 0,
        }
    }

    pub(crate) fn running(&self) -> bool {
        self.granted.1
    }

    /// A number from −1 to 1 (xorshift64, Marsaglia 2003), each as likely as any other.
    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn foreground_cpu(&self) -> f64 {
        (self.foreground)(self.time).min(self.cores as f64)
    }
}

impl Host for Machine {
    fn offers(&self) -> Offers {
        self.offers
    }

    fn cores(&self) -> usize {
        self.cores
    }

    fn sample(&mut self, probe: bool) -> Result<Snapshot, Fault> {
        let (grant, run) = self.granted;
        let interval = (self.time - self.since).max(1e-6);
        self.since = self.time;
        let placed = (self.placed)(self.time);
        let seconds = if probe && placed { IN_PLACE * self.foreground_cpu().min(1.0) } else { 0.0 };
        self.foreground_done[0] -= seconds;
        let ratio = if run && placed { (self.ratio)(self.time) } else { 1.0 };
        let noise = self.noise;
        let mut timed = |true_time: f64| true_time * (1.0 + noise * self.random());
        let probe =
            probe.then(|| Probe { compute: timed(1.0), latency: timed(ratio), bandwidth: timed(1.0) });
        let foreground_cpu = self.foreground_cpu();
        let background_cpu =
            if run { (self.cores as f64 - foreground_cpu).min(grant.cores as f64) } else { 0.0 };
        let used =
            Used { foreground: foreground_cpu * interval, background: background_cpu * interval, cost: 0.0 };
        let takes = run && self.takes_memory;
        Ok(Snapshot {
            foreground_cpu,
            background_cpu,
            used,
            foreground_wait: Some(self.waits),
            refaults: if takes { 1000.0 } else { 0.0 },
            background_taken: if takes { 1e5 } else { 0.0 },
            free_memory: if self.takes_memory { 0 } else { u64::MAX },
            probe,
            probe_place: ProbePlace { foreground: placed, on: None, seconds },
            background_there: self.there,
            ..Snapshot::quiet(self.cores, interval)
        })
    }

    fn apply(&mut self, grant: &Grant, run: bool) {
        self.switches += usize::from(run != self.granted.1);
        self.granted = (*grant, run);
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.time)
    }

    fn sleep(&mut self, time: Duration) {
        let (grant, run) = self.granted;
        let seconds = time.as_secs_f64();
        let foreground = self.foreground_cpu();
        let room = (self.cores as f64 - foreground).max(0.0);
        let ratio = if run { (self.ratio)(self.time) } else { 1.0 };
        // What foreground work waits for is missing from what it uses.
        let waited = if run { 1.0 + self.waits / foreground.max(1e-9) } else { 1.0 };
        self.foreground_done[0] += foreground * seconds / ratio / waited;
        self.foreground_done[1] += foreground * seconds;
        self.donated[0] += if run { room.min(grant.cores as f64) * seconds } else { 0.0 };
        self.donated[1] += room * seconds;
        self.time += seconds;
    }
}
