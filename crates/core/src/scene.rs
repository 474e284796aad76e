//! The traits of a scene: workloads run, conditions hold while they run, observers
//! measure around them. The runner composes them; none imports another.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crate::Fault;
use crate::emulation::Emulation;
use crate::fidelity::Fidelity;
use crate::message::Part;
use crate::need::Need;
use crate::parameter::Parameters;
use crate::record::{Metric, Reading};
use crate::value::{Params, Value};

/// The clocks that can time a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Virtual clocks: messages cost what the fabric says, whatever the links do.
    Virtual,
    /// The wall clock: the kernel shapes the links.
    Real,
    /// Either, as the scene's place says.
    Either,
    /// The wall clock, on the user's own machines. The workload connects to them by itself; no
    /// agent, condition or observer runs there.
    Outside,
}

/// What a workload needs and reports, for given parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// How many nodes take part.
    pub nodes: usize,
    /// The clock that times it.
    pub timing: Timing,
    /// The metrics that it reports. The study decides on the first one.
    pub metrics: Vec<Metric>,
    /// The estimated duration of attempts.
    pub effort: Effort,
}

/// The estimated duration of attempts at a cell, before any has run.
///
/// Times of computing are those of two cores of the reference machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Effort {
    /// Seconds of waiting in every attempt, the same on every machine.
    pub waiting: f64,
    /// Seconds of computing in every attempt.
    pub computing: f64,
    /// Further seconds of computing in the first attempt: start-up and cold caches.
    pub startup: f64,
}

impl Effort {
    /// The effort of work that only waits, in seconds.
    pub fn waiting(seconds: f64) -> Self {
        Effort { waiting: seconds, ..Effort::default() }
    }

    /// The effort of work that only computes, in seconds.
    pub fn computing(seconds: f64) -> Self {
        Effort { computing: seconds, ..Effort::default() }
    }

    /// Seconds of the first `attempts` attempts, on a machine that takes `pace` times as
    /// long as the reference machine.
    pub fn seconds(&self, attempts: usize, pace: f64) -> f64 {
        let each = self.waiting + self.computing * pace;
        if attempts == 0 { 0.0 } else { self.startup * pace + each * attempts as f64 }
    }

    /// Whether it depends on the machine's speed.
    pub fn computes(&self) -> bool {
        self.computing > 0.0 || self.startup > 0.0
    }

    /// The effort of two workloads that run at the same time.
    pub fn together_with(&self, other: &Effort) -> Effort {
        Effort {
            waiting: self.waiting.max(other.waiting),
            computing: self.computing + other.computing,
            startup: self.startup + other.startup,
        }
    }
}

/// A workload: our own program, or a wrapper of a third-party program.
pub trait Workload: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// A line for people.
    fn title(&self) -> &'static str;
    /// The parameters that it takes.
    fn parameters(&self) -> Parameters;
    /// What it needs of each machine. [`Workload::deploy`] has accepted `params`.
    fn needs(&self, params: &Params) -> Vec<Need>;
    /// Checks the parameters; returns what the workload needs and reports with them.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault>;
    /// Whether two sets of parameters mean the same on this machine. [`Workload::deploy`] has accepted both.
    fn same(&self, one: &Params, other: &Params) -> bool {
        one == other
    }
    /// Whether it runs until it is stopped, while other work runs that ends by itself. Such a workload calls
    /// [`Sink::steady`], and ends well soon after `cancelled` becomes true.
    fn runs_until_stopped(&self) -> bool {
        false
    }
    /// Whether all that it reports in virtual time follows from the cluster's parameters alone, so that every attempt
    /// reports the same. [`Workload::deploy`] has accepted `params`.
    fn is_computed(&self, params: &Params) -> bool {
        let _ = params;
        false
    }
    /// Prepares one node, on the node: reads input, binds listeners.
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault>;
    /// What `part` would report on each of these clusters in virtual time, from the schedule that an attempt has kept
    /// ([`Part::keep_schedule`]). `None`: it has kept none.
    ///
    /// # Errors
    /// If the schedule cannot be read, or not be replayed.
    fn on_clusters(&self, part: &Part, clusters: &[Emulation]) -> Result<Option<Vec<Vec<Reading>>>, Fault> {
        let _ = (part, clusters);
        Ok(None)
    }
}

