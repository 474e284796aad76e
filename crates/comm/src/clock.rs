//! A rank's clock: virtual, advanced by CPU time and the fabric's costs; or
//! the wall's.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::{self, Pinned};
use crosstalk_host::undisturbed::Undisturbed;
use crosstalk_model::loggops::Arrival;
use crosstalk_model::{Access, Charge, Port, Spent, VirtualTime, disk_time};
use std::time::{Duration, Instant};

use crate::meter::{Meter, Window};
use crate::monitor::{Counted, Monitor, SWITCH_NANOS};

/// Where a rank's time went, in seconds of the clock it is told by. The parts
/// add up to the clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Account {
    /// Computing.
    pub compute: Seconds,
    /// Waiting for messages. In real time: all time spent in communication.
    pub wait: Seconds,
    /// Turning data into messages and back, the CPU's part of communication
    /// (o and O) included.
    pub serialise: Seconds,
    /// Moving to and from the node's disk what does not fit into its memory.
    pub spill: Seconds,
}

impl Account {
    /// The clock.
    pub fn total(&self) -> Seconds {
        Seconds(self.compute.0 + self.wait.0 + self.serialise.0 + self.spill.0)
    }
}

impl From<Spent> for Account {
    fn from(spent: Spent) -> Self {
        Account {
            compute: spent.compute.seconds(),
            wait: spent.wait.seconds(),
            serialise: spent.serialise.seconds(),
            spill: spent.spill.seconds(),
        }
    }
}

/// What the time between two operations was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Computing on one core.
    Compute,
    /// Computing on all cores of the node, which is assumed to scale ideally.
    Parallel,
    /// Turning data into bytes or back, on one core.
    Serialise,
    /// An instrument's own doing between the messages it times: not charged.
    Uncounted,
}

/// A rank's clock. Time runs in windows between operations: each is charged
/// when an operation begins, and a new one begins when it is over.
pub(crate) enum Clock {
    Virtual(Box<Virtual>),
    Real(Real),
}

