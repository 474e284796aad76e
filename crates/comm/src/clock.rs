//! A rank's clock: a virtual one, which CPU time and the fabric's costs advance, or
//! the wall clock.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::{self, PinnedThread};
use crosstalk_host::undisturbed::Undisturbed;
use crosstalk_model::loggops::Arrival;
use crosstalk_model::{Access, Charge, RankClock, TimeBreakdown, VirtualTime, disk_time};
use std::time::{Duration, Instant};

use crate::meter::{Meter, Window};
use crate::monitor::{Monitor, RankCounters, SWITCH_NANOS};

/// How a rank spent its time, in seconds of its clock. The parts add up to the
/// clock's time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeAccount {
    /// Computing.
    pub compute: Seconds,
    /// Waiting for messages. In real time: all time spent in communication.
    pub wait: Seconds,
    /// Turning data into messages and back, and the CPU's part of communication
    /// (o and O).
    pub serialise: Seconds,
    /// Moving data that do not fit into memory to and from the node's disk.
    pub spill: Seconds,
}

impl TimeAccount {
    /// The clock's time: the sum of the parts.
    pub fn total(&self) -> Seconds {
        Seconds(self.compute.0 + self.wait.0 + self.serialise.0 + self.spill.0)
    }
}

impl From<TimeBreakdown> for TimeAccount {
    fn from(spent: TimeBreakdown) -> Self {
        TimeAccount {
            compute: spent.compute.seconds(),
            wait: spent.wait.seconds(),
            serialise: spent.serialise.seconds(),
            spill: spent.spill.seconds(),
        }
    }
}

/// What the time between two operations is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUse {
    /// Computing on one core.
    Compute,
    /// Computing on all cores of the node, assumed to scale ideally.
    Parallel,
    /// Turning data into messages or back, on one core.
    Serialise,
    /// An instrument's own work between the messages that it times: not charged.
    NotCharged,
}

/// A rank's clock. The time between two operations is a window. It is charged when
/// the next operation begins; a new window begins when that operation ends.
pub(crate) enum Clock {
    Virtual(Box<Virtual>),
    Real(Real),
}

pub(crate) struct Virtual {
    port: RankClock,
    meter: Meter,
    node: usize,
    emulation: Emulation,
    monitor: Monitor,
    counted: RankCounters,
    /// Kept while the clock runs. If the kernel refuses it, the thread is preempted more
    /// often, which the monitor counts.
    _undisturbed: Option<Undisturbed>,
    /// Kept from the first restart on, where the program's own time begins. All ranks
    /// then share one core. Ranks on several cores would slow each other by shared
    /// caches, memory and hardware threads, unlike separate nodes.
    core: Option<PinnedThread>,
}

pub(crate) struct Real {
    since: Instant,
    compute: Duration,
    wait: Duration,
    serialise: Duration,
    spill: Duration,
}

impl Clock {
    pub(crate) fn new(node: usize, emulation: Option<&Emulation>) -> Self {
        match emulation {
            Some(emulation) => Clock::Virtual(Box::new(Virtual {
                port: RankClock::default(),
                node,
                emulation: emulation.clone(),
                monitor: Monitor::begin(),
                counted: RankCounters::default(),
                _undisturbed: Undisturbed::begin().ok(),
                core: None,
                meter: Meter::calibrated(),
            })),
            None => Clock::Real(Real::new()),
        }
    }

    /// Sets the clock and its account to zero.
    pub(crate) fn restart(&mut self) {
        match self {
            Clock::Virtual(clock) => {
                clock.port = RankClock::default();
                clock.counted = RankCounters::default();
                clock.monitor = Monitor::begin();
                if clock.core.is_none() {
                    clock.core = cpu::fastest_allowed().and_then(|cpu| PinnedThread::begin(cpu).ok());
                }
            }
            Clock::Real(clock) => *clock = Real::new(),
        }
    }

    /// Ends the window, and charges it to `used`.
    pub(crate) fn charge(&mut self, used: TimeUse) {
        match self {
            Clock::Virtual(clock) => {
                let window = clock.meter.end();
                clock.charge(&window, used);
            }
            Clock::Real(clock) => {
                let spent = clock.lap();
                match used {
                    TimeUse::Serialise => clock.serialise += spent,
                    _ => clock.compute += spent,
                }
            }
        }
    }

    /// Ends the window, and begins the next one for another use. A window that is too
    /// short to be distinguished from an empty one continues instead, and counts as the
    /// next use. Otherwise each short step between an exchange and the next work would
    /// be dropped, and the attempt be unfaithful by their sum.
    pub(crate) fn switch_use(&mut self, used: TimeUse) {
        match self {
            Clock::Virtual(clock) if used != TimeUse::NotCharged => {
                let Some(window) = clock.meter.end_if_resolved() else { return };
                clock.charge(&window, used);
            }
            _ => self.charge(used),
        }
        self.resume();
    }

    /// Begins the next window. The time since the last window's end was communication.
    pub(crate) fn resume(&mut self) {
        match self {
            Clock::Virtual(clock) => clock.meter.begin(),
            Clock::Real(clock) => {
                let spent = clock.lap();
                clock.wait += spent;
            }
        }
    }

