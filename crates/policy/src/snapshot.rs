//! What the guard sees in one snapshot: numbers only, so that what follows from them can be tested
//! without a machine.

/// A snapshot, over the time since the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// Seconds since the one before.
    pub interval: f64,
    /// Processors of this host.
    pub cores: usize,
    /// Seconds that `used` and the processors cover; 0 where this snapshot came too soon to count them anew.
    pub covers: f64,
    /// Processors that foreground work used, on average.
    pub foreground_cpu: f64,
    /// Processors that background work used.
    pub background_cpu: f64,
    /// Processors' worth of time that other machines on the same hardware took from this one
    /// (proc_stat(5)'s "steal"): nobody here can have it.
    pub stolen: f64,
    /// Processors' worth of time that foreground work waited for one, of the time that background work ran, where
    /// that is watched.
    pub foreground_wait: Option<f64>,
    /// The least share of the time that foreground work waited for memory to be freed or fetched.
    pub memory_stall: f64,
    /// The least share of the time that foreground work waited for devices.
    pub io_stall: f64,
    /// What devices have served since they were last read; `None` where they were not read, or where the kernel
    /// does not account for waiting.
    pub served: Option<Served>,
    /// Pages a second that foreground work had to fetch again because they had been pushed out.
    pub refaults: f64,
    /// Bytes that foreground work has come to have since memory was last read, where background work's is from; 0
    /// where it was not read.
    pub foreground_growth: u64,
    /// Bytes that nobody has there.
    pub free_memory: u64,
    /// Bytes that there are.
    pub all_memory: u64,
    /// Bytes of memory that background work has.
    pub background_memory: u64,
    /// Pages a second that background work has taken: new ones, and those that it fetched again.
    pub background_taken: f64,
    /// Whether there is any background work.
    pub background_there: bool,
    /// Whether some of background work runs though it is to be paused: it was sent a signal to end, or foreground work
    /// waits for it.
    pub released: bool,
    /// By how much later than asked the guard itself woke up, in seconds.
    pub lateness: f64,
    /// The guard's own cost, in processors.
    pub cost: f64,
    /// What of that sampling took: the rest is for what it does.
    pub sampling: f64,
    /// What was used since this was last counted: one snapshot may come too soon to count it.
    pub used: Used,
    /// What the probe took at the end of it, if it was asked for.
    pub probe: Option<Probe>,
    /// Where that was, or would have been.
    pub probe_place: ProbePlace,
}

impl Snapshot {
    /// One of a host with so many processors on which nothing happens.
    pub fn quiet(cores: usize, interval: f64) -> Self {
        Snapshot {
            interval,
            cores,
            covers: interval,
            foreground_cpu: 0.0,
            background_cpu: 0.0,
            stolen: 0.0,
            foreground_wait: None,
            memory_stall: 0.0,
            io_stall: 0.0,
            served: None,
            refaults: 0.0,
            foreground_growth: 0,
            free_memory: u64::MAX,
            all_memory: 4 << 30,
            background_memory: 0,
            background_taken: 0.0,
            background_there: true,
            released: false,
            lateness: 0.0,
            cost: 0.0,
            sampling: 0.0,
            used: Used::default(),
            probe: None,
            probe_place: ProbePlace { foreground: true, ..ProbePlace::default() },
        }
    }

    /// Processors that foreground work, the guard and other machines leave.
    pub fn room(&self) -> f64 {
        (self.cores as f64 - self.foreground_cpu - self.cost - self.stolen).max(0.0)
    }
}

/// Where the guard stands for a probe.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProbePlace {
    /// In foreground work's place: where that runs is known.
    pub foreground: bool,
    /// The processor, where it was held on one.
    pub on: Option<usize>,
    /// For how many seconds it was in foreground work's place.
    pub seconds: f64,
}

/// CPU time that was used, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// By foreground work.
    pub foreground: f64,
    /// By background work.
    pub background: f64,
    /// By the guard itself.
    pub cost: f64,
}

/// What devices have served, and how long that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// Seconds that it covers.
    pub seconds: f64,
    /// Seconds for which somebody waited for a device.
    pub waited: f64,
    /// Seconds for which some of background work did, where that is counted.
    pub background: Option<f64>,
    /// The requests, of all work.
    pub requests: Requests,
}

impl Served {
    /// Share of the time for which somebody waited.
    pub fn waits(&self) -> f64 {
        (self.waited / self.seconds.max(1e-9)).min(1.0)
    }

    /// Takes another in.
    pub fn add(&mut self, other: &Served) {
        self.seconds += other.seconds;
        self.waited += other.waited;
        self.background = other.background.map(|more| self.background.unwrap_or(0.0) + more);
        self.requests.add(&other.requests);
    }

    /// Keeps this part of it.
    pub fn fade(&mut self, part: f64) {
        self.seconds *= part;
        self.waited *= part;
        self.background = self.background.map(|waited| waited * part);
        self.requests.fade(part);
    }

