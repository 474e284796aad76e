//! What the guard sees in one look: numbers only, so that what follows from them can be tested
//! without a machine.

/// One look, over the time since the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sense {
    /// Seconds that it covers.
    pub interval: f64,
    /// Processors of this host.
    pub cores: usize,
    /// Processors that own work used, on average.
    pub own_cpu: f64,
    /// Processors that external work used.
    pub external_cpu: f64,
    /// Processors' worth of time that other machines on the same hardware took from this one
    /// (proc_stat(5)'s "steal"): nobody here can have it.
    pub stolen: f64,
    /// Processors' worth of time that own work waited for one, where that is watched.
    pub own_wait: Option<f64>,
    /// The least share of the time that own work waited for memory to be freed or fetched.
    pub memory_stall: f64,
    /// The least share of the time that own work waited for devices.
    pub io_stall: f64,
    /// What devices have served since they were looked at before; `None` where they were not looked at.
    pub served: Option<Served>,
    /// Pages a second that own work had to fetch again because they had been pushed out.
    pub refaults: f64,
    /// Bytes of memory that all others have where external work's is from.
    pub own_memory: u64,
    /// Bytes that nobody has there.
    pub free_memory: u64,
    /// Bytes that there are.
    pub all_memory: u64,
    /// Little of it is left.
    pub short_memory: bool,
    /// Bytes of memory that external work has.
    pub external_memory: u64,
    /// Pages a second that it had swapped out and needed again, and that it had others swapped out for.
    pub external_swapping: f64,
    /// Pages a second that had been pushed out and that it needed again, those of files among them.
    pub external_refaults: f64,
    /// Those bytes that cannot be taken from it.
    pub external_floor: u64,
    /// Whether there is any external work.
    pub external_there: bool,
    /// By how much later than asked the guard itself woke up, in seconds.
    pub lateness: f64,
    /// The guard's own cost, in processors.
    pub cost: f64,
    /// What of that looking took: the rest is for what it does.
    pub looking: f64,
    /// What was used since this was last told: one look may be too short to tell it.
    pub used: Used,
    /// What the probe took at the end of it, if it was asked for.
    pub probe: Option<Probe>,
}

impl Sense {
    /// One of a host with so many processors on which nothing happens.
    pub fn quiet(cores: usize, interval: f64) -> Self {
        Sense {
            interval,
            cores,
            own_cpu: 0.0,
            external_cpu: 0.0,
            stolen: 0.0,
            own_wait: None,
            memory_stall: 0.0,
            io_stall: 0.0,
            served: None,
            refaults: 0.0,
            own_memory: 0,
            free_memory: u64::MAX,
            all_memory: 4 << 30,
            short_memory: false,
            external_memory: 0,
            external_swapping: 0.0,
            external_refaults: 0.0,
            external_floor: 0,
            external_there: true,
            lateness: 0.0,
            cost: 0.0,
            looking: 0.0,
            used: Used::default(),
            probe: None,
        }
    }

    /// Processors that own work, the guard and other machines leave.
    pub fn room(&self) -> f64 {
        (self.cores as f64 - self.own_cpu - self.cost - self.stolen).max(0.0)
    }
}

/// CPU time that was used, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// By own work.
    pub own: f64,
    /// By external work.
    pub external: f64,
    /// By the guard itself.
    pub cost: f64,
}

/// What devices have served, for whomever.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Served {
    /// Seconds that it covers.
    pub seconds: f64,
    /// Requests that were served.
    pub requests: f64,
    /// Seconds that all of these took together.
    pub time: f64,
    /// Seconds for which somebody waited for a device, where that is told.
    pub stalled: Option<f64>,
    /// The same of external work.
    pub external: Option<f64>,
}

impl Served {
    /// Both together.
    pub fn and(&self, other: &Served) -> Served {
        // Whatever is told, is told of one and the other, but of nothing yet.
        let sum = |a: Option<f64>, b: Option<f64>| b.map(|b| a.unwrap_or(0.0) + b);
        Served {
            seconds: self.seconds + other.seconds,
            requests: self.requests + other.requests,
            time: self.time + other.time,
            stalled: sum(self.stalled, other.stalled),
            external: sum(self.external, other.external),
        }
    }

    /// So much of it.
    pub fn faded(&self, part: f64) -> Served {
        Served {
            seconds: self.seconds * part,
            requests: self.requests * part,
            time: self.time * part,
            stalled: self.stalled.map(|stalled| stalled * part),
            external: self.external.map(|external| external * part),
        }
    }

    /// Seconds that the mean request took.
    pub fn each(&self) -> f64 {
        self.time / self.requests.max(1.0)
    }

    /// Share of the time for which somebody waited: at most that for which there were any requests.
    pub fn waits(&self) -> f64 {
        (self.stalled.unwrap_or(self.time).min(self.time) / self.seconds.max(1e-9)).min(1.0)
    }
}

/// What a fixed piece of work of the guard's own took, in seconds, of three kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Computing: a neighbour on the same core slows it.
    pub compute: f64,
    /// Loads from memory that depend on each other: whoever uses memory slows them.
    pub latency: f64,
    /// Reading memory in order.
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