pub(crate) struct Virtual {
    port: Port,
    meter: Meter,
    node: usize,
    emulation: Emulation,
    monitor: Monitor,
    counted: Counted,
    /// Held while the clock runs. Refused, the thread is switched out more
    /// often, which the monitor sees.
    _undisturbed: Option<Undisturbed>,
    /// Held from the first restart on, which is where the program's own time
    /// begins. All ranks then share one core and compute by turns: two that
    /// compute at once slow each other by what they share (last-level cache,
    /// memory, a core's second thread), which nodes of their own would not.
    core: Option<Pinned>,
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
                port: Port::default(),
                node,
                emulation: emulation.clone(),
                monitor: Monitor::begin(),
                counted: Counted::default(),
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
                clock.port = Port::default();
                clock.counted = Counted::default();
                clock.monitor = Monitor::begin();
                if clock.core.is_none() {
                    clock.core = cpu::fastest().and_then(|cpu| Pinned::begin(cpu).ok());
                }
            }
            Clock::Real(clock) => *clock = Real::new(),
        }
    }

    /// Ends the window, and charges it.
    pub(crate) fn charge(&mut self, used: Use) {
        match self {
            Clock::Virtual(clock) => {
                let window = clock.meter.end();
                clock.charge(&window, used);
            }
            Clock::Real(clock) => {
                let spent = clock.lap();
                match used {
                    Use::Serialise => clock.serialise += spent,
                    _ => clock.compute += spent,
                }
            }
        }
    }

    /// Ends the window and begins the next one, for another use; unless it is too
    /// short to be told from an empty one: then it goes on, and counts with what
    /// follows. What a program does between an exchange and the work on what came
    /// would else be dropped each time, and the sum of that doubted.
    pub(crate) fn turn_to_work(&mut self, used: Use) {
        match self {
            Clock::Virtual(clock) if used != Use::Uncounted => {
                let Some(window) = clock.meter.end_if_resolved() else { return };
                clock.charge(&window, used);
            }
            _ => self.charge(used),
        }
        self.resume();
    }

    /// Begins the next window. What passed since the last one ended was
    /// communication.
    pub(crate) fn resume(&mut self) {
        match self {
            Clock::Virtual(clock) => clock.meter.begin(),
            Clock::Real(clock) => {
                let spent = clock.lap();
                clock.wait += spent;
            }
        }
    }

    /// Sends a message; returns when its head arrives (zero in real time).
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

    /// Receives messages asked for together, each (source, size, head); returns
    /// the order in which they came.
    pub(crate) fn receive(&mut self, messages: &[(usize, usize, VirtualTime)]) -> Vec<usize> {
        let Clock::Virtual(clock) = self else { return (0..messages.len()).collect() };
        let arrivals: Vec<(usize, Arrival)> = messages
            .iter()
            .map(|&(from, size, head)| (from, Arrival { head, charge: clock.cost(from, size) }))
            .collect();
        let order = Port::arrival_order(&arrivals);
        for &index in &order {
            if arrivals[index].0 != clock.node {
                clock.port.receive(&arrivals[index].1);
            }
        }
        order
    }

    /// Whether there is a disk to spill to.
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

    /// Between two windows, `bytes` moved to or from the disk. In virtual time
    /// they take what the node's disk takes, however long this host took.
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

    /// Where the time went, the present window included.
    pub(crate) fn account(&self, between: Use) -> Account {
        match self {
            Clock::Virtual(clock) => {
                let mut spent = clock.port.spent();
                if between != Use::Uncounted {
                    spent.compute += clock.scaled(clock.meter.so_far(), between);
                }
                spent.into()
            }
            Clock::Real(clock) => {
                let seconds = |spent: Duration| Seconds(spent.as_secs_f64());
                Account {
                    compute: seconds(clock.compute + clock.since.elapsed()),
                    wait: seconds(clock.wait),
                    serialise: seconds(clock.serialise),
                    spill: seconds(clock.spill),
                }
            }
        }
    }

    /// What the fidelity monitor saw; `None` in real time. `wildcards` counts
    /// receives from any of the `ranks`.
    pub(crate) fn fidelity(&self, wildcards: u64, ranks: usize) -> Option<Fidelity> {
        let Clock::Virtual(clock) = self else { return None };
        Some(clock.monitor.end(&Counted {
            clock: clock.port.clock().seconds().0,
            late: (clock.port.late_hand_overs(), clock.port.late_time().seconds().0),
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
        Charge::of(self.emulation.fabric(self.node, peer).costs_for(size as u64), size as u64)
    }

    /// Charges a window that has ended.
    fn charge(&mut self, window: &Window, used: Use) {
        if used == Use::Uncounted {
            return;
        }
        let time = self.scaled(window.computed, used);
        self.tally(window, used);
        match used {
            Use::Serialise => self.port.serialise(time),
            _ => self.port.compute(time),
        }
    }

    /// Counts what could spoil the clock, in the clock's own seconds.
    fn tally(&mut self, window: &Window, used: Use) {
        let seconds = |nanos: u64| nanos as f64 * 1e-9;
        let (dropped, a_switch) = (self.scaled(window.dropped, used), self.scaled(SWITCH_NANOS, used));
        let counted = &mut self.counted;
        counted.computed += seconds(window.computed);
        counted.overhead += seconds(window.overhead);
        counted.dropped += dropped.seconds().0;
        counted.switches += window.switches;
        counted.switched += window.switches as f64 * a_switch.seconds().0;
    }

    /// What `cpu` nanoseconds on this host are on the emulated node.
    fn scaled(&self, cpu: u64, used: Use) -> VirtualTime {
        let node = &self.emulation.node;
        let cores = if used == Use::Parallel { f64::from(node.cores) } else { 1.0 };
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
