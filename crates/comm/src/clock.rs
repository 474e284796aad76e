//! A rank's clock: a virtual one, which its server keeps and CPU time advances, or the wall clock.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::units::Seconds;
use crosstalk_host::cpu::{self, PinnedThread};
use crosstalk_host::undisturbed::Undisturbed;
use crosstalk_model::network::{self, Answer, Operation};
use crosstalk_model::{Access, TimeBreakdown};
use std::panic::Location;
use std::time::{Duration, Instant};

use crate::clock_server::{Client, ClockServer, Recorded};
use crate::mesh::Mesh;
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
    /// The program's own work.
    Charged(network::TimeUse),
    /// An instrument's own work between the messages that it times: not charged.
    NotCharged,
}

/// A call site in the program.
pub(crate) type CallSite = &'static Location<'static>;

/// A rank's clock. The time between two operations is a window. It is charged when
/// the next operation begins; a new window begins when that operation ends.
pub(crate) enum Clock {
    Virtual(Box<Virtual>),
    Real(Real),
}

pub(crate) struct Virtual {
    pub(crate) server: Client,
    /// At rank 0.
    thread: Option<ClockServer>,
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
    marked: Vec<Seconds>,
}

impl Clock {
    pub(crate) fn virtual_time(
        node: usize,
        emulation: &Emulation,
        server: Client,
        thread: Option<ClockServer>,
    ) -> Self {
        Clock::Virtual(Box::new(Virtual {
            server,
            thread,
            node,
            emulation: emulation.clone(),
            monitor: Monitor::begin(),
            counted: RankCounters::default(),
            _undisturbed: Undisturbed::begin().ok(),
            core: None,
            meter: Meter::calibrated(),
        }))
    }

    pub(crate) fn real() -> Self {
        Clock::Real(Real::new())
    }

    /// The clock server; `None` in real time.
    pub(crate) fn server(&mut self) -> Option<&mut Client> {
        match self {
            Clock::Virtual(clock) => Some(&mut clock.server),
            Clock::Real(_) => None,
        }
    }

    /// Sets the account to zero: all ranks have come to this.
    pub(crate) fn restart(&mut self) {
        match self {
            Clock::Virtual(clock) => {
                clock.counted = RankCounters::default();
                clock.monitor = Monitor::begin();
                clock.meter.rest();
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
                    TimeUse::Charged(network::TimeUse::Serialise) => clock.serialise += spent,
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
            Clock::Virtual(clock) => clock.server.note(&Operation::Spill { access, bytes }),
            Clock::Real(clock) => {
                let spent = clock.lap();
                clock.spill += spent;
            }
        }
    }

    /// How the time was spent, between two windows.
    pub(crate) fn account(&mut self, mesh: &mut Mesh, at: CallSite) -> Result<TimeAccount, Fault> {
        match self {
            Clock::Virtual(clock) => account(clock.server.ask(mesh, &Operation::Account, at)?),
            Clock::Real(clock) => Ok(clock.account()),
        }
    }

    /// Marks this point between two windows.
    pub(crate) fn mark(&mut self) {
        match self {
            Clock::Virtual(clock) => clock.server.mark(),
            Clock::Real(clock) => {
                let now = clock.account().total();
                clock.marked.push(now);
            }
        }
    }

    /// The time at each mark since this was called last.
    pub(crate) fn marked(&mut self, mesh: &mut Mesh) -> Result<Vec<Seconds>, Fault> {
        match self {
            Clock::Virtual(clock) => {
                let marked = clock.server.marked(mesh)?.into_iter();
                marked.map(|answer| account(answer).map(|account| account.total())).collect()
            }
            Clock::Real(clock) => Ok(std::mem::take(&mut clock.marked)),
        }
    }

    /// Waits until all ranks have finished. Returns the fidelity monitor's counters of `ranks` ranks, and the schedule
    /// if it was recorded; `None` in real time.
    pub(crate) fn finish(
        self,
        mesh: &mut Mesh,
        ranks: usize,
        at: CallSite,
    ) -> Result<Option<(Fidelity, Option<Recorded>)>, Fault> {
        let Clock::Virtual(mut clock) = self else { return Ok(None) };
        let Answer::Account(spent) = clock.server.ask(mesh, &Operation::Finish, at)? else {
            return Err(Fault::attempt("the clock server ended without the clock"));
        };
        // All have finished: nothing follows.
        mesh.replies = None;
        let seconds = spent.total().seconds().0;
        let fidelity = clock.monitor.end(&RankCounters { clock: seconds, ranks, ..clock.counted });
        clock.server.conclude(fidelity.faithful());
        Ok(Some((fidelity, clock.thread.and_then(ClockServer::recorded))))
    }
}

fn account(answer: Answer) -> Result<TimeAccount, Fault> {
    match answer {
        Answer::Account(spent) => Ok(spent.into()),
        other => Err(unexpected(&other)),
    }
}

/// A fault of the clock server.
pub(crate) fn unexpected(answer: &Answer) -> Fault {
    Fault::attempt(format!("the clock server answered another question: {answer:?}"))
}

impl Virtual {
    /// Charges a window that has ended.
    fn charge(&mut self, window: &Window, used: TimeUse) {
        let TimeUse::Charged(used) = used else { return };
        self.count_disturbances(window, used);
        if window.computed > 0 {
            self.server.note(&Operation::Compute { used, nanos: window.computed });
        }
    }

    /// Counts what may have disturbed the clock, in virtual seconds.
    fn count_disturbances(&mut self, window: &Window, used: network::TimeUse) {
        let seconds = |nanos: u64| nanos as f64 * 1e-9;
        let (dropped, a_switch) = (self.scaled(window.dropped, used), self.scaled(SWITCH_NANOS, used));
        let counted = &mut self.counted;
        counted.computed += seconds(window.computed);
        counted.overhead += seconds(window.overhead);
        counted.dropped += dropped;
        counted.switches += window.switches;
        counted.switched += window.switches as f64 * a_switch;
    }

    /// The emulated node's seconds for `cpu` nanoseconds of CPU time on this host.
    fn scaled(&self, cpu: u64, used: network::TimeUse) -> f64 {
        network::scaled(&self.emulation, cpu, used).seconds().0
    }
}

impl Real {
    fn new() -> Self {
        let zero = Duration::ZERO;
        let (since, marked) = (Instant::now(), Vec::new());
        Real { since, compute: zero, wait: zero, serialise: zero, spill: zero, marked }
    }

    /// How the time was spent, between two windows.
    fn account(&self) -> TimeAccount {
        let seconds = |spent: Duration| Seconds(spent.as_secs_f64());
        TimeAccount {
            compute: seconds(self.compute),
            wait: seconds(self.wait + self.since.elapsed()),
            serialise: seconds(self.serialise),
            spill: seconds(self.spill),
        }
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now.duration_since(std::mem::replace(&mut self.since, now))
    }
}
