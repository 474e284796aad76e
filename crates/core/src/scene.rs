//! The traits of a scene: workloads that run, conditions that hold, observers
//! that watch. The runner composes them; none imports another.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crate::Fault;
use crate::fidelity::Fidelity;
use crate::message::Part;
use crate::need::Need;
use crate::record::{Metric, Reading};
use crate::value::{Params, Value};

/// Which clock a workload's results can be told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Virtual clocks: the fabric is in the profile, not in the links.
    Virtual,
    /// The wall clock: links are shaped by the kernel.
    Real,
    /// Whichever the scene's place asks for.
    Either,
}

/// What a workload asks for with given parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// How many nodes take part.
    pub nodes: usize,
    /// Which clock tells the results.
    pub timing: Timing,
    /// The metrics it reports; the first is the one the study decides on.
    pub metrics: Vec<Metric>,
    /// About how long one attempt takes on this machine, in seconds: for the
    /// first estimate of the time left.
    pub seconds: f64,
}

/// A workload: ours, or the wrapping of a third-party program.
pub trait Workload: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// One line for people.
    fn title(&self) -> &'static str;
    /// The names of the parameters it takes.
    fn parameters(&self) -> &'static [&'static str];
    /// What it needs of each machine, with parameters that [`Workload::deploy`] accepts.
    fn needs(&self, params: &Params) -> Vec<Need>;
    /// Checks the parameters, and says what they ask for.
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault>;
    /// Gets one node ready (on the node): reads input, binds listeners.
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault>;
}

/// One node's part, ready to go.
pub trait Prepared: Send {
    /// Where this node listens for its peers, if it does.
    fn endpoint(&self) -> Option<SocketAddr>;
    /// Performs the part. Returns what the fidelity monitor saw, in virtual time.
    /// Ends early with a fault soon after `cancelled` becomes true.
    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault>;
}

/// Where readings go.
pub trait Sink {
    /// Takes one reading that stands for `n` raw observations.
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault>;
}

impl Sink for Vec<Reading> {
    fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
        self.push(reading);
        Ok(())
    }
}

/// Something that holds during an attempt and is undone after it.
pub trait Condition: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// Makes it hold; dropping what is returned undoes it.
    fn apply(&self, value: &Value) -> Result<Box<dyn Send>, Fault>;
}

/// Something that watches an attempt.
pub trait Observer: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// What it reports.
    fn metrics(&self) -> Vec<Metric>;
    /// Begins to watch.
    fn attach(&self) -> Result<Box<dyn Watch>, Fault>;
}

/// An attached observer.
pub trait Watch: Send {
    /// Stops watching and tells what it saw.
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault>;
}