    /// Sends a message of `size` bytes. Returns when its head arrives; zero in real time.
    pub(crate) fn send(&mut self, to: usize, size: usize) -> VirtualTime {
        match self {
            Clock::Virtual(clock) if to == clock.node => clock.port.clock(),
            Clock::Virtual(clock) => {
                let charge = clock.cost(to, size);
                clock.port.send(&charge)
            }
            Clock::Real(_) => VirtualTime::ZERO,
        }
    }

    /// Receives messages that are waited for together, each (source, size, arrival of the
    /// head). Returns the order of their arrival.
    pub(crate) fn receive(&mut self, messages: &[(usize, usize, VirtualTime)]) -> Vec<usize> {
        let Clock::Virtual(clock) = self else { return (0..messages.len()).collect() };
        let arrivals: Vec<(usize, Arrival)> = messages
            .iter()
            .map(|&(from, size, head)| (from, Arrival { head, charge: clock.cost(from, size) }))
            .collect();
        let order = RankClock::arrival_order(&arrivals);
        for &index in &order {
            if arrivals[index].0 != clock.node {
                clock.port.receive(&arrivals[index].1);
            }
        }
        order
    }

    /// A fault if the emulated node has no disk.
    pub(crate) fn has_disk(&self) -> Result<(), Fault> {
        match self {
            Clock::Virtual(clock) if clock.emulation.node.disk.is_none() => {
                Err(Fault::attempt("it holds more than its memory and has no disk to spill to")
                    .on(clock.node)
                    .at(format!("system `{}`", clock.emulation.system))
                    .remedy("give the system's nodes a disk, or more memory"))
            }
            _ => Ok(()),
        }
    }

    /// Charges `bytes` that were moved to or from the disk between two windows. In virtual
    /// time they take the emulated disk's time, however long this host took.
    pub(crate) fn spill(&mut self, access: Access, bytes: u64) {
        match self {
            Clock::Virtual(clock) => {
                if let Some(disk) = &clock.emulation.node.disk {
                    clock.port.spill(disk_time(disk, access, bytes));
                }
            }
            Clock::Real(clock) => {
                let spent = clock.lap();
                clock.spill += spent;
            }
        }
    }

    /// How the time was spent, including the current window.
    pub(crate) fn account(&self, between: TimeUse) -> TimeAccount {
        match self {
            Clock::Virtual(clock) => {
                let mut spent = clock.port.spent();
                if between != TimeUse::NotCharged {
                    spent.compute += clock.scaled(clock.meter.so_far(), between);
                }
                spent.into()
            }
            Clock::Real(clock) => {
                let seconds = |spent: Duration| Seconds(spent.as_secs_f64());
                TimeAccount {
                    compute: seconds(clock.compute + clock.since.elapsed()),
                    wait: seconds(clock.wait),
                    serialise: seconds(clock.serialise),
                    spill: seconds(clock.spill),
                }
            }
        }
    }

    /// The fidelity monitor's counters; `None` in real time. `wildcards` is the number of
    /// receives from any rank, `ranks` the number of ranks.
    pub(crate) fn fidelity(&self, wildcards: u64, ranks: usize) -> Option<Fidelity> {
        let Clock::Virtual(clock) = self else { return None };
        Some(clock.monitor.end(&RankCounters {
            clock: clock.port.clock().seconds().0,
            late: (clock.port.late_messages(), clock.port.late_time().seconds().0),
            wildcards,
            ranks,
            ..clock.counted
        }))
    }
}

impl Virtual {
    fn cost(&self, peer: usize, size: usize) -> Charge {
        if peer == self.node {
            return Charge::default();
        }
        Charge::for_message(self.emulation.fabric(self.node, peer).costs_for(size as u64), size as u64)
    }

    /// Charges a window that has ended.
    fn charge(&mut self, window: &Window, used: TimeUse) {
        if used == TimeUse::NotCharged {
            return;
        }
        let time = self.scaled(window.computed, used);
        self.count_disturbances(window, used);
        match used {
            TimeUse::Serialise => self.port.serialise(time),
            _ => self.port.compute(time),
        }
    }

    /// Counts what may have disturbed the clock, in virtual seconds.
    fn count_disturbances(&mut self, window: &Window, used: TimeUse) {
        let seconds = |nanos: u64| nanos as f64 * 1e-9;
        let (dropped, a_switch) = (self.scaled(window.dropped, used), self.scaled(SWITCH_NANOS, used));
        let counted = &mut self.counted;
        counted.computed += seconds(window.computed);
        counted.overhead += seconds(window.overhead);
        counted.dropped += dropped.seconds().0;
        counted.switches += window.switches;
        counted.switched += window.switches as f64 * a_switch.seconds().0;
    }

    /// The emulated node's time for `cpu` nanoseconds of CPU time on this host.
    fn scaled(&self, cpu: u64, used: TimeUse) -> VirtualTime {
        let node = &self.emulation.node;
        let cores = if used == TimeUse::Parallel { f64::from(node.cores) } else { 1.0 };
        VirtualTime::from_seconds(cpu as f64 * 1e-9 / (node.speed * cores))
    }
}

impl Real {
    fn new() -> Self {
        let zero = Duration::ZERO;
        Real { since: Instant::now(), compute: zero, wait: zero, serialise: zero, spill: zero }
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.since, now))
    }
}
