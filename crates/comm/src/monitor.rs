//! The fidelity monitor: counts what may have disturbed virtual time on this rank.
//!
//! It counts from the start, or the last restart of the clock, to the end. An
//! attempt is unfaithful if a disturbance may have moved the rank's clock by more
//! than [`BOUND`] of its time. Waiting for a core has no bound: it takes real time,
//! not virtual time. Its effect on computing is counted as switches.

use crosstalk_core::fidelity::Fidelity;
use crosstalk_host::clock::{
    SchedStat, SwitchesAndFaults, stolen_time, switches_and_faults, thread_schedstat,
};
use std::time::{Duration, Instant};

/// The share of its time by which a disturbance may move the clock: a third of the
/// 3 % within which times on an idle and on a loaded host must agree.
const BOUND: f64 = 0.01;
/// The bound of steal, as a share of all CPU time of the host. The kernel may charge
/// a thread for its share of stolen time.
const STEAL_BOUND: f64 = 0.02;
/// Less steal than this is rounding: the kernel counts ticks of 10 ms.
const MIN_STEAL: Duration = Duration::from_millis(30);
/// Nanoseconds of CPU time that one involuntary switch may add to a window: the
/// switch, and refilling a first-level cache (32 KiB, 512 lines of about 20 ns).
pub(crate) const SWITCH_NANOS: u64 = 10_000;
/// Seconds of a page fault that is read from a solid-state disk. Virtual time does
/// not contain them.
const FAULT_SECONDS: f64 = 100e-6;

/// The counters of the rank's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RankCounters {
    /// The clock's time in virtual seconds.
    pub(crate) clock: f64,
    /// CPU seconds that were charged as computing or serialising.
    pub(crate) computed: f64,
    /// Involuntary switches within windows of computing.
    pub(crate) switches: u64,
    /// Virtual seconds that these switches may have added.
    pub(crate) switched: f64,
    /// Virtual seconds in windows too small to measure.
    pub(crate) dropped: f64,
    /// CPU seconds of measuring, which were subtracted.
    pub(crate) overhead: f64,
    /// Number of ranks.
    pub(crate) ranks: usize,
}

/// The kernel's counters when monitoring began.
#[derive(Debug)]
pub(crate) struct Monitor {
    began: Instant,
    usage: Option<SwitchesAndFaults>,
    sched: Option<SchedStat>,
    steal: Option<Duration>,
}

impl Monitor {
    /// Begins to monitor the calling thread and the host.
    pub(crate) fn begin() -> Self {
        Monitor {
            began: Instant::now(),
            usage: switches_and_faults(),
            sched: thread_schedstat(),
            steal: stolen_time(),
        }
    }

    /// The counters since, and the bounds that were exceeded.
    pub(crate) fn end(&self, counted: &RankCounters) -> Fidelity {
        let usage = self.usage.zip(switches_and_faults());
        let sched = self.sched.zip(thread_schedstat());
        let stolen = self.steal.zip(stolen_time()).map(|(before, now)| now.saturating_sub(before));
        let faults = usage.map(|(before, now)| now.major_faults - before.major_faults);

        let mut fidelity = Fidelity::default();
        let mut count = |name: &str, value: f64| fidelity.counters.insert(name.into(), value);
        count("cpu_seconds", counted.computed);
        count("overhead_seconds", counted.overhead);
        count("unresolved_seconds", counted.dropped);
        count("preempted_computing", counted.switches as f64);
        if let Some((before, now)) = usage {
            count("involuntary_switches", (now.involuntary_switches - before.involuntary_switches) as f64);
        }
        if let Some(faults) = faults {
            count("major_faults", faults as f64);
        }
        if let Some((before, now)) = sched {
            count("run_delay_seconds", now.delay_ns.saturating_sub(before.delay_ns) as f64 * 1e-9);
        }
        if let Some(stolen) = stolen {
            // All ranks see the same host: their counters add up to its steal.
            count("steal_seconds", stolen.as_secs_f64() / counted.ranks as f64);
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let host = self.began.elapsed().as_secs_f64() * cpus;
        fidelity.reasons = reasons(counted, stolen.unwrap_or_default(), host, faults.unwrap_or(0));
        fidelity
    }
}

/// The bounds that were exceeded, in words. `host` is the host's CPU time in seconds,
/// `faults` the number of major page faults.
fn reasons(counted: &RankCounters, stolen: Duration, host: f64, faults: u64) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut check = |what: &str, share: f64, bound: f64, remedy: &str| {
        if share > bound {
            let (share, bound) = (100.0 * share, 100.0 * bound);
            reasons.push(format!("{what}: {share:.1} %, bound {bound:.0} %{remedy}"));
        }
    };
    let of_clock = |seconds: f64| if counted.clock > 0.0 { seconds / counted.clock } else { 0.0 };
    if stolen >= MIN_STEAL {
        check("the hypervisor took CPU time (of the host's)", stolen.as_secs_f64() / host, STEAL_BOUND, "");
    }
    check(
        "computing was interrupted by others (of the clock, at most)",
        of_clock(counted.switched),
        BOUND,
        "",
    );
    let larger = "; take a larger problem: its class, order or size";
    check(
        "computing in windows too short to measure (of the clock)",
        of_clock(counted.dropped),
        BOUND,
        larger,
    );
    let faulted = faults as f64 * FAULT_SECONDS;
    check("waited for pages from disk (of the clock, about)", of_clock(faulted), BOUND, "");
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank whose clock shows a second.
    fn quiet() -> RankCounters {
        RankCounters { clock: 1.0, computed: 0.25, ranks: 2, ..RankCounters::default() }
    }

    fn reasons_of(counted: RankCounters, stolen_ms: u64, faults: u64) -> Vec<String> {
        reasons(&counted, Duration::from_millis(stolen_ms), 2.0, faults)
    }

    #[test]
    fn a_quiet_rank_is_faithful() {
        assert_eq!(reasons_of(quiet(), 0, 0), Vec::<String>::new());
        assert_eq!(reasons_of(RankCounters::default(), 0, 0), Vec::<String>::new());
    }

    #[test]
    fn every_bound_gives_a_reason_just_beyond_it() {
        assert_eq!(reasons_of(quiet(), 40, 0).len(), 0);
        assert!(reasons_of(quiet(), 41, 0)[0].contains("hypervisor"));
        assert_eq!(reasons_of(RankCounters { switched: 0.0099, ..quiet() }, 0, 0).len(), 0);
        assert!(reasons_of(RankCounters { switched: 0.0101, ..quiet() }, 0, 0)[0].contains("interrupted"));
        let short = &reasons_of(RankCounters { dropped: 0.0101, ..quiet() }, 0, 0)[0];
        assert!(
            short.contains("too short") && short.ends_with("take a larger problem: its class, order or size")
        );
        assert_eq!(reasons_of(quiet(), 0, 99).len(), 0);
        assert!(reasons_of(quiet(), 0, 101)[0].contains("disk"));
    }

    #[test]
    fn a_tick_of_steal_in_a_short_attempt_is_rounding() {
        assert_eq!(reasons(&quiet(), Duration::from_millis(20), 0.1, 0).len(), 0);
    }

    #[test]
    fn counters_carry_base_units() {
        let seen = Monitor::begin().end(&quiet());
        assert_eq!(seen.counters["cpu_seconds"], 0.25);
        assert!(seen.counters.contains_key("involuntary_switches"));
    }
}