/// The work of one node, ready to run.
pub trait Prepared: Send {
    /// The address at which this node listens for its peers, if it does.
    fn endpoint(&self) -> Option<SocketAddr>;
    /// Runs the part. Returns the fidelity monitor's counters; `None` in real time.
    ///
    /// # Errors
    /// The part's fault. Soon after `cancelled` becomes true: an interruption, unless the work runs until it is stopped.
    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault>;
}

/// Receives a workload's readings.
pub trait Sink {
    /// Takes one reading, from `n` raw observations.
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault>;
    /// Notes that work which runs until it is stopped is steady. The other work begins then.
    fn steady(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Sink for Vec<Reading> {
    fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
        self.push(reading);
        Ok(())
    }
}

/// Where a condition or an observer is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Once on each host, however many nodes share it.
    Host,
    /// On each node.
    Node,
    /// On each node that has work which runs until it is stopped.
    Background,
}

/// A setting of a node that holds during an attempt and is undone after it. An agent on the node
/// applies it, the node's keeper, which runs no work.
pub trait Condition: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// The nodes that it is applied on.
    fn scope(&self) -> Scope {
        Scope::Node
    }
    /// Checks a value. `background`: whether the scene has work that runs until it is stopped.
    ///
    /// # Errors
    /// A usage fault that says which values are allowed.
    fn check(&self, value: &Value, background: bool) -> Result<(), Fault>;
    /// Applies it. `background` returns the process ids, on this node, of the agents whose work runs until it
    /// is stopped; it fails if one of them is not known. These agents have started no process yet. Their
    /// processes inherit what is set for them.
    fn apply(
        &self,
        value: &Value,
        background: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn AppliedCondition>, Fault>;
}

/// A condition that has been applied. Dropping it undoes it.
pub trait AppliedCondition: Send {
    /// Begins the part of the condition that could keep background work from becoming steady. Called when all
    /// work that runs until it is stopped is steady, before the other work begins.
    ///
    /// # Errors
    /// If that part does not begin.
    fn begin(&mut self) -> Result<(), Fault> {
        Ok(())
    }
    /// Ends the part of the condition that could keep background work from ending. Called when the other work has
    /// ended or failed.
    ///
    /// # Errors
    /// If the condition has not held all the time until now.
    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Measures a node around an attempt.
pub trait Observer: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// The nodes that it is attached on.
    fn scope(&self) -> Scope {
        Scope::Node
    }
    /// The metrics that it reports.
    fn metrics(&self) -> Vec<Metric>;
    /// Begins to measure.
    fn attach(&self) -> Result<Box<dyn AttachedObserver>, Fault>;
}

/// An observer that is attached to a node. Detaching it returns its readings.
pub trait AttachedObserver: Send {
    /// Stops measuring, and passes its readings to `out`.
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_computing_depends_on_the_machine_and_only_the_first_attempt_starts_up() {
        let effort = Effort { waiting: 1.0, computing: 2.0, startup: 10.0 };
        assert_eq!(effort.seconds(0, 3.0), 0.0);
        assert_eq!(effort.seconds(1, 1.0), 13.0);
        assert_eq!(effort.seconds(4, 0.5), 5.0 + 4.0 * 2.0);
        assert_eq!(Effort::waiting(7.0).seconds(2, 9.0), 14.0);
        assert!(effort.computes() && !Effort::waiting(7.0).computes());
    }

    #[test]
    fn at_the_same_time_waiting_overlaps_and_computing_adds_up() {
        let other = Effort { waiting: 2.0, computing: 3.0, startup: 1.0 };
        let both = Effort::waiting(5.0).together_with(&other);
        assert_eq!(both, Effort { waiting: 5.0, computing: 3.0, startup: 1.0 });
    }
}