    /// The same of background work.
    pub fn background_waits(&self) -> Option<f64> {
        Some((self.background? / self.seconds.max(1e-9)).min(1.0))
    }
}

/// Requests of several kinds (reading from one disk, writing to it, flushing it, reading from the next …):
/// of each how many, and how many seconds they took together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Requests(pub [(f64, f64); Requests::KINDS]);

impl Requests {
    /// Kinds: three of each of eight disks. Where there are more, some share them.
    pub const KINDS: usize = 24;
    /// The kernel's grain, in seconds.
    const GRAIN: f64 = 0.001;

    /// How many there are.
    pub fn count(&self) -> f64 {
        self.0.iter().map(|(count, _)| count).sum()
    }

    /// Takes others in.
    pub fn add(&mut self, other: &Requests) {
        for (one, more) in self.0.iter_mut().zip(other.0) {
            *one = (one.0 + more.0, one.1 + more.1);
        }
    }

    /// Keeps so much of them.
    pub fn fade(&mut self, part: f64) {
        self.0.iter_mut().for_each(|one| *one = (one.0 * part, one.1 * part));
    }

    /// How many times as long these would have taken with the mean times of `others`: as it is seen, and at
    /// least. A request's time is taken for as random as the exponential distribution's, so that the mean of
    /// `n` has a standard error of `1/√n` of it; three of what comes of these are left for chance.
    pub fn slowed_among(&self, others: &Requests) -> Option<[f64; 2]> {
        // Seconds, and the squares of their errors.
        let (mut alone, mut beside) = ((0.0, 0.0), (0.0, 0.0));
        for (mine, theirs) in self.0.iter().zip(others.0) {
            if mine.0 >= 1.0 && theirs.0 >= 1.0 {
                let (took, would) = (mine.1.max(Requests::GRAIN), mine.0 * theirs.1 / theirs.0);
                alone = (alone.0 + took, alone.1 + took * took / mine.0);
                beside = (beside.0 + would, beside.1 + would * would / theirs.0);
            }
        }
        if alone.0 == 0.0 || beside.0 == 0.0 {
            return None;
        }
        let errors = alone.1 / (alone.0 * alone.0) + beside.1 / (beside.0 * beside.0);
        let seen = beside.0 / alone.0;
        Some([seen, seen / (3.0 * errors.sqrt()).exp()])
    }
}

/// What a fixed piece of work of the guard's own took, in seconds, of three kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Computing: a neighbour on the same core slows it.
    pub compute: f64,
    /// Loads from memory that depend on each other: whoever uses memory slows them.
    pub latency: f64,
    /// Copying memory, in order.
    pub bandwidth: f64,
}

impl Probe {
    /// The kinds, in order.
    pub const KINDS: [&str; 3] = ["computing", "memory latency", "memory bandwidth"];

    /// Their times, in that order.
    pub fn times(&self) -> [f64; 3] {
        [self.compute, self.latency, self.bandwidth]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(kinds: &[(f64, f64)]) -> Requests {
        let mut all = Requests::default();
        all.0[..kinds.len()].copy_from_slice(kinds);
        all
    }

    #[test]
    fn requests_are_compared_with_those_of_their_kind() {
        // 1000 that take 1 ms, and three times that among others.
        let alone = requests(&[(1000.0, 1.0)]);
        let [seen, least] = alone.slowed_among(&requests(&[(2000.0, 6.0)])).expect("the same kind");
        assert!((seen - 3.0).abs() < 1e-9 && (2.6..2.7).contains(&least), "{seen} {least}");
        // Two hundred reads do not vouch for one flush.
        let [seen, least] = requests(&[(200.0, 0.02), (0.0, 0.0), (1.0, 0.005)])
            .slowed_among(&requests(&[(2000.0, 0.2), (0.0, 0.0), (1.0, 0.2)]))
            .expect("the same kinds");
        assert!(seen > 5.0 && least < 1.0, "{seen} {least}");
        // Those of another disk, however slow, are none of its.
        assert_eq!(alone.slowed_among(&requests(&[(0.0, 0.0), (100.0, 10.0)])), None);
        let [seen, _] =
            alone.slowed_among(&requests(&[(2000.0, 2.0), (100.0, 10.0)])).expect("the same kind");
        assert!((seen - 1.0).abs() < 1e-9);
        // Others' kinds weigh as they do alone.
        let both = requests(&[(100.0, 0.1), (100.0, 0.9)]);
        let [seen, _] = both.slowed_among(&requests(&[(900.0, 1.8), (100.0, 0.9)])).expect("the same kinds");
        assert!((seen - 1.1).abs() < 1e-9, "{seen}");
    }

    #[test]
    fn few_requests_say_little() {
        let least = |n: f64| {
            let found = requests(&[(n, n * 1e-2)]).slowed_among(&requests(&[(n, n * 2e-2)]));
            found.expect("the same kind")[1]
        };
        assert!(least(10.0) < 1.0 && least(100.0) > 1.2 && least(1e6) > 1.98);
        assert_eq!(Requests::default().slowed_among(&Requests::default()), None);
    }
}
